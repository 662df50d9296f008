//! Small exported programs as tests write them.

use std::io::{Cursor, Write};

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A zip archive of these members.
pub(crate) fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, data) in members {
        zip.start_file(*name, SimpleFileOptions::default().compression_method(CompressionMethod::Deflated)).unwrap();
        zip.write_all(data).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// What a program says of a contiguous tensor in all but its strides, which are 1.
pub(crate) fn tensor(dtype: i64, sizes: &[i64]) -> Value {
    let ints = |all: &[i64]| all.iter().map(|n| json!({ "as_int": n })).collect::<Vec<_>>();
    json!({
        "dtype": dtype, "sizes": ints(sizes), "strides": ints(&vec![1; sizes.len()]), "layout": 7,
        "storage_offset": { "as_int": 0 }, "requires_grad": false, "device": { "type": "cpu", "index": null }
    })
}

/// One operator; `inputs` by name, or as one argument that stands for all.
pub(crate) fn node(target: &str, inputs: Value, output: &str) -> Value {
    let inputs: Vec<Value> = match inputs {
        Value::Object(all) => {
            all.into_iter().map(|(name, arg)| json!({ "name": name, "arg": arg, "kind": 1 })).collect()
        }
        other => vec![other],
    };
    json!({
        "target": target, "inputs": inputs, "outputs": [{ "as_tensor": { "name": output } }],
        "metadata": {}, "name": output
    })
}

/// An argument that is a tensor of the program.
pub(crate) fn reference(name: &str) -> Value {
    json!({ "as_tensor": { "name": name } })
}

pub(crate) fn relu(input: &str, output: &str) -> Value {
    node("torch.ops.aten.relu.default", json!({ "self": reference(input) }), output)
}

/// A program with the input `x`, the output `y` and these nodes.
pub(crate) fn program(nodes: Vec<Value>, types: Value) -> Value {
    json!({
        "graph_module": {
            "graph": {
                "inputs": [reference("x")], "outputs": [reference("y")], "nodes": nodes, "tensor_values": types,
                "sym_int_values": {}, "sym_bool_values": {}
            },
            "signature": {
                "input_specs": [{ "user_input": { "arg": reference("x") } }],
                "output_specs": [{ "user_output": { "arg": reference("y") } }]
            },
            "module_call_graph": []
        },
        "opset_version": { "aten": 10 }, "range_constraints": {},
        "schema_version": { "major": 8, "minor": 17 }, "torch_version": "2.11.0"
    })
}

/// The types of `x` and `y`.
pub(crate) fn small_types() -> Value {
    json!({ "x": tensor(7, &[2, 3]), "y": tensor(7, &[2, 3]) })
}
