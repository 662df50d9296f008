//! Damaged and malicious StableHLO modules: each gets a diagnostic with its place, quickly.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use magneton_ir::frontend::stablehlo::read_text;

fn read(text: &str) -> Result<usize, String> {
    let started = Instant::now();
    let graph = read_text(Path::new("model.mlir"), text);
    assert!(started.elapsed() < Duration::from_secs(20), "took {:?}", started.elapsed());
    graph.map(|g| g.len()).map_err(|e| e.to_string())
}

/// A function with these arguments and this body.
fn function(arguments: &str, body: &str) -> String {
    format!("module {{\nfunc.func public @main({arguments}) -> tensor<4xf32> {{\n{body}\n}}\n}}")
}

fn refused(arguments: &str, body: &str) -> String {
    read(&function(arguments, body)).expect_err("the module must be refused")
}

const X: &str = "%x: tensor<4xf32>";

#[test]
fn the_module_that_the_tests_damage_is_read() {
    let text = function(X, "%0 = stablehlo.tanh %x : tensor<4xf32>\nreturn %0 : tensor<4xf32>");
    assert_eq!(read(&text), Ok(2));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (body, wanted) in [
        (
            "%0 = stablehlo.tanh %y : tensor<4xf32>\nreturn %0 : tensor<4xf32>",
            "model.mlir:3:1: `stablehlo.tanh` uses `%y`",
        ),
        (
            "%0 = stablehlo.tanh %x : tensor<5xf32>\nreturn %0 : tensor<5xf32>",
            "gives f32[4], and the module states f32[5]",
        ),
        ("%x = stablehlo.tanh %x : tensor<4xf32>\nreturn %x : tensor<4xf32>", "`%x` is defined twice"),
        ("%0:3 = stablehlo.tanh %x : tensor<4xf32>\nreturn %0 : tensor<4xf32>", "states 1 types for 3 results"),
        ("%0:99999999999999999999999 = stablehlo.tanh %x : tensor<4xf32>\nreturn %0 : tensor<4xf32>", "types for"),
        ("%0 = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>", "nested more than"),
        ("%0 = call @main() : () -> tensor<4xf32>\nreturn %0 : tensor<4xf32>", "takes 1 arguments, 0 are given"),
        (
            "%0 = stablehlo.transpose %x, dims = [3] : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>",
            "no dimension 3",
        ),
        (
            "%0 = stablehlo.slice %x [2:9] : (tensor<4xf32>) -> tensor<7xf32>\nreturn %x : tensor<4xf32>",
            "limits outside",
        ),
        ("%c = stablehlo.constant dense<[1.0, 2.0]> : tensor<4xf32>\nreturn %c : tensor<4xf32>", "has 2 elements"),
        ("%c = stablehlo.constant dense<\"0x00\"> : tensor<4xf32>\nreturn %c : tensor<4xf32>", "has 1 bytes"),
        ("%c = stablehlo.constant dense_resource<w> : tensor<4xf32>\nreturn %c : tensor<4xf32>", "no resource"),
        (
            "%0 = stablehlo.broadcast_in_dim %x, dims = [0, 0] : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>",
            "dimensions for an operand",
        ),
        (
            "%0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [1] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>\nreturn %x : tensor<4xf32>",
            "no dimension 1",
        ),
        (
            "%0 = stablehlo.iota dim = 0 : tensor<99999999999999x999999999999xf32>\nreturn %x : tensor<4xf32>\n}",
            "not expected",
        ),
        ("return %x : tensor<4xf32", "not expected"),
        (
            "%0 = \"stablehlo.while\"(%x) ({}) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>",
            "no condition and body",
        ),
        ("%0 = \"stablehlo.case\"(%x) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>", "no branches"),
    ] {
        let found = refused(X, body);
        assert!(found.contains(wanted), "{body}:\n{found}");
    }
    assert!(refused("%x: tensor<?xf32>", "return %x : tensor<?xf32>").contains("which this tool has no tensors of"));
    assert!(read("module {}").unwrap_err().contains("no functions"));
    assert!(read("").unwrap_err().contains("no functions"));
    assert!(
        read("module {\nfunc.func @a() {\nreturn\n}\nfunc.func @a() {\nreturn\n}\n}")
            .unwrap_err()
            .contains("two functions")
    );
    let blocks = function(X, "cf.br ^bb1\n^bb1:\nreturn %x : tensor<4xf32>");
    assert!(read(&blocks).unwrap_err().contains("several blocks"));
}

