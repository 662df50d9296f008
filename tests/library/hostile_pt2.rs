//! Damaged and malicious `.pt2` files: each gets a diagnostic that names the file and the place, quickly.

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::programs::{archive, node, program, reference, relu, small_types, tensor};
use magneton_ir::frontend;
use miette::{GraphicalReportHandler, GraphicalTheme};
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The diagnostic that loading `bytes` gives.
fn refusal(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.pt2");
    fs::write(&path, bytes).unwrap();
    refusal_at(&path).replace(&format!("{}/", folder.path().display()), "")
}

fn refusal_at(path: &Path) -> String {
    let started = Instant::now();
    let error = frontend::load(path).expect_err("the file must be refused");
    assert!(started.elapsed() < Duration::from_secs(10), "took {:?}", started.elapsed());
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none()).with_width(400);
    handler.render_report(&mut text, &error).unwrap();
    text
}

fn with_model(json: &[u8]) -> Vec<u8> {
    archive(&[("m/models/model.json", json), ("m/byteorder", b"little")])
}

fn refused(program: &Value) -> String {
    refusal(&with_model(program.to_string().as_bytes()))
}

/// A correct program in which `from` is replaced by `to` in the JSON text.
fn edited(from: &str, to: &str) -> String {
    let text = program(vec![relu("x", "y")], small_types()).to_string();
    assert!(text.contains(from), "{from} is not in {text}");
    refusal(&with_model(text.replacen(from, to, 1).as_bytes()))
}

#[test]
fn the_program_that_the_tests_damage_loads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.pt2");
    let text = program(vec![relu("x", "y")], small_types()).to_string();
    fs::write(&path, with_model(text.as_bytes())).unwrap();
    assert_eq!(frontend::load(&path).unwrap().operators().count(), 1);
    // Without an archive, and in the layout that older versions of PyTorch write.
    fs::write(&path, &text).unwrap();
    assert_eq!(frontend::load(&path).unwrap().operators().count(), 1);
    fs::write(&path, archive(&[("serialized_exported_program.json", text.as_bytes())])).unwrap();
    assert_eq!(frontend::load(&path).unwrap().operators().count(), 1);
}

#[test]
fn files_that_are_no_archives() {
    insta::assert_snapshot!("empty", refusal(b""));
    insta::assert_snapshot!("not_a_zip", refusal(&[0xff, 0xd8, 0xff, 0xe0, 1, 2, 3]));
    insta::assert_snapshot!("zip_magic_only", refusal(b"PK\x03\x04"));
    let whole = with_model(program(vec![relu("x", "y")], small_types()).to_string().as_bytes());
    insta::assert_snapshot!("truncated", refusal(&whole[..whole.len() / 2]));
    let mut damaged = whole.clone();
    let middle = damaged.len() / 4;
    damaged[middle] ^= 0xff;
    insta::assert_snapshot!("bit_flip", refusal(&damaged));
    insta::assert_snapshot!("folder", {
        let folder = tempfile::tempdir().unwrap();
        refusal_at(folder.path()).replace(&folder.path().display().to_string(), "folder")
    });
    insta::assert_snapshot!("missing", refusal_at(Path::new("no/such/file.pt2")));
}

#[test]
fn archives_without_a_model() {
    insta::assert_snapshot!("no_members", refusal(&archive(&[])));
    insta::assert_snapshot!("no_model", refusal(&archive(&[("m/models/readme.txt", b"hello"), ("m/data.pkl", b"")])));
    insta::assert_snapshot!("too_deep_a_folder", refusal(&archive(&[("a/b/models/model.json", b"{}")])));
    insta::assert_snapshot!("two_models", refusal(&archive(&[("m/models/a.json", b"{}"), ("m/models/b.json", b"{}")])));
}

/// A program with a record of the process that wrote it.
fn with_settings(settings: &str) -> Vec<u8> {
    let model = program(vec![relu("x", "y")], small_types()).to_string();
    archive(&[
        ("m/models/model.json", model.as_bytes()),
        ("m/byteorder", b"little"),
        ("m/extra/magneton_ir/environment.json", settings.as_bytes()),
    ])
}

