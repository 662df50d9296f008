//! Every operator of the recorded exports alone, with arguments and types changed at random: whatever comes out, the
//! importer must not panic, and what it accepts must have layouts and a text form.

use std::fs;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use magneton_ir::frontend::pt2;
use magneton_ir::ir::{layouts, text};
use serde_json::{Map, Value, json};

/// How often each operator is changed.
const CHANGES: usize = 40;

/// A small generator of random numbers (xorshift64*), so that the test is the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    fn int(&mut self) -> i64 {
        const EDGES: [i64; 16] =
            [0, 1, -1, 2, 3, -2, 4, 6, 7, 64, -100, 1 << 31, 1 << 45, i64::MAX, i64::MIN, i64::MIN + 1];
        EDGES[self.below(EDGES.len())]
    }

    fn float(&mut self) -> Value {
        let all =
            [json!(0.0), json!(-1.5), json!(1e300), json!("Infinity"), json!("-Infinity"), json!("NaN"), json!(0.1)];
        all[self.below(all.len())].clone()
    }

    fn argument(&mut self, names: &[String]) -> Value {
        let name = |r: &mut Self| json!({ "name": names[r.below(names.len())] });
        match self.below(9) {
            0 => json!({ "as_int": self.int() }),
            1 => json!({ "as_ints": (0..self.below(5)).map(|_| self.int()).collect::<Vec<_>>() }),
            2 => json!({ "as_float": self.float() }),
            3 => json!({ "as_bool": self.below(2) == 0 }),
            4 => json!({ "as_none": true }),
            5 => json!({ "as_scalar_type": self.below(35) }),
            6 => json!({ "as_string": "valid" }),
            7 => json!({ "as_tensor": name(self) }),
            _ => json!({ "as_tensors": (0..self.below(4)).map(|_| name(self)).collect::<Vec<_>>() }),
        }
    }
}

/// The graph of a file under `tests/data`, as JSON.
pub(crate) fn model(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
    let mut zip = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    let name = zip.file_names().flatten().find(|n| n.ends_with("models/model.json")).unwrap().into_owned();
    let mut text = String::new();
    zip.by_name(&name).unwrap().read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn names_in(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let (1, Some(Value::String(name))) = (map.len(), map.get("name")) {
                found.push(name.clone());
            }
            map.values().for_each(|v| names_in(v, found));
        }
        Value::Array(all) => all.iter().for_each(|v| names_in(v, found)),
        _ => {}
    }
}

fn tensors(node: &Value, part: &str) -> Vec<String> {
    let mut found = Vec::new();
    names_in(&node[part], &mut found);
    found.sort();
    found.dedup();
    found
}

fn program(node: &Value, types: &Map<String, Value>) -> Value {
    let reference = |name: &String| json!({ "as_tensor": { "name": name } });
    let (inputs, outputs) = (tensors(node, "inputs"), tensors(node, "outputs"));
    let kept: Map<String, Value> = inputs.iter().chain(&outputs).map(|n| (n.clone(), types[n].clone())).collect();
    let specs = |names: &[String], kind: &str| -> Vec<Value> {
        names.iter().map(|n| json!({ kind: { "arg": reference(n) } })).collect()
    };
    json!({
        "graph_module": {
            "graph": {
                "inputs": inputs.iter().map(reference).collect::<Vec<_>>(),
                "outputs": outputs.iter().map(reference).collect::<Vec<_>>(),
                "nodes": [node], "tensor_values": kept
            },
            "signature": {
                "input_specs": specs(&inputs, "user_input"), "output_specs": specs(&outputs, "user_output")
            }
        },
        "schema_version": { "major": 8, "minor": 17 }
    })
}

fn change(program: &mut Value, random: &mut Random) {
    let graph = &mut program["graph_module"]["graph"];
    let names: Vec<String> = graph["tensor_values"].as_object().unwrap().keys().cloned().collect();
    if random.below(3) == 0 {
        let meta = &mut graph["tensor_values"][&names[random.below(names.len())]];
        let sizes = meta["sizes"].as_array_mut().unwrap();
        match random.below(4) {
            0 => meta["dtype"] = json!(random.below(15)),
            1 => drop(sizes.pop()),
            2 => sizes.push(json!({ "as_int": random.below(3) })),
            _ => {
                if !sizes.is_empty() {
                    let place = random.below(sizes.len());
                    sizes[place] = json!({ "as_int": random.int() });
                }
            }
        }
        return;
    }
    let inputs = graph["nodes"][0]["inputs"].as_array_mut().unwrap();
    if inputs.is_empty() {
        return;
    }
    let place = random.below(inputs.len());
    match (random.below(4), &mut inputs[place]["arg"]) {
        (0, _) => drop(inputs.remove(place)),
        (1 | 2, Value::Object(arg)) if arg.contains_key("as_int") => arg["as_int"] = json!(random.int()),
        (1 | 2, Value::Object(arg)) if arg.contains_key("as_ints") => {
            let all = arg["as_ints"].as_array_mut().unwrap();
            let place = random.below(all.len() + 1);
            all.insert(place, json!(random.int()));
            if random.below(2) == 0 {
                all.remove(random.below(all.len()));
            }
        }
        (_, arg) => *arg = random.argument(&names),
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn changed_operators_never_panic() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut accepted, mut refused, mut panics) = (0, 0, Vec::new());
    for file in ["operators.pt2", "operators-decomposed.pt2", "gradients.pt2"] {
        let model = model(file);
        let graph = &model["graph_module"]["graph"];
        let types = graph["tensor_values"].as_object().unwrap();
        for node in graph["nodes"].as_array().unwrap() {
            for _ in 0..CHANGES {
                let mut program = program(node, types);
                for _ in 0..=random.below(3) {
                    change(&mut program, &mut random);
                }
                let json = program.to_string();
                let outcome =
                    catch_unwind(AssertUnwindSafe(|| match pt2::read_json(Path::new("changed"), json.as_bytes()) {
                        Ok(graph) => {
                            assert_eq!(layouts(&graph).len(), graph.len());
                            let printed = text::print(&graph);
                            let again = text::parse("printed", &printed).unwrap_or_else(|e| panic!("{e:?}\n{printed}"));
                            assert_eq!(text::print(&again), printed);
                            true
                        }
                        Err(_) => false,
                    }));
                match outcome {
                    Ok(true) => accepted += 1,
                    Ok(false) => refused += 1,
                    Err(_) => panics.push(program["graph_module"]["graph"].to_string()),
                }
            }
        }
    }
    assert!(panics.is_empty(), "{} panics, the first with\n{}", panics.len(), panics[0]);
    assert!(accepted > 1000 && refused > 1000, "{accepted} accepted, {refused} refused");
}