#[test]
fn unknown_operations_stay_opaque() {
    let body = "%0 = \"mystery.op\"(%x) {a = 1 : i64, b = dense<[1, 2]> : tensor<2xi64>} : (tensor<4xf32>) -> tensor<4xf32>\n\
                %1 = mystery.pretty %0, %x how = <{odd}> [1, 2] : tensor<4xf32>\n\
                %2 = stablehlo.custom_call @thing(%1) {backend_config = \"{}\"} : (tensor<4xf32>) -> tensor<4xf32>\n\
                return %2 : tensor<4xf32>";
    assert_eq!(read(&function(X, body)), Ok(4));
}

/// A module with a damaged byte was "neither a zip archive, an ONNX model nor text".
#[test]
fn bytes_that_are_no_text_have_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.mlir");
    let mut bytes = function(X, "%0 = stablehlo.tanh %x : tensor<4xf32>\nreturn %0 : tensor<4xf32>").into_bytes();
    let at = bytes.windows(4).position(|w| w == b"tanh").unwrap();
    bytes[at] = 0xff;
    std::fs::write(&path, bytes).unwrap();
    let error = magneton_ir::frontend::load(&path).map(drop).unwrap_err().to_string();
    assert!(error.contains("model.mlir:3:16: what stands here is no UTF-8"), "{error}");
}

/// Complex numbers are no real ones of their type, and of no other shape.
#[test]
fn complex_numbers_have_to_be_of_the_type_that_is_stated() {
    for (body, wanted) in [
        (
            "%0 = stablehlo.complex %x, %x : tensor<4xf32>\nreturn %0 : tensor<4xf32>",
            "gives complex numbers with parts f32[4]",
        ),
        (
            "%0 = stablehlo.complex %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xcomplex<f32>>\nreturn %x : tensor<4xf32>",
            "states complex numbers with parts f32[5]",
        ),
        (
            "%0 = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>\n\
             %1 = stablehlo.fft %0, type = FFT, length = [4, 4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>\n\
             return %x : tensor<4xf32>",
            "transforms 2 dimensions of 1",
        ),
        (
            "%0 = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>\n\
             %1 = stablehlo.fft %0, type = IRFFT, length = [9223372036854775807] : (tensor<4xcomplex<f32>>) -> tensor<4xf32>\n\
             return %x : tensor<4xf32>",
            "makes no 9223372036854775807 places",
        ),
        (
            "%0 = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>\n\
             %1 = stablehlo.fft %0, type = FFT, length = [2] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>\n\
             return %x : tensor<4xf32>",
            "transforms [2] places",
        ),
        (
            "%0 = stablehlo.constant dense<\"0x00000000000000\"> : tensor<2xcomplex<f32>>\nreturn %x : tensor<4xf32>",
            "has 7 bytes",
        ),
    ] {
        let found = refused(X, body);
        assert!(found.contains(wanted), "{body}:\n{found}");
    }
}

/// Call sites that name each other twice were followed two to the power of 64 times.
#[test]
fn locations_that_double_are_bounded() {
    let mut text = function(X, "%0 = stablehlo.tanh %x : tensor<4xf32> loc(#l0)\nreturn %0 : tensor<4xf32>");
    for i in 0..60 {
        write!(text, "\n#l{i} = loc(callsite(#l{j} at #l{j}))", j = i + 1).unwrap();
    }
    text += "\n#l60 = loc(callsite(#l0 at #l0))";
    assert_eq!(read(&text), Ok(2));
}

