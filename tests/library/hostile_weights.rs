//! Archives whose weights are damaged or lie about themselves: those weights are left out, and nothing else happens.

use std::fs;
use std::path::Path;

use crate::programs::{archive, program, relu, small_types, tensor};
use magneton_ir::frontend;
use serde_json::{Value, json};

/// Zeros and one 1 as the weight of a program, described by `payload`; what is read of them, by rows and columns.
fn weight(payload: &Value, order: &str, edit: impl Fn(&mut Vec<u8>)) -> Option<(usize, usize)> {
    let mut program = program(vec![relu("x", "y")], small_types());
    program["graph_module"]["signature"]["input_specs"] =
        json!([{ "parameter": { "arg": { "name": "x" }, "parameter_name": "w" } }]);
    let config = json!({ "config": { "w": payload } }).to_string();
    let mut data = vec![0; 24];
    data[5] = 1;
    let mut bytes = archive(&[
        ("m/models/model.json", program.to_string().as_bytes()),
        ("m/data/weights/model_weights_config.json", config.as_bytes()),
        ("m/data/weights/weight_0", &data),
        ("m/byteorder", order.as_bytes()),
    ]);
    edit(&mut bytes);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.pt2");
    fs::write(&path, bytes).unwrap();
    let (graph, mut contents) = frontend::load_with_contents(&path).unwrap();
    assert_eq!(graph.inputs().len(), 1);
    contents.content(0).map(|c| (c.rows.len(), c.columns.len()))
}

/// `weight_0` as a tensor of that type, those sizes and strides.
fn payload(dtype: i64, sizes: &[i64], strides: &[i64], offset: i64) -> Value {
    let mut meta = tensor(dtype, sizes);
    meta["strides"] = strides.iter().map(|n| json!({ "as_int": n })).collect();
    meta["storage_offset"] = json!({ "as_int": offset });
    json!({ "path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": meta })
}

#[test]
fn weights_that_cannot_be_read_are_left_out() {
    let whole = payload(7, &[2, 3], &[3, 1], 0);
    let read = |payload: &Value| weight(payload, "little", |_| ());
    assert_eq!(read(&whole), Some((2, 3)));
    assert_eq!(read(&payload(7, &[2, 2], &[2, 1], 2)), Some((2, 2)), "a part of its storage");
    assert_eq!(read(&payload(7, &[2, 3], &[1, 2], 0)), Some((2, 3)), "a transposed matrix");
    assert_eq!(read(&payload(7, &[6], &[1], 0)), Some((6, 0)));
    assert_eq!(read(&payload(7, &[2, 3], &[0, 1], 0)), Some((2, 3)), "repeated rows");
    assert_eq!(read(&payload(7, &[2, 2], &[3, 1], 0)), Some((2, 2)), "a part of each row");
    assert_eq!(read(&payload(10, &[1, 3], &[3, 1], 0)), Some((1, 0)), "complex numbers");
    for (what, described) in [
        ("longer than its storage", payload(7, &[2, 4], &[4, 1], 0)),
        ("beyond its storage", payload(7, &[2, 3], &[3, 1], 1)),
        ("far beyond its storage", payload(7, &[2, 3], &[3, 1], i64::MAX)),
        ("before its storage", payload(7, &[2, 3], &[3, 1], -1)),
        ("without strides", payload(7, &[2, 3], &[], 0)),
        ("with strides that overflow", payload(7, &[2, 3], &[i64::MAX, i64::MAX], 0)),
        ("without elements", payload(7, &[0, 3], &[3, 1], 0)),
        ("of a negative size", payload(7, &[-2, 3], &[3, 1], 0)),
        ("of a huge size", payload(7, &[i64::MAX, i64::MAX], &[i64::MAX, 1], 0)),
        ("of an unknown type", payload(99, &[2, 3], &[3, 1], 0)),
        ("of complex numbers, longer than its storage", payload(10, &[2, 3], &[3, 1], 0)),
    ] {
        assert_eq!(read(&described), None, "{what}");
    }
    let with = |key: &str, value: Value| {
        let mut changed = whole.clone();
        changed[key] = value;
        changed
    };
    assert_eq!(read(&with("path_name", json!("weight_1"))), None);
    assert_eq!(read(&with("path_name", json!("../../byteorder"))), None);
    assert_eq!(read(&with("path_name", json!(7))), None);
    assert_eq!(read(&with("use_pickle", json!(true))), Some((2, 3)), "known by its bytes alone");
    assert_eq!(read(&with("tensor_meta", Value::Null)), None);
}

#[test]
fn damaged_weights_are_left_out() {
    let whole = payload(7, &[2, 3], &[3, 1], 0);
    let damaged = weight(&whole, "little", |bytes| {
        // The checksum of the member, in the archive's directory.
        let name = bytes.windows(10).rposition(|w| w == b"s/weight_0").unwrap();
        let entry = bytes[..name].windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
        bytes[entry + 16] ^= 1;
    });
    assert_eq!(damaged, None);
    assert_eq!(weight(&whole, "big", |_| ()), None, "elements of the other byte order");
}

/// Whatever a damaged archive says of its weights, reading them ends.
#[test]
fn a_changed_byte_in_an_archive_with_weights_breaks_nothing() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/weights-turned.pt2");
    let whole = fs::read(path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.pt2");
    let mut read = 0;
    for at in (0..whole.len()).step_by(29) {
        let mut bytes = whole.clone();
        bytes[at] = bytes[at].wrapping_add(1 + (at % 254) as u8);
        fs::write(&path, bytes).unwrap();
        if let Ok((graph, mut contents)) = frontend::load_with_contents(&path) {
            read += (0..graph.inputs().len() + 1).filter_map(|input| contents.content(input)).count();
        }
    }
    assert!(read > 1000, "only {read} weights were read at all");
}
