//! What PyTorch says of the programs that are measured. The `python3` that is found first has to have one.

use std::collections::HashMap;
use std::path::Path;

use super::*;
use crate::energy::{KernelKey, Profile, WorkWithLayout};
use crate::measure::load_plan::{LoadPlan, Memory};
use crate::measure::worker::{Done, Request, Worker};

/// Keys with one operator, and attributes and operands of one kind, that are tried.
const OF_A_KIND: usize = 3;

/// So much that no plan lacks any: nothing is allocated on the meta device.
const MEMORY: Memory = Memory { free: 1 << 50 };

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
    let mut worker = Worker::start(Path::new("python3"), device).expect("python3 with PyTorch");
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
#[ignore = "needs a python3 with PyTorch: `.ci/run` runs it"]
fn libtorch_has_a_kernel_for_the_program_of_every_kind_of_key() {
    let profile = Profile::shipped().unwrap();
    // Programs of one kind differ in sizes only: a few of them stand for all.
    let mut of_kind: HashMap<_, usize> = HashMap::new();
    let mut keys: Vec<&KernelKey> = profile.entries.keys().collect();
    keys.sort_by_key(std::string::ToString::to_string);
    keys.retain(|key| {
        let operands: Vec<_> = key.operands.iter().map(|o| (o.ty.dtype, o.ty.rank())).collect();
        let attrs: Vec<&String> = key.attrs.iter().map(|(name, _)| name).collect();
        let seen = of_kind.entry((&key.op, attrs, operands)).or_default();
        *seen += 1;
        *seen <= OF_A_KIND
    });
    let is_host = |key: &&KernelKey| key.operands.iter().any(|o| o.ty.rank() == 0);
    let (with_numbers, without): (Vec<_>, Vec<_>) = keys.iter().copied().partition(is_host);
    let mut wrong = refused("meta", &without);
    let small = |key: &&KernelKey| {
        WorkWithLayout::of_key(key).is_some_and(|work| work.flops < 1e8 && work.bytes < f64::from(1 << 21))
    };
    let small: Vec<&KernelKey> = without.into_iter().filter(small).collect();
    assert!(with_numbers.len() > 20 && small.len() > 100, "{} {}", with_numbers.len(), small.len());
    wrong.extend(refused("cpu", &with_numbers));
    wrong.extend(refused("cpu", &small.into_iter().step_by(4).collect::<Vec<_>>()));
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), keys.len());
}

#[test]
#[ignore = "needs a python3 with PyTorch: `.ci/run` runs it"]
fn libtorch_runs_whole_graphs_as_they_are_measured() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/exports");
    let mut worker = Worker::start(Path::new("python3"), "meta").unwrap();
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