/// Values of types that the IR lacks are part of what uses them, however many there are.
#[test]
fn chains_of_foreign_values_do_not_grow() {
    let mut body = "%c0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi4>\n".to_owned();
    for i in 0..2000 {
        writeln!(body, "%c{} = stablehlo.add %c{i}, %c{i} : tensor<4xi4>", i + 1).unwrap();
    }
    body += "%0 = stablehlo.convert %c2000 : (tensor<4xi4>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>";
    assert_eq!(read(&function(X, &body)), Ok(2));
}

#[test]
fn deep_nesting_is_refused() {
    for open in ["(", "[", "<", "{", "<{"] {
        let text = format!("module {{ a.b {}", open.repeat(100_000));
        assert!(read(&text).unwrap_err().contains("nested more than"), "{open}");
    }
    let regions = format!("module {{ {}", "\"a.b\"() ({ ".repeat(100_000));
    assert!(read(&regions).unwrap_err().contains("nested more than"));
}

#[test]
fn functions_that_double_are_bounded() {
    let mut text = "module {\nfunc.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n\
                    %0 = call @f0(%x) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}\n"
        .to_owned();
    for i in 0..40 {
        write!(
            text,
            "func.func private @f{i}(%x: tensor<4xf32>) -> tensor<4xf32> {{\n%0 = call @f{j}(%x) : (tensor<4xf32>) -> tensor<4xf32>\n\
             %1 = call @f{j}(%0) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %1 : tensor<4xf32>\n}}\n",
            j = i + 1
        )
        .unwrap();
    }
    text += "func.func private @f40(%x: tensor<4xf32>) -> tensor<4xf32> {\n%0 = stablehlo.tanh %x : tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}\n}";
    assert!(read(&text).unwrap_err().contains("more than"));
}

#[test]
fn endless_loops_stay_opaque() {
    let body = "%c = stablehlo.constant dense<true> : tensor<i1>\n\
                %0 = stablehlo.while(%a = %x) : tensor<4xf32>\n cond {\n stablehlo.return %c : tensor<i1>\n } do {\n\
                 %1 = stablehlo.tanh %a : tensor<4xf32>\n stablehlo.return %1 : tensor<4xf32>\n }\nreturn %0 : tensor<4xf32>";
    // Its input, the condition that it reads, and itself.
    assert_eq!(read(&function(X, body)), Ok(3));
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn huge_literals_and_lists_are_read_in_linear_time() {
    let numbers = vec!["1.5"; 200_000].join(", ");
    let body = format!("%c = stablehlo.constant dense<[{numbers}]> : tensor<200000xf32>\nreturn %x : tensor<4xf32>");
    assert_eq!(read(&function(X, &body)), Ok(1));
    let hex = "0000803f".repeat(500_000);
    let body = format!("%c = stablehlo.constant dense<\"0x{hex}\"> : tensor<500000xf32>\nreturn %x : tensor<4xf32>");
    assert_eq!(read(&function(X, &body)), Ok(1));
    let many = vec!["%x"; 50_000].join(", ");
    let types = vec!["tensor<4xf32>"; 50_000].join(", ");
    let body = format!("%0 = \"a.b\"({many}) : ({types}) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>");
    assert_eq!(read(&function(X, &body)), Ok(2));
    let body = format!("return {many} : {types}");
    assert_eq!(read(&function(X, &body)), Ok(1));
    let words = format!("module {{ a.b {} }}", "%x ".repeat(9 << 20));
    assert!(read(&words).unwrap_err().contains("words"));
}

#[test]
fn every_prefix_of_a_module_is_refused_or_read() {
    let text = function(
        X,
        "%c = stablehlo.constant dense<0.0> : tensor<f32>\n%0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across \
         dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32> loc(\"a\"(\"b.py\":1:2))\n\
         %1 = \"stablehlo.broadcast_in_dim\"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>\n\
         return %1 : tensor<4xf32>",
    );
    read(&text).unwrap();
    for end in (0..text.len()).filter(|&i| text.is_char_boundary(i)) {
        let _ = read(&text[..end]);
        let _ = read(&format!("{}{}", &text[..end], &text[(end + 1).min(text.len())..]));
    }
}
