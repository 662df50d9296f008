module @jit_expm attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x256xf32>) -> (tensor<256x256xf32> {jax.result_info = "result[0]"}, tensor<256x256xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.iota dim = 0 : tensor<256x256xi32>
    %1 = stablehlo.iota dim = 1 : tensor<256x256xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %3 = stablehlo.add %0, %2 : tensor<256x256xi32>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %5 = stablehlo.convert %4 : (tensor<256x256xi1>) -> tensor<256x256xf32>
    %6 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %8 = stablehlo.multiply %7, %6 : tensor<256x256xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %10 = stablehlo.add %9, %8 : tensor<256x256xf32>
    %cst_1 = stablehlo.constant dense<6.000000e+01> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %12 = stablehlo.multiply %11, %5 : tensor<256x256xf32>
    %13 = stablehlo.add %10, %12 : tensor<256x256xf32>
    %14 = stablehlo.dot_general %arg0, %13, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %cst_2 = stablehlo.constant dense<1.200000e+01> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %16 = stablehlo.multiply %15, %6 : tensor<256x256xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %18 = stablehlo.add %17, %16 : tensor<256x256xf32>
    %cst_4 = stablehlo.constant dense<1.200000e+02> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %20 = stablehlo.multiply %19, %5 : tensor<256x256xf32>
    %21 = stablehlo.add %18, %20 : tensor<256x256xf32>
    %22 = stablehlo.iota dim = 0 : tensor<256x256xi32>
    %23 = stablehlo.iota dim = 1 : tensor<256x256xi32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %24 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %25 = stablehlo.add %22, %24 : tensor<256x256xi32>
    %26 = stablehlo.compare EQ, %25, %23, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %27 = stablehlo.convert %26 : (tensor<256x256xi1>) -> tensor<256x256xf32>
    %28 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %29 = stablehlo.dot_general %28, %28, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %31 = stablehlo.multiply %30, %29 : tensor<256x256xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %33 = stablehlo.add %32, %31 : tensor<256x256xf32>
    %cst_8 = stablehlo.constant dense<4.200000e+02> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %35 = stablehlo.multiply %34, %28 : tensor<256x256xf32>
    %36 = stablehlo.add %33, %35 : tensor<256x256xf32>
    %cst_9 = stablehlo.constant dense<1.512000e+04> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %38 = stablehlo.multiply %37, %27 : tensor<256x256xf32>
    %39 = stablehlo.add %36, %38 : tensor<256x256xf32>
    %40 = stablehlo.dot_general %arg0, %39, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %cst_10 = stablehlo.constant dense<3.000000e+01> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %42 = stablehlo.multiply %41, %29 : tensor<256x256xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %44 = stablehlo.add %43, %42 : tensor<256x256xf32>
    %cst_12 = stablehlo.constant dense<3.360000e+03> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %46 = stablehlo.multiply %45, %28 : tensor<256x256xf32>
    %47 = stablehlo.add %44, %46 : tensor<256x256xf32>
    %cst_13 = stablehlo.constant dense<3.024000e+04> : tensor<f32>
    %48 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %49 = stablehlo.multiply %48, %27 : tensor<256x256xf32>
    %50 = stablehlo.add %47, %49 : tensor<256x256xf32>
    %51 = stablehlo.iota dim = 0 : tensor<256x256xi32>
    %52 = stablehlo.iota dim = 1 : tensor<256x256xi32>
    %c_14 = stablehlo.constant dense<0> : tensor<i32>
    %53 = stablehlo.broadcast_in_dim %c_14, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %54 = stablehlo.add %51, %53 : tensor<256x256xi32>
    %55 = stablehlo.compare EQ, %54, %52, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %56 = stablehlo.convert %55 : (tensor<256x256xi1>) -> tensor<256x256xf32>
    %57 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %58 = stablehlo.dot_general %57, %57, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %59 = stablehlo.dot_general %58, %57, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %60 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %61 = stablehlo.multiply %60, %59 : tensor<256x256xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %63 = stablehlo.add %62, %61 : tensor<256x256xf32>
    %cst_17 = stablehlo.constant dense<1.512000e+03> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %65 = stablehlo.multiply %64, %58 : tensor<256x256xf32>
    %66 = stablehlo.add %63, %65 : tensor<256x256xf32>
    %cst_18 = stablehlo.constant dense<2.772000e+05> : tensor<f32>
    %67 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %68 = stablehlo.multiply %67, %57 : tensor<256x256xf32>
    %69 = stablehlo.add %66, %68 : tensor<256x256xf32>
    %cst_19 = stablehlo.constant dense<8.648640e+06> : tensor<f32>
    %70 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %71 = stablehlo.multiply %70, %56 : tensor<256x256xf32>
    %72 = stablehlo.add %69, %71 : tensor<256x256xf32>
    %73 = stablehlo.dot_general %arg0, %72, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %cst_20 = stablehlo.constant dense<5.600000e+01> : tensor<f32>
    %74 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %75 = stablehlo.multiply %74, %59 : tensor<256x256xf32>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %76 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %77 = stablehlo.add %76, %75 : tensor<256x256xf32>
    %cst_22 = stablehlo.constant dense<2.520000e+04> : tensor<f32>
    %78 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %79 = stablehlo.multiply %78, %58 : tensor<256x256xf32>
    %80 = stablehlo.add %77, %79 : tensor<256x256xf32>
    %cst_23 = stablehlo.constant dense<1.995840e+06> : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %82 = stablehlo.multiply %81, %57 : tensor<256x256xf32>
    %83 = stablehlo.add %80, %82 : tensor<256x256xf32>
    %cst_24 = stablehlo.constant dense<0x4B83F7C0> : tensor<f32>
    %84 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %85 = stablehlo.multiply %84, %56 : tensor<256x256xf32>
    %86 = stablehlo.add %83, %85 : tensor<256x256xf32>
    %87 = stablehlo.iota dim = 0 : tensor<256x256xi32>
    %88 = stablehlo.iota dim = 1 : tensor<256x256xi32>
    %c_25 = stablehlo.constant dense<0> : tensor<i32>
    %89 = stablehlo.broadcast_in_dim %c_25, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %90 = stablehlo.add %87, %89 : tensor<256x256xi32>
    %91 = stablehlo.compare EQ, %90, %88, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %92 = stablehlo.convert %91 : (tensor<256x256xi1>) -> tensor<256x256xf32>
    %93 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %94 = stablehlo.dot_general %93, %93, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %95 = stablehlo.dot_general %94, %93, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %96 = stablehlo.dot_general %95, %93, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %cst_26 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %97 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %98 = stablehlo.multiply %97, %96 : tensor<256x256xf32>
    %cst_27 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %99 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %100 = stablehlo.add %99, %98 : tensor<256x256xf32>
    %cst_28 = stablehlo.constant dense<3.960000e+03> : tensor<f32>
    %101 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %102 = stablehlo.multiply %101, %95 : tensor<256x256xf32>
    %103 = stablehlo.add %100, %102 : tensor<256x256xf32>
    %cst_29 = stablehlo.constant dense<2.162160e+06> : tensor<f32>
    %104 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %105 = stablehlo.multiply %104, %94 : tensor<256x256xf32>
    %106 = stablehlo.add %103, %105 : tensor<256x256xf32>
    %cst_30 = stablehlo.constant dense<0x4D9056FA> : tensor<f32>
    %107 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %108 = stablehlo.multiply %107, %93 : tensor<256x256xf32>
    %109 = stablehlo.add %106, %108 : tensor<256x256xf32>
    %cst_31 = stablehlo.constant dense<8.82161254E+9> : tensor<f32>
    %110 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %111 = stablehlo.multiply %110, %92 : tensor<256x256xf32>
    %112 = stablehlo.add %109, %111 : tensor<256x256xf32>
    %113 = stablehlo.dot_general %arg0, %112, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %cst_32 = stablehlo.constant dense<9.000000e+01> : tensor<f32>
    %114 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %115 = stablehlo.multiply %114, %96 : tensor<256x256xf32>
    %cst_33 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %116 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %117 = stablehlo.add %116, %115 : tensor<256x256xf32>
    %cst_34 = stablehlo.constant dense<1.108800e+05> : tensor<f32>
    %118 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %119 = stablehlo.multiply %118, %95 : tensor<256x256xf32>
    %120 = stablehlo.add %117, %119 : tensor<256x256xf32>
    %cst_35 = stablehlo.constant dense<0x4BE6F190> : tensor<f32>
    %121 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %122 = stablehlo.multiply %121, %94 : tensor<256x256xf32>
    %123 = stablehlo.add %120, %122 : tensor<256x256xf32>
    %cst_36 = stablehlo.constant dense<2.0756736E+9> : tensor<f32>
    %124 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %125 = stablehlo.multiply %124, %93 : tensor<256x256xf32>
    %126 = stablehlo.add %123, %125 : tensor<256x256xf32>
    %cst_37 = stablehlo.constant dense<1.76432251E+10> : tensor<f32>
    %127 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %128 = stablehlo.multiply %127, %92 : tensor<256x256xf32>
    %129 = stablehlo.add %126, %128 : tensor<256x256xf32>
    %130 = stablehlo.iota dim = 0 : tensor<256x256xi32>
    %131 = stablehlo.iota dim = 1 : tensor<256x256xi32>
    %c_38 = stablehlo.constant dense<0> : tensor<i32>
    %132 = stablehlo.broadcast_in_dim %c_38, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %133 = stablehlo.add %130, %132 : tensor<256x256xi32>
    %134 = stablehlo.compare EQ, %133, %131, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %135 = stablehlo.convert %134 : (tensor<256x256xi1>) -> tensor<256x256xf32>
    %136 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %137 = stablehlo.dot_general %136, %136, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %138 = stablehlo.dot_general %137, %136, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %139 = stablehlo.dot_general %138, %136, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %140 = stablehlo.dot_general %139, %136, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %141 = stablehlo.dot_general %140, %136, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %cst_39 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %142 = stablehlo.broadcast_in_dim %cst_39, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %143 = stablehlo.multiply %142, %141 : tensor<256x256xf32>
    %cst_40 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %144 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %145 = stablehlo.add %144, %143 : tensor<256x256xf32>
    %cst_41 = stablehlo.constant dense<1.638000e+04> : tensor<f32>
    %146 = stablehlo.broadcast_in_dim %cst_41, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %147 = stablehlo.multiply %146, %140 : tensor<256x256xf32>
    %148 = stablehlo.add %145, %147 : tensor<256x256xf32>
    %cst_42 = stablehlo.constant dense<4.084080e+07> : tensor<f32>
    %149 = stablehlo.broadcast_in_dim %cst_42, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %150 = stablehlo.multiply %149, %139 : tensor<256x256xf32>
    %151 = stablehlo.add %148, %150 : tensor<256x256xf32>
    %cst_43 = stablehlo.constant dense<3.35221289E+10> : tensor<f32>
    %152 = stablehlo.broadcast_in_dim %cst_43, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %153 = stablehlo.multiply %152, %138 : tensor<256x256xf32>
    %154 = stablehlo.add %151, %153 : tensor<256x256xf32>
    %cst_44 = stablehlo.constant dense<1.05594707E+13> : tensor<f32>
    %155 = stablehlo.broadcast_in_dim %cst_44, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %156 = stablehlo.multiply %155, %137 : tensor<256x256xf32>
    %157 = stablehlo.add %154, %156 : tensor<256x256xf32>
    %cst_45 = stablehlo.constant dense<1.18735378E+15> : tensor<f32>
    %158 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %159 = stablehlo.multiply %158, %136 : tensor<256x256xf32>
    %160 = stablehlo.add %157, %159 : tensor<256x256xf32>
    %cst_46 = stablehlo.constant dense<3.23823762E+16> : tensor<f32>
    %161 = stablehlo.broadcast_in_dim %cst_46, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %162 = stablehlo.multiply %161, %135 : tensor<256x256xf32>
    %163 = stablehlo.add %160, %162 : tensor<256x256xf32>
    %164 = stablehlo.dot_general %arg0, %163, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %cst_47 = stablehlo.constant dense<1.820000e+02> : tensor<f32>
    %165 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %166 = stablehlo.multiply %165, %141 : tensor<256x256xf32>
    %cst_48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %167 = stablehlo.broadcast_in_dim %cst_48, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %168 = stablehlo.add %167, %166 : tensor<256x256xf32>
    %cst_49 = stablehlo.constant dense<9.609600e+05> : tensor<f32>
    %169 = stablehlo.broadcast_in_dim %cst_49, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %170 = stablehlo.multiply %169, %140 : tensor<256x256xf32>
    %171 = stablehlo.add %168, %170 : tensor<256x256xf32>
    %cst_50 = stablehlo.constant dense<1.32324198E+9> : tensor<f32>
    %172 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %173 = stablehlo.multiply %172, %139 : tensor<256x256xf32>
    %174 = stablehlo.add %171, %173 : tensor<256x256xf32>
    %cst_51 = stablehlo.constant dense<6.70442586E+11> : tensor<f32>
    %175 = stablehlo.broadcast_in_dim %cst_51, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %176 = stablehlo.multiply %175, %138 : tensor<256x256xf32>
    %177 = stablehlo.add %174, %176 : tensor<256x256xf32>
    %cst_52 = stablehlo.constant dense<1.29060194E+14> : tensor<f32>
    %178 = stablehlo.broadcast_in_dim %cst_52, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %179 = stablehlo.multiply %178, %137 : tensor<256x256xf32>
    %180 = stablehlo.add %177, %179 : tensor<256x256xf32>
    %cst_53 = stablehlo.constant dense<7.771770e+15> : tensor<f32>
    %181 = stablehlo.broadcast_in_dim %cst_53, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %182 = stablehlo.multiply %181, %136 : tensor<256x256xf32>
    %183 = stablehlo.add %180, %182 : tensor<256x256xf32>
    %cst_54 = stablehlo.constant dense<6.47647525E+16> : tensor<f32>
    %184 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %185 = stablehlo.multiply %184, %135 : tensor<256x256xf32>
    %186 = stablehlo.add %183, %185 : tensor<256x256xf32>
    %c_55 = stablehlo.constant dense<2> : tensor<i32>
    %c_56 = stablehlo.constant dense<0> : tensor<i32>
    %187 = stablehlo.compare EQ, %c_55, %c_56, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_57 = stablehlo.constant dense<2> : tensor<i32>
    %c_58 = stablehlo.constant dense<1> : tensor<i32>
    %188 = stablehlo.compare EQ, %c_57, %c_58, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_59 = stablehlo.constant dense<2> : tensor<i32>
    %c_60 = stablehlo.constant dense<2> : tensor<i32>
    %189 = stablehlo.compare EQ, %c_59, %c_60, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_61 = stablehlo.constant dense<2> : tensor<i32>
    %c_62 = stablehlo.constant dense<3> : tensor<i32>
    %190 = stablehlo.compare EQ, %c_61, %c_62, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_63 = stablehlo.constant dense<2> : tensor<i32>
    %c_64 = stablehlo.constant dense<4> : tensor<i32>
    %191 = stablehlo.compare EQ, %c_63, %c_64, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_65 = stablehlo.constant dense<false> : tensor<i1>
    %192 = stablehlo.broadcast_in_dim %c_65, dims = [] : (tensor<i1>) -> tensor<i1>
    %193 = stablehlo.compare NE, %187, %192, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %194 = stablehlo.convert %193 : tensor<i1>
    %c_66 = stablehlo.constant dense<false> : tensor<i1>
    %195 = stablehlo.broadcast_in_dim %c_66, dims = [] : (tensor<i1>) -> tensor<i1>
    %196 = stablehlo.compare NE, %188, %195, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %197 = stablehlo.convert %196 : tensor<i1>
    %c_67 = stablehlo.constant dense<false> : tensor<i1>
    %198 = stablehlo.broadcast_in_dim %c_67, dims = [] : (tensor<i1>) -> tensor<i1>
    %199 = stablehlo.compare NE, %189, %198, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %200 = stablehlo.convert %199 : tensor<i1>
    %c_68 = stablehlo.constant dense<false> : tensor<i1>
    %201 = stablehlo.broadcast_in_dim %c_68, dims = [] : (tensor<i1>) -> tensor<i1>
    %202 = stablehlo.compare NE, %190, %201, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %203 = stablehlo.convert %202 : tensor<i1>
    %c_69 = stablehlo.constant dense<false> : tensor<i1>
    %204 = stablehlo.broadcast_in_dim %c_69, dims = [] : (tensor<i1>) -> tensor<i1>
    %205 = stablehlo.compare NE, %191, %204, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %206 = stablehlo.convert %205 : tensor<i1>
    %c_70 = stablehlo.constant dense<false> : tensor<i1>
    %207 = stablehlo.broadcast_in_dim %c_70, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %208 = stablehlo.broadcast_in_dim %194, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %209 = stablehlo.broadcast_in_dim %197, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %210 = stablehlo.broadcast_in_dim %200, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %211 = stablehlo.broadcast_in_dim %203, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %212 = stablehlo.broadcast_in_dim %206, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %213 = stablehlo.concatenate %207, %208, %209, %210, %211, %212, dim = 0 : (tensor<1xi1>, tensor<1xi1>, tensor<1xi1>, tensor<1xi1>, tensor<1xi1>, tensor<1xi1>) -> tensor<6xi1>
    %214 = call @argmax(%213) : (tensor<6xi1>) -> tensor<i32>
    %215 = stablehlo.broadcast_in_dim %214, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %cst_71 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %216 = stablehlo.broadcast_in_dim %cst_71, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %c_72 = stablehlo.constant dense<3> : tensor<i32>
    %217 = stablehlo.broadcast_in_dim %c_72, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %218 = stablehlo.compare LT, %215, %217, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %c_73 = stablehlo.constant dense<1> : tensor<i32>
    %219 = stablehlo.broadcast_in_dim %c_73, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %220 = stablehlo.compare LT, %215, %219, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %c_74 = stablehlo.constant dense<2> : tensor<i32>
    %221 = stablehlo.broadcast_in_dim %c_74, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %222 = stablehlo.compare LT, %215, %221, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %223 = stablehlo.select %222, %14, %40 : tensor<256x256xi1>, tensor<256x256xf32>
    %224 = stablehlo.select %220, %216, %223 : tensor<256x256xi1>, tensor<256x256xf32>
    %c_75 = stablehlo.constant dense<4> : tensor<i32>
    %225 = stablehlo.broadcast_in_dim %c_75, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %226 = stablehlo.compare LT, %215, %225, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %c_76 = stablehlo.constant dense<5> : tensor<i32>
    %227 = stablehlo.broadcast_in_dim %c_76, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %228 = stablehlo.compare LT, %215, %227, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %229 = stablehlo.select %228, %113, %164 : tensor<256x256xi1>, tensor<256x256xf32>
    %230 = stablehlo.select %226, %73, %229 : tensor<256x256xi1>, tensor<256x256xf32>
    %231 = stablehlo.select %218, %224, %230 : tensor<256x256xi1>, tensor<256x256xf32>
    %c_77 = stablehlo.constant dense<false> : tensor<i1>
    %232 = stablehlo.broadcast_in_dim %c_77, dims = [] : (tensor<i1>) -> tensor<i1>
    %233 = stablehlo.compare NE, %187, %232, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %234 = stablehlo.convert %233 : tensor<i1>
    %c_78 = stablehlo.constant dense<false> : tensor<i1>
    %235 = stablehlo.broadcast_in_dim %c_78, dims = [] : (tensor<i1>) -> tensor<i1>
    %236 = stablehlo.compare NE, %188, %235, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %237 = stablehlo.convert %236 : tensor<i1>
    %c_79 = stablehlo.constant dense<false> : tensor<i1>
    %238 = stablehlo.broadcast_in_dim %c_79, dims = [] : (tensor<i1>) -> tensor<i1>
    %239 = stablehlo.compare NE, %189, %238, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %240 = stablehlo.convert %239 : tensor<i1>
    %c_80 = stablehlo.constant dense<false> : tensor<i1>
    %241 = stablehlo.broadcast_in_dim %c_80, dims = [] : (tensor<i1>) -> tensor<i1>
    %242 = stablehlo.compare NE, %190, %241, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %243 = stablehlo.convert %242 : tensor<i1>
    %c_81 = stablehlo.constant dense<false> : tensor<i1>
    %244 = stablehlo.broadcast_in_dim %c_81, dims = [] : (tensor<i1>) -> tensor<i1>
    %245 = stablehlo.compare NE, %191, %244, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %246 = stablehlo.convert %245 : tensor<i1>
    %c_82 = stablehlo.constant dense<false> : tensor<i1>
    %247 = stablehlo.broadcast_in_dim %c_82, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %248 = stablehlo.broadcast_in_dim %234, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %249 = stablehlo.broadcast_in_dim %237, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %250 = stablehlo.broadcast_in_dim %240, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %251 = stablehlo.broadcast_in_dim %243, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %252 = stablehlo.broadcast_in_dim %246, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %253 = stablehlo.concatenate %247, %248, %249, %250, %251, %252, dim = 0 : (tensor<1xi1>, tensor<1xi1>, tensor<1xi1>, tensor<1xi1>, tensor<1xi1>, tensor<1xi1>) -> tensor<6xi1>
    %254 = call @argmax(%253) : (tensor<6xi1>) -> tensor<i32>
    %255 = stablehlo.broadcast_in_dim %254, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %cst_83 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %256 = stablehlo.broadcast_in_dim %cst_83, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %c_84 = stablehlo.constant dense<3> : tensor<i32>
    %257 = stablehlo.broadcast_in_dim %c_84, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %258 = stablehlo.compare LT, %255, %257, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %c_85 = stablehlo.constant dense<1> : tensor<i32>
    %259 = stablehlo.broadcast_in_dim %c_85, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %260 = stablehlo.compare LT, %255, %259, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %c_86 = stablehlo.constant dense<2> : tensor<i32>
    %261 = stablehlo.broadcast_in_dim %c_86, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %262 = stablehlo.compare LT, %255, %261, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %263 = stablehlo.select %262, %21, %50 : tensor<256x256xi1>, tensor<256x256xf32>
    %264 = stablehlo.select %260, %256, %263 : tensor<256x256xi1>, tensor<256x256xf32>
    %c_87 = stablehlo.constant dense<4> : tensor<i32>
    %265 = stablehlo.broadcast_in_dim %c_87, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %266 = stablehlo.compare LT, %255, %265, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %c_88 = stablehlo.constant dense<5> : tensor<i32>
    %267 = stablehlo.broadcast_in_dim %c_88, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %268 = stablehlo.compare LT, %255, %267, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %269 = stablehlo.select %268, %129, %186 : tensor<256x256xi1>, tensor<256x256xf32>
    %270 = stablehlo.select %266, %86, %269 : tensor<256x256xi1>, tensor<256x256xf32>
    %271 = stablehlo.select %258, %264, %270 : tensor<256x256xi1>, tensor<256x256xf32>
    %272 = stablehlo.add %231, %271 : tensor<256x256xf32>
    %273 = stablehlo.subtract %271, %231 : tensor<256x256xf32>
    return %272, %273 : tensor<256x256xf32>, tensor<256x256xf32>
  }
  func.func private @argmax(%arg0: tensor<6xi1>) -> tensor<i32> {
    %0 = stablehlo.iota dim = 0 : tensor<6xi32>
    %c = stablehlo.constant dense<false> : tensor<i1>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.reduce(%arg0 init: %c), (%0 init: %c_0) across dimensions = [0] : (tensor<6xi1>, tensor<6xi32>, tensor<i1>, tensor<i32>) -> (tensor<i1>, tensor<i32>)
     reducer(%arg1: tensor<i1>, %arg3: tensor<i1>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %2 = stablehlo.compare GT, %arg1, %arg3, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %3 = stablehlo.compare NE, %arg1, %arg1, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.compare EQ, %arg1, %arg3, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %6 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %7 = stablehlo.and %5, %6 : tensor<i1>
      %8 = stablehlo.or %4, %7 : tensor<i1>
      %9 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<i1>
      %10 = stablehlo.select %8, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %9, %10 : tensor<i1>, tensor<i32>
    }
    return %1#1 : tensor<i32>
  }
}
