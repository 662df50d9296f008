module @jit_expm attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x256xf32>) -> (tensor<256x256xf32> {jax.result_info = "result[0]"}, tensor<256x256xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<2> : tensor<i32>
    %c_1 = stablehlo.constant dense<4> : tensor<i32>
    %0 = stablehlo.clamp %c, %c_0, %c_1 : tensor<i32>
    %1:2 = "stablehlo.case"(%0) ({
      %4 = stablehlo.iota dim = 0 : tensor<256x256xi32>
      %5 = stablehlo.iota dim = 1 : tensor<256x256xi32>
      %c_2 = stablehlo.constant dense<0> : tensor<i32>
      %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
      %7 = stablehlo.add %4, %6 : tensor<256x256xi32>
      %8 = stablehlo.compare EQ, %7, %5, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
      %9 = stablehlo.convert %8 : (tensor<256x256xi1>) -> tensor<256x256xf32>
      %10 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %12 = stablehlo.multiply %11, %10 : tensor<256x256xf32>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %14 = stablehlo.add %13, %12 : tensor<256x256xf32>
      %cst_4 = stablehlo.constant dense<6.000000e+01> : tensor<f32>
      %15 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %16 = stablehlo.multiply %15, %9 : tensor<256x256xf32>
      %17 = stablehlo.add %14, %16 : tensor<256x256xf32>
      %18 = stablehlo.dot_general %arg0, %17, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %cst_5 = stablehlo.constant dense<1.200000e+01> : tensor<f32>
      %19 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %20 = stablehlo.multiply %19, %10 : tensor<256x256xf32>
      %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %21 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %22 = stablehlo.add %21, %20 : tensor<256x256xf32>
      %cst_7 = stablehlo.constant dense<1.200000e+02> : tensor<f32>
      %23 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %24 = stablehlo.multiply %23, %9 : tensor<256x256xf32>
      %25 = stablehlo.add %22, %24 : tensor<256x256xf32>
      stablehlo.return %18, %25 : tensor<256x256xf32>, tensor<256x256xf32>
    }, {
      %4 = stablehlo.iota dim = 0 : tensor<256x256xi32>
      %5 = stablehlo.iota dim = 1 : tensor<256x256xi32>
      %c_2 = stablehlo.constant dense<0> : tensor<i32>
      %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
      %7 = stablehlo.add %4, %6 : tensor<256x256xi32>
      %8 = stablehlo.compare EQ, %7, %5, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
      %9 = stablehlo.convert %8 : (tensor<256x256xi1>) -> tensor<256x256xf32>
      %10 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %11 = stablehlo.dot_general %10, %10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %13 = stablehlo.multiply %12, %11 : tensor<256x256xf32>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %14 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %15 = stablehlo.add %14, %13 : tensor<256x256xf32>
      %cst_4 = stablehlo.constant dense<4.200000e+02> : tensor<f32>
      %16 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %17 = stablehlo.multiply %16, %10 : tensor<256x256xf32>
      %18 = stablehlo.add %15, %17 : tensor<256x256xf32>
      %cst_5 = stablehlo.constant dense<1.512000e+04> : tensor<f32>
      %19 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %20 = stablehlo.multiply %19, %9 : tensor<256x256xf32>
      %21 = stablehlo.add %18, %20 : tensor<256x256xf32>
      %22 = stablehlo.dot_general %arg0, %21, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %cst_6 = stablehlo.constant dense<3.000000e+01> : tensor<f32>
      %23 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %24 = stablehlo.multiply %23, %11 : tensor<256x256xf32>
      %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %25 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %26 = stablehlo.add %25, %24 : tensor<256x256xf32>
      %cst_8 = stablehlo.constant dense<3.360000e+03> : tensor<f32>
      %27 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %28 = stablehlo.multiply %27, %10 : tensor<256x256xf32>
      %29 = stablehlo.add %26, %28 : tensor<256x256xf32>
      %cst_9 = stablehlo.constant dense<3.024000e+04> : tensor<f32>
      %30 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %31 = stablehlo.multiply %30, %9 : tensor<256x256xf32>
      %32 = stablehlo.add %29, %31 : tensor<256x256xf32>
      stablehlo.return %22, %32 : tensor<256x256xf32>, tensor<256x256xf32>
    }, {
      %4 = stablehlo.iota dim = 0 : tensor<256x256xi32>
      %5 = stablehlo.iota dim = 1 : tensor<256x256xi32>
      %c_2 = stablehlo.constant dense<0> : tensor<i32>
      %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
      %7 = stablehlo.add %4, %6 : tensor<256x256xi32>
      %8 = stablehlo.compare EQ, %7, %5, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
      %9 = stablehlo.convert %8 : (tensor<256x256xi1>) -> tensor<256x256xf32>
      %10 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %11 = stablehlo.dot_general %10, %10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %12 = stablehlo.dot_general %11, %10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %13 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %14 = stablehlo.multiply %13, %12 : tensor<256x256xf32>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %16 = stablehlo.add %15, %14 : tensor<256x256xf32>
      %cst_4 = stablehlo.constant dense<1.512000e+03> : tensor<f32>
      %17 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %18 = stablehlo.multiply %17, %11 : tensor<256x256xf32>
      %19 = stablehlo.add %16, %18 : tensor<256x256xf32>
      %cst_5 = stablehlo.constant dense<2.772000e+05> : tensor<f32>
      %20 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %21 = stablehlo.multiply %20, %10 : tensor<256x256xf32>
      %22 = stablehlo.add %19, %21 : tensor<256x256xf32>
      %cst_6 = stablehlo.constant dense<8.648640e+06> : tensor<f32>
      %23 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %24 = stablehlo.multiply %23, %9 : tensor<256x256xf32>
      %25 = stablehlo.add %22, %24 : tensor<256x256xf32>
      %26 = stablehlo.dot_general %arg0, %25, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %cst_7 = stablehlo.constant dense<5.600000e+01> : tensor<f32>
      %27 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %28 = stablehlo.multiply %27, %12 : tensor<256x256xf32>
      %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %29 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %30 = stablehlo.add %29, %28 : tensor<256x256xf32>
      %cst_9 = stablehlo.constant dense<2.520000e+04> : tensor<f32>
      %31 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %32 = stablehlo.multiply %31, %11 : tensor<256x256xf32>
      %33 = stablehlo.add %30, %32 : tensor<256x256xf32>
      %cst_10 = stablehlo.constant dense<1.995840e+06> : tensor<f32>
      %34 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %35 = stablehlo.multiply %34, %10 : tensor<256x256xf32>
      %36 = stablehlo.add %33, %35 : tensor<256x256xf32>
      %cst_11 = stablehlo.constant dense<0x4B83F7C0> : tensor<f32>
      %37 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %38 = stablehlo.multiply %37, %9 : tensor<256x256xf32>
      %39 = stablehlo.add %36, %38 : tensor<256x256xf32>
      stablehlo.return %26, %39 : tensor<256x256xf32>, tensor<256x256xf32>
    }, {
      %4 = stablehlo.iota dim = 0 : tensor<256x256xi32>
      %5 = stablehlo.iota dim = 1 : tensor<256x256xi32>
      %c_2 = stablehlo.constant dense<0> : tensor<i32>
      %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
      %7 = stablehlo.add %4, %6 : tensor<256x256xi32>
      %8 = stablehlo.compare EQ, %7, %5, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
      %9 = stablehlo.convert %8 : (tensor<256x256xi1>) -> tensor<256x256xf32>
      %10 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %11 = stablehlo.dot_general %10, %10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %12 = stablehlo.dot_general %11, %10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %13 = stablehlo.dot_general %12, %10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %15 = stablehlo.multiply %14, %13 : tensor<256x256xf32>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %16 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %17 = stablehlo.add %16, %15 : tensor<256x256xf32>
      %cst_4 = stablehlo.constant dense<3.960000e+03> : tensor<f32>
      %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %19 = stablehlo.multiply %18, %12 : tensor<256x256xf32>
      %20 = stablehlo.add %17, %19 : tensor<256x256xf32>
      %cst_5 = stablehlo.constant dense<2.162160e+06> : tensor<f32>
      %21 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %22 = stablehlo.multiply %21, %11 : tensor<256x256xf32>
      %23 = stablehlo.add %20, %22 : tensor<256x256xf32>
      %cst_6 = stablehlo.constant dense<0x4D9056FA> : tensor<f32>
      %24 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %25 = stablehlo.multiply %24, %10 : tensor<256x256xf32>
      %26 = stablehlo.add %23, %25 : tensor<256x256xf32>
      %cst_7 = stablehlo.constant dense<8.82161254E+9> : tensor<f32>
      %27 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %28 = stablehlo.multiply %27, %9 : tensor<256x256xf32>
      %29 = stablehlo.add %26, %28 : tensor<256x256xf32>
      %30 = stablehlo.dot_general %arg0, %29, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %cst_8 = stablehlo.constant dense<9.000000e+01> : tensor<f32>
      %31 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %32 = stablehlo.multiply %31, %13 : tensor<256x256xf32>
      %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %33 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %34 = stablehlo.add %33, %32 : tensor<256x256xf32>
      %cst_10 = stablehlo.constant dense<1.108800e+05> : tensor<f32>
      %35 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %36 = stablehlo.multiply %35, %12 : tensor<256x256xf32>
      %37 = stablehlo.add %34, %36 : tensor<256x256xf32>
      %cst_11 = stablehlo.constant dense<0x4BE6F190> : tensor<f32>
      %38 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %39 = stablehlo.multiply %38, %11 : tensor<256x256xf32>
      %40 = stablehlo.add %37, %39 : tensor<256x256xf32>
      %cst_12 = stablehlo.constant dense<2.0756736E+9> : tensor<f32>
      %41 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %42 = stablehlo.multiply %41, %10 : tensor<256x256xf32>
      %43 = stablehlo.add %40, %42 : tensor<256x256xf32>
      %cst_13 = stablehlo.constant dense<1.76432251E+10> : tensor<f32>
      %44 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %45 = stablehlo.multiply %44, %9 : tensor<256x256xf32>
      %46 = stablehlo.add %43, %45 : tensor<256x256xf32>
      stablehlo.return %30, %46 : tensor<256x256xf32>, tensor<256x256xf32>
    }, {
      %4 = stablehlo.iota dim = 0 : tensor<256x256xi32>
      %5 = stablehlo.iota dim = 1 : tensor<256x256xi32>
      %c_2 = stablehlo.constant dense<0> : tensor<i32>
      %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
      %7 = stablehlo.add %4, %6 : tensor<256x256xi32>
      %8 = stablehlo.compare EQ, %7, %5, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
      %9 = stablehlo.convert %8 : (tensor<256x256xi1>) -> tensor<256x256xf32>
      %10 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %11 = stablehlo.dot_general %10, %10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %12 = stablehlo.dot_general %11, %10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %13 = stablehlo.dot_general %12, %10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %14 = stablehlo.dot_general %13, %10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %15 = stablehlo.dot_general %14, %10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %16 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %17 = stablehlo.multiply %16, %15 : tensor<256x256xf32>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %18 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %19 = stablehlo.add %18, %17 : tensor<256x256xf32>
      %cst_4 = stablehlo.constant dense<1.638000e+04> : tensor<f32>
      %20 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %21 = stablehlo.multiply %20, %14 : tensor<256x256xf32>
      %22 = stablehlo.add %19, %21 : tensor<256x256xf32>
      %cst_5 = stablehlo.constant dense<4.084080e+07> : tensor<f32>
      %23 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %24 = stablehlo.multiply %23, %13 : tensor<256x256xf32>
      %25 = stablehlo.add %22, %24 : tensor<256x256xf32>
      %cst_6 = stablehlo.constant dense<3.35221289E+10> : tensor<f32>
      %26 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %27 = stablehlo.multiply %26, %12 : tensor<256x256xf32>
      %28 = stablehlo.add %25, %27 : tensor<256x256xf32>
      %cst_7 = stablehlo.constant dense<1.05594707E+13> : tensor<f32>
      %29 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %30 = stablehlo.multiply %29, %11 : tensor<256x256xf32>
      %31 = stablehlo.add %28, %30 : tensor<256x256xf32>
      %cst_8 = stablehlo.constant dense<1.18735378E+15> : tensor<f32>
      %32 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %33 = stablehlo.multiply %32, %10 : tensor<256x256xf32>
      %34 = stablehlo.add %31, %33 : tensor<256x256xf32>
      %cst_9 = stablehlo.constant dense<3.23823762E+16> : tensor<f32>
      %35 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %36 = stablehlo.multiply %35, %9 : tensor<256x256xf32>
      %37 = stablehlo.add %34, %36 : tensor<256x256xf32>
      %38 = stablehlo.dot_general %arg0, %37, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %cst_10 = stablehlo.constant dense<1.820000e+02> : tensor<f32>
      %39 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %40 = stablehlo.multiply %39, %15 : tensor<256x256xf32>
      %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %41 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %42 = stablehlo.add %41, %40 : tensor<256x256xf32>
      %cst_12 = stablehlo.constant dense<9.609600e+05> : tensor<f32>
      %43 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %44 = stablehlo.multiply %43, %14 : tensor<256x256xf32>
      %45 = stablehlo.add %42, %44 : tensor<256x256xf32>
      %cst_13 = stablehlo.constant dense<1.32324198E+9> : tensor<f32>
      %46 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %47 = stablehlo.multiply %46, %13 : tensor<256x256xf32>
      %48 = stablehlo.add %45, %47 : tensor<256x256xf32>
      %cst_14 = stablehlo.constant dense<6.70442586E+11> : tensor<f32>
      %49 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %50 = stablehlo.multiply %49, %12 : tensor<256x256xf32>
      %51 = stablehlo.add %48, %50 : tensor<256x256xf32>
      %cst_15 = stablehlo.constant dense<1.29060194E+14> : tensor<f32>
      %52 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %53 = stablehlo.multiply %52, %11 : tensor<256x256xf32>
      %54 = stablehlo.add %51, %53 : tensor<256x256xf32>
      %cst_16 = stablehlo.constant dense<7.771770e+15> : tensor<f32>
      %55 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %56 = stablehlo.multiply %55, %10 : tensor<256x256xf32>
      %57 = stablehlo.add %54, %56 : tensor<256x256xf32>
      %cst_17 = stablehlo.constant dense<6.47647525E+16> : tensor<f32>
      %58 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %59 = stablehlo.multiply %58, %9 : tensor<256x256xf32>
      %60 = stablehlo.add %57, %59 : tensor<256x256xf32>
      stablehlo.return %38, %60 : tensor<256x256xf32>, tensor<256x256xf32>
    }) : (tensor<i32>) -> (tensor<256x256xf32>, tensor<256x256xf32>)
    %2 = stablehlo.add %1#0, %1#1 : tensor<256x256xf32>
    %3 = stablehlo.subtract %1#1, %1#0 : tensor<256x256xf32>
    return %2, %3 : tensor<256x256xf32>, tensor<256x256xf32>
  }
}
