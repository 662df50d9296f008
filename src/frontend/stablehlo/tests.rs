//! Small modules and the graphs they become.

use std::path::Path;

use super::read_text;
use crate::ir::text;

fn read(body: &str) -> String {
    let text = format!("module {{\n  func.func public @main({body}\n  }}\n}}");
    match read_text(Path::new("test.mlir"), &text) {
        Ok(graph) => text::print(&graph),
        Err(error) => format!("{error}"),
    }
}

#[test]
fn pretty_and_generic_forms_are_the_same() {
    let pretty = read(
        "%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) -> tensor<2xf32> {
        %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
        %1 = stablehlo.add %arg0, %0 : tensor<2x3xf32>
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
        return %2 : tensor<2xf32>",
    );
    let generic = read(
        "%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) -> tensor<2xf32> {
        %0 = \"stablehlo.broadcast_in_dim\"(%arg1) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<2x3xf32>
        %1 = \"stablehlo.add\"(%arg0, %0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
        %c = \"stablehlo.constant\"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
        %2 = \"stablehlo.reduce\"(%1, %c) ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = \"stablehlo.add\"(%b, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>
          \"stablehlo.return\"(%s) : (tensor<f32>) -> ()
        }) {dimensions = dense<1> : tensor<1xi64>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
        \"func.return\"(%2) : (tensor<2xf32>) -> ()",
    );
    assert_eq!(pretty, generic);
    insta::assert_snapshot!(pretty);
}