#[test]
fn records_of_a_process_are_read_and_refused_where_they_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.pt2");
    let settings = r#"{"cuda.matmul.allow_tf32": true, "versions": {"torch": "2.11.0"}, "autocast": ["cuda"]}"#;
    fs::write(&path, with_settings(settings)).unwrap();
    let graph = frontend::load(&path).unwrap();
    assert!(graph.config.allow_tf32 && !graph.config.cudnn_tf32_off);
    assert_eq!(graph.settings["versions.torch"], "2.11.0");
    assert_eq!(graph.settings["autocast"], r#"["cuda"]"#);

    insta::assert_snapshot!("settings_no_json", refusal(&with_settings("cudnn")));
    insta::assert_snapshot!("settings_no_object", refusal(&with_settings("[1]")));
    let nested = format!("{}1{}", r#"{"a":"#.repeat(200), "}".repeat(200));
    insta::assert_snapshot!("settings_too_deep", refusal(&with_settings(&nested)));
    let many: Vec<String> = (0..1001).map(|n| format!(r#""v{n}": {n}"#)).collect();
    insta::assert_snapshot!("settings_too_many", refusal(&with_settings(&format!("{{{}}}", many.join(",")))));
    let long = format!(r#"{{"a": "{}"}}"#, "b".repeat(1 << 20));
    insta::assert_snapshot!("settings_too_long", refusal(&with_settings(&long)));
}

/// A member that unpacks to `size` zeros.
fn bomb(size: u64) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).large_file(true);
    zip.start_file("m/models/model.json", options).unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(b' '), size), &mut zip).unwrap();
    zip.finish().unwrap().into_inner()
}

#[test]
fn zip_bombs() {
    insta::assert_snapshot!("bomb_by_size", refusal(&bomb(300 << 20)));
    insta::assert_snapshot!("bomb_by_ratio", refusal(&bomb(64 << 20)));
    // The same bomb with a header that lies about the size.
    let size: u32 = 64 << 20;
    let mut liar = bomb(u64::from(size));
    let places: Vec<usize> = (0..liar.len() - 4).filter(|&i| liar[i..i + 4] == size.to_le_bytes()).collect();
    assert!(!places.is_empty());
    for place in places {
        liar[place..place + 4].copy_from_slice(&1000_u32.to_le_bytes());
    }
    insta::assert_snapshot!("bomb_that_lies", refusal(&liar));
}

