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

/// The operators of a graph, in order.
fn operators(text: &str) -> Vec<&str> {
    let name =
        |line: &'_ str| line.split_once(" = ").and_then(|(_, call)| call.split_once('(')).map(|(op, _)| op.len());
    let lines = text.lines().filter_map(|line| name(line).map(|length| (line, length)));
    lines.filter_map(|(line, length)| line.split_once(" = ").and_then(|(_, call)| call.get(..length))).collect()
}

#[test]
fn complex_numbers_are_their_parts() {
    let text = read(
        "%arg0: tensor<4xf32>, %arg1: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
        %cst = stablehlo.constant dense<(0.0, 1.0)> : tensor<complex<f32>>
        %0 = stablehlo.complex %arg0, %arg0 : tensor<4xcomplex<f32>>
        %1 = stablehlo.multiply %0, %arg1 : tensor<4xcomplex<f32>>
        return %1 : tensor<4xcomplex<f32>>",
    );
    assert!(text.contains("arg1: f32[4, 2]"), "{text}");
    assert!(text.contains("return \"result 0.concat\" as result0, text \"complex numbers\""), "{text}");
    let all = operators(&text);
    assert_eq!(all.iter().filter(|op| **op == "mul").count(), 4, "{text}");
    assert!(all.contains(&"sub") && all.contains(&"add") && !all.contains(&"complex_mul"), "{text}");
}

/// A transform of numbers without imaginary parts is one of real numbers.
#[test]
fn transforms_of_real_numbers_are_told() {
    let text = read(
        "%arg0: tensor<3x8xf32>) -> tensor<3x8xf32> {
        %0 = stablehlo.convert %arg0 : (tensor<3x8xf32>) -> tensor<3x8xcomplex<f32>>
        %1 = stablehlo.fft %0, type = FFT, length = [8] : (tensor<3x8xcomplex<f32>>) -> tensor<3x8xcomplex<f32>>
        %2 = stablehlo.imag %1 : (tensor<3x8xcomplex<f32>>) -> tensor<3x8xf32>
        return %2 : tensor<3x8xf32>",
    );
    assert_eq!(operators(&text), ["fft_r2c", "slice", "squeeze"], "{text}");
}

/// Queries that share a head of keys are rows of one product, and scores are not transposed.
#[test]
fn products_that_are_transposed_are_made_in_that_order() {
    let text = read(
        "%q: tensor<2x7x2x2x6xf32>, %k: tensor<2x7x2x6xf32>) -> tensor<2x2x2x7x7xf32> {
        %0 = stablehlo.dot_general %k, %q, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4] : (tensor<2x7x2x6xf32>, tensor<2x7x2x2x6xf32>) -> tensor<2x2x7x7x2xf32>
        %1 = stablehlo.transpose %0, dims = [0, 1, 4, 3, 2] : (tensor<2x2x7x7x2xf32>) -> tensor<2x2x2x7x7xf32>
        return %1 : tensor<2x2x2x7x7xf32>",
    );
    assert_eq!(operators(&text), ["permute", "reshape", "permute", "matmul", "reshape"], "{text}");
}

#[test]
fn rows_that_are_added_at_places_are_one_operator() {
    let text = read(
        "%x: tensor<5x4xf32>, %i: tensor<8x1xi32>, %y: tensor<8x4xf32>) -> tensor<5x4xf32> {
        %0 = \"stablehlo.scatter\"(%x, %i, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<5x4xf32>, tensor<8x1xi32>, tensor<8x4xf32>) -> tensor<5x4xf32>
        return %0 : tensor<5x4xf32>",
    );
    let all = operators(&text);
    assert!(all.contains(&"index_add") && !all.contains(&"arange"), "{text}");
}

#[test]
fn a_branch_by_a_condition_is_a_choice_by_it() {
    let text = read(
        "%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
        %0 = stablehlo.convert %p : (tensor<i1>) -> tensor<i32>
        %1 = \"stablehlo.case\"(%0) ({
          %2 = stablehlo.sine %x : tensor<4xf32>
          stablehlo.return %2 : tensor<4xf32>
        }, {
          %2 = stablehlo.cosine %x : tensor<4xf32>
          stablehlo.return %2 : tensor<4xf32>
        }) : (tensor<i32>) -> tensor<4xf32>
        return %1 : tensor<4xf32>",
    );
    assert_eq!(operators(&text), ["cos", "sin", "where"], "{text}");
    assert!(text.contains("where(arg1, \"%1/1/%2\", \"%1/0/%2\")"), "{text}");
}

#[test]
fn arithmetic_shifts_of_unsigned_integers_keep_the_highest_bit() {
    let shifted = |kind: &str| {
        let ty = "tensor<4xui32>";
        read(&format!(
            "%arg0: {ty}, %arg1: {ty}) -> {ty} {{
            %0 = stablehlo.shift_right_{kind} %arg0, %arg1 : {ty}
            return %0 : {ty}"
        ))
    };
    assert_eq!(operators(&shifted("arithmetic")), ["cast", "cast", "shift_right", "cast"]);
    assert_eq!(operators(&shifted("logical")), ["shift_right"]);
}
