module @jit_frames_too_close attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x5000xf32>) -> (tensor<256x3x2048xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<3xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %c = stablehlo.constant dense<512> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3x1xi32>
    %3 = stablehlo.multiply %1, %2 : tensor<3x1xi32>
    %4 = stablehlo.iota dim = 0 : tensor<2048xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<2048xi32>) -> tensor<1x2048xi32>
    %6 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<3x1xi32>) -> tensor<3x2048xi32>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<1x2048xi32>) -> tensor<3x2048xi32>
    %8 = stablehlo.add %6, %7 : tensor<3x2048xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3x2048xi32>
    %10 = stablehlo.compare LT, %8, %9, SIGNED : (tensor<3x2048xi32>, tensor<3x2048xi32>) -> tensor<3x2048xi1>
    %c_1 = stablehlo.constant dense<5000> : tensor<i32>
    %11 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<3x2048xi32>
    %12 = stablehlo.add %8, %11 : tensor<3x2048xi32>
    %13 = stablehlo.select %10, %12, %8 : tensor<3x2048xi1>, tensor<3x2048xi32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<3x2048xi32>) -> tensor<3x2048x1xi32>
    %15 = "stablehlo.gather"(%arg0, %14) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 256, 1>}> : (tensor<256x5000xf32>, tensor<3x2048x1xi32>) -> tensor<256x3x2048xf32>
    return %15 : tensor<256x3x2048xf32>
  }
}