#[test]
fn json_that_is_no_program() {
    insta::assert_snapshot!("not_json", refusal(&with_model(b"\x00\x01\x02")));
    insta::assert_snapshot!("empty_json", refusal(&with_model(b"")));
    insta::assert_snapshot!("empty_object", refusal(&with_model(b"{}")));
    insta::assert_snapshot!("cut_json", refusal(&with_model(br#"{"graph_module": {"graph": "#)));
    let deep = [b"{\"graph_module\": ".to_vec(), vec![b'['; 1 << 20]].concat();
    insta::assert_snapshot!("deep_nesting", refusal(&with_model(&deep)));
    let deep = "{\"as_graph\": {\"name\": \"g\", \"graph\": {\"inputs\": [".repeat(100_000);
    let deep = format!("{{\"graph_module\": {{\"graph\": {{\"inputs\": [{deep}");
    insta::assert_snapshot!("deep_graphs", refusal(&with_model(deep.as_bytes())));
    insta::assert_snapshot!("wrong_type", edited(r#""nodes":["#, r#""nodes":[7,"#));
    insta::assert_snapshot!("huge_float", edited(r#"{"as_tensor":{"name":"x"}}"#, r#"{"as_float":1e400}"#));
    insta::assert_snapshot!("nan_token", edited(r#"{"as_tensor":{"name":"x"}}"#, r#"{"as_float":NaN}"#));
    insta::assert_snapshot!("nan_word_as_size", edited(r#"{"as_int":2}"#, r#"{"as_int":"NaN"}"#));
    insta::assert_snapshot!("huge_int", edited(r#"{"as_int":2}"#, r#"{"as_int":99999999999999999999}"#));
    insta::assert_snapshot!("two_keys", edited(r#"{"as_tensor":{"name":"x"}}"#, r#"{"as_int":1,"as_float":2.0}"#));
    insta::assert_snapshot!("control_character", edited("relu", "r\u{1}lu"));
    insta::assert_snapshot!("not_utf8", {
        let mut text = program(vec![relu("x", "y")], small_types()).to_string().into_bytes();
        let place = text.windows(4).position(|w| w == b"relu").unwrap();
        text[place] = 0xff;
        refusal(&with_model(&text))
    });
    let deep = format!(r#"{{"as_something":{}}}"#, "[".repeat(100_000));
    insta::assert_snapshot!("deep_argument", edited(r#"{"as_tensor":{"name":"x"}}"#, &deep));
    insta::assert_snapshot!("future_version", edited(r#""major":8"#, r#""major":9"#));
}

#[test]
fn graphs_that_make_no_sense() {
    insta::assert_snapshot!("dangling_name", refused(&program(vec![relu("nowhere", "y")], small_types())));
    let types = json!({ "x": tensor(7, &[2]), "y": tensor(7, &[2]), "z": tensor(7, &[2]) });
    insta::assert_snapshot!("cycle", refused(&program(vec![relu("z", "y"), relu("y", "z")], types.clone())));
    insta::assert_snapshot!("self_reference", refused(&program(vec![relu("y", "y")], small_types())));
    insta::assert_snapshot!(
        "two_nodes_of_one_name",
        refused(&program(vec![relu("x", "y"), relu("x", "y")], small_types()))
    );
    let mut second = relu("x", "y");
    second["name"] = json!("other");
    insta::assert_snapshot!("two_values_of_one_name", refused(&program(vec![relu("x", "y"), second], small_types())));
    let mut shadow = relu("x", "x");
    shadow["name"] = json!("other");
    insta::assert_snapshot!("a_value_named_as_an_input", refused(&program(vec![shadow], small_types())));
    insta::assert_snapshot!("no_output", refused(&program(vec![], small_types())));
    insta::assert_snapshot!("untyped_value", refused(&program(vec![relu("x", "y")], json!({ "x": tensor(7, &[2]) }))));
    let wrong = json!({ "x": tensor(7, &[2, 3]), "y": tensor(7, &[3, 2]) });
    insta::assert_snapshot!("wrong_shape", refused(&program(vec![relu("x", "y")], wrong)));
    let wrong = json!({ "x": tensor(7, &[2, 3]), "y": tensor(13, &[2, 3]) });
    insta::assert_snapshot!("wrong_dtype", refused(&program(vec![relu("x", "y")], wrong)));
}

#[test]
fn sizes_and_types_out_of_range() {
    let with = |x: Value| refused(&program(vec![relu("x", "y")], json!({ "x": x, "y": tensor(7, &[2]) })));
    insta::assert_snapshot!("negative_size", with(tensor(7, &[-2])));
    insta::assert_snapshot!("overflowing_size", with(tensor(7, &[i64::MAX, i64::MAX])));
    insta::assert_snapshot!("huge_rank", with(tensor(7, &[1; 1000])));
    insta::assert_snapshot!("unknown_dtype", with(tensor(99, &[2])));
    let mut sparse = tensor(7, &[2]);
    sparse["layout"] = json!(2);
    insta::assert_snapshot!("sparse_layout", with(sparse));
    let mut symbolic = tensor(7, &[2]);
    symbolic["sizes"] = json!([{ "as_expr": { "expr_str": "2*s0", "hint": { "as_int": 4 } } }]);
    insta::assert_snapshot!("symbolic_size", with(symbolic));
}

#[test]
fn arguments_out_of_range() {
    let call = |target: &str, inputs: Value| refused(&program(vec![node(target, inputs, "y")], small_types()));
    let x = || reference("x");
    let int = |n: i64| json!({ "as_int": n });
    let ints = |all: &[i64]| json!({ "as_ints": all });
    let aten = |name: &str| format!("torch.ops.aten.{name}");
    insta::assert_snapshot!("missing_argument", call(&aten("relu.default"), json!({})));
    insta::assert_snapshot!("wrong_argument", call(&aten("relu.default"), json!({ "self": int(1) })));
    insta::assert_snapshot!(
        "view_overflow",
        call(&aten("view.default"), json!({ "self": x(), "size": ints(&[i64::MAX, i64::MAX]) }))
    );
    insta::assert_snapshot!(
        "view_two_wildcards",
        call(&aten("view.default"), json!({ "self": x(), "size": ints(&[-1, -1]) }))
    );
    insta::assert_snapshot!(
        "transpose_dim",
        call(&aten("transpose.int"), json!({ "self": x(), "dim0": int(0), "dim1": int(i64::MIN) }))
    );
    insta::assert_snapshot!(
        "permute_repeats",
        call(&aten("permute.default"), json!({ "self": x(), "dims": ints(&[0, 0]) }))
    );
    insta::assert_snapshot!(
        "unsqueeze_dim",
        call(&aten("unsqueeze.default"), json!({ "self": x(), "dim": int(i64::MIN) }))
    );
    insta::assert_snapshot!(
        "slice_step",
        call(&aten("slice.Tensor"), json!({ "self": x(), "dim": int(0), "step": int(i64::MIN) }))
    );
    insta::assert_snapshot!("split_size", call(&aten("split.Tensor"), json!({ "self": x(), "split_size": int(0) })));
    insta::assert_snapshot!(
        "split_many",
        call(&aten("split_with_sizes.default"), json!({ "self": x(), "split_sizes": ints(&[i64::MAX, 3]) }))
    );
    insta::assert_snapshot!(
        "expand_negative",
        call(&aten("expand.default"), json!({ "self": x(), "size": ints(&[-7, 3]) }))
    );
    insta::assert_snapshot!(
        "repeat_huge",
        call(&aten("repeat.default"), json!({ "self": x(), "repeats": ints(&[i64::MAX, 1]) }))
    );
    insta::assert_snapshot!(
        "arange_step",
        call(&aten("arange.start_step"), json!({ "start": int(0), "end": int(9), "step": int(0) }))
    );
    insta::assert_snapshot!(
        "symbolic_argument",
        call(&aten("unsqueeze.default"), json!({ "self": x(), "dim": { "as_sym_int": { "as_name": "s0" } } }))
    );
    insta::assert_snapshot!("foreign_in_place", call("torch.ops.mylib.scale_.default", json!({ "self": x() })));
    let mut effect = relu("x", "y");
    effect["outputs"] = json!([]);
    insta::assert_snapshot!("no_outputs", refused(&program(vec![effect], small_types())));
    let mut symbolic = node("torch.ops.aten.sym_size.int", json!({ "self": x(), "dim": int(0) }), "y");
    symbolic["outputs"] = json!([{ "as_sym_int": { "as_name": "sym_size" } }]);
    insta::assert_snapshot!("symbolic_output", refused(&program(vec![symbolic], small_types())));
    let hop = |inputs: Value| {
        let mut hop = node("torch.ops.higher_order.wrap_with_set_grad_enabled", json!({}), "y");
        hop["inputs"] = inputs;
        refused(&program(vec![hop], small_types()))
    };
    insta::assert_snapshot!("nested_graph_missing", hop(json!([])));
    let graph = json!({ "inputs": [x()], "outputs": [x()], "nodes": [], "tensor_values": small_types() });
    let graph = json!({ "name": "", "arg": { "as_graph": { "name": "g", "graph": graph } } });
    insta::assert_snapshot!("nested_graph_without_operands", hop(json!([graph])));
}

#[test]
fn long_chains_load_in_reasonable_time() {
    let count = 20_000;
    let name = |i: usize| {
        if i == 0 {
            "x".to_owned()
        } else if i == count {
            "y".to_owned()
        } else {
            format!("r{i}")
        }
    };
    let nodes = (0..count).map(|i| relu(&name(i), &name(i + 1))).collect();
    let types: serde_json::Map<String, Value> = (0..=count).map(|i| (name(i), tensor(7, &[2, 3]))).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.pt2");
    fs::write(&path, with_model(program(nodes, types.into()).to_string().as_bytes())).unwrap();
    let started = Instant::now();
    let graph = frontend::load(&path).unwrap();
    assert!(started.elapsed() < Duration::from_secs(10), "took {:?}", started.elapsed());
    assert_eq!(graph.operators().count(), count);
}
