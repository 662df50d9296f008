//! Programs of operators and parts, and what PyTorch says of them.

use super::*;
use crate::energy::{KernelKey, Profile, WorkWithLayout};
use crate::ir::{DType, Number, text};
use crate::measure::load_plan::{LoadPlan, Memory};
use crate::measure::worker::{Done, Request, Worker};
use crate::ops::find;

const MEMORY: Memory = Memory { free: 1 << 50 };

fn parsed(body: &str) -> Graph {
    text::parse("g", body).unwrap()
}

fn whole(graph: &Graph) -> Emitted {
    part(graph, &graph.nodes().map(|(id, _)| id).collect::<Vec<_>>()).unwrap()
}

#[test]
fn numbers_and_casts_on_the_fly_are_no_calls() {
    let mut graph = parsed("graph g(x: f16[4], y: f32[4]) { return x, y }");
    let [x, y] = [0, 1].map(|i| Value::from(graph.inputs()[i]));
    let cast = find("cast").unwrap();
    let attrs = Attrs::from_iter([AttrValue::DType(DType::F32)]);
    let wide = graph.add_op("wide", cast, attrs, &[x], Origin::implicit()).unwrap();
    let sum = graph.add_op("sum", find("add").unwrap(), Attrs::new(), &[wide.into(), y], Origin::default()).unwrap();
    let (two, attrs) = number(Number::Int(2), DType::F32);
    let two = graph.add_op("two", two, attrs, &[], Origin::implicit()).unwrap();
    let mul = find("mul").unwrap();
    let product = graph.add_op("product", mul, Attrs::new(), &[sum.into(), two.into()], Origin::default()).unwrap();
    graph.set_outputs(Vec::new());
    graph.add_output("product", product.into());
    let emitted = whole(&graph);
    assert_eq!((emitted.operators.len(), emitted.text.matches(" = aten.").count()), (2, 2), "{}", emitted.text);
    assert!(emitted.text.contains("aten.add.Tensor(x, y)"), "{}", emitted.text);
    assert_eq!(emitted.inputs, [x, y]);
    // The cast reads from outside of this part.
    let inside = part(&graph, &[sum, product]).unwrap();
    assert_eq!(inside.inputs, [x, y]);
    // What is read of a part is a result of it.
    let first = part(&graph, &[sum]).unwrap();
    assert_eq!(first.results, [graph.ty(sum.into()).clone()]);
}

#[test]
fn constants_are_made_once() {
    let graph = parsed("graph g(x: f32[3]) { c = literal f32[3] [1.0, 2.0, 3.0] y = add(x, c) return y }");
    let emitted = whole(&graph);
    assert_eq!(emitted.inputs.len(), 1);
    assert!(emitted.text.contains("def forward(x, c)") && emitted.text.contains("def precompute("), "{}", emitted.text);
}

/// One set of operands is enough to see that they fit.
fn one_set(plan: LoadPlan) -> LoadPlan {
    LoadPlan { sets: 1, gaps: vec![vec![0; plan.operands.len()]], spacers: Vec::new(), ..plan }
}

fn loads(worker: &mut Worker, key: &KernelKey) -> Result<(), String> {
    let (parts, plan) = MEMORY.operator(key, 0).map_err(|e| format!("{e:?}"))?;
    let emitted = operator(&parts).map_err(|e| e.to_string())?;
    let loaded = worker.ask(&Request::load(&emitted.text, &one_set(plan), &emitted.results));
    loaded.map(|Done {}| ()).map_err(|e| e.to_string())
}

fn refused(device: &str, keys: &[&KernelKey]) -> Vec<String> {
    let mut worker = Worker::start(std::path::Path::new("python3"), device).unwrap();
    let mut refused = Vec::new();
    for key in keys {
        if let Err(reason) = loads(&mut worker, key) {
            refused.push(format!("{key}: {reason}"));
        }
    }
    refused
}

/// On the meta device, which knows types and layouts. It takes no numbers of the host beside its own tensors for some operators; those
/// run on the CPU.
#[test]
fn libtorch_has_a_kernel_for_the_program_of_every_key() {
    let profile = Profile::shipped().unwrap();
    let keys: Vec<&KernelKey> = profile.entries.keys().collect();
    let is_host = |key: &&KernelKey| key.operands.iter().any(|o| o.ty.rank() == 0);
    let (with_numbers, without): (Vec<_>, Vec<_>) = keys.iter().copied().partition(is_host);
    let mut wrong = refused("meta", &without);
    let small = |key: &&KernelKey| {
        WorkWithLayout::of_key(key).is_some_and(|work| work.flops < 1e8 && work.bytes < f64::from(1 << 21))
    };
    let small: Vec<&KernelKey> = without.into_iter().filter(small).collect();
    assert!(with_numbers.len() > 20 && small.len() > 100, "{} {}", with_numbers.len(), small.len());
    wrong.extend(refused("cpu", &with_numbers));
    wrong.extend(refused("cpu", &small));
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), keys.len());
}

#[test]
fn libtorch_runs_whole_graphs_as_they_are_measured() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/exports");
    let mut worker = Worker::start(std::path::Path::new("python3"), "meta").unwrap();
    let (mut run, mut wrong) = (0, Vec::new());
    for file in folder.read_dir().unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|e| e != "pt2") {
            continue;
        }
        let graph = crate::frontend::load(&path).unwrap();
        let nodes: Vec<NodeId> = graph.nodes().map(|(id, _)| id).collect();
        let emitted = match part(&graph, &nodes) {
            Ok(emitted) => emitted,
            Err(EmittedError::Opaque(_)) => continue,
            Err(error) => panic!("{}: {error}", path.display()),
        };
        let plan = MEMORY.part(&graph, &nodes, &emitted.inputs, emitted.operators.iter().copied()).unwrap();
        let loaded = worker.ask(&Request::load(&emitted.text, &one_set(plan), &emitted.results));
        run += 1;
        wrong.extend(loaded.map(|Done {}| ()).err().map(|e| format!("{}: {e}", path.display())));
    }
    assert!(run >= 5 && wrong.is_empty(), "{run} {wrong:#?}");
}
