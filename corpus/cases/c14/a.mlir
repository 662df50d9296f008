module @jit_frames_by_convolution attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x5000xf32>) -> (tensor<256x3x2048xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<2048x2048xi32>
    %1 = stablehlo.iota dim = 1 : tensor<2048x2048xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2048x2048xi32>
    %3 = stablehlo.add %0, %2 : tensor<2048x2048xi32>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<2048x2048xi32>, tensor<2048x2048xi32>) -> tensor<2048x2048xi1>
    %5 = stablehlo.convert %4 : (tensor<2048x2048xi1>) -> tensor<2048x2048xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 2] : (tensor<2048x2048xf32>) -> tensor<2048x1x2048xf32>
    %7 = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<256x5000xf32>) -> tensor<256x1x5000xf32>
    %8 = stablehlo.convolution(%7, %6) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1024], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<256x1x5000xf32>, tensor<2048x1x2048xf32>) -> tensor<256x2048x3xf32>
    %9 = stablehlo.transpose %8, dims = [0, 2, 1] : (tensor<256x2048x3xf32>) -> tensor<256x3x2048xf32>
    return %9 : tensor<256x3x2048xf32>
  }
}
