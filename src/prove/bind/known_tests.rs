use super::*;
use crate::ir::text::parse;
use crate::ir::{Content, Number};

/// Positions that a mask in a file has; it is larger than other constants may be.
const POSITIONS: usize = 520;

/// A file whose input `at` holds `elements`.
struct File {
    at: usize,
    elements: Vec<Number>,
}

impl Contents for File {
    fn holds(&mut self, input: usize) -> bool {
        input == self.at
    }

    fn checksum(&mut self, _: usize) -> Option<u32> {
        None
    }

    fn content(&mut self, _: usize) -> Option<Content> {
        None
    }

    fn elements(&mut self, input: usize) -> Option<Vec<Number>> {
        (input == self.at).then(|| self.elements.clone())
    }
}

/// A causal mask: `kept` up to the diagonal, `hidden` above.
fn causal(kept: f64, hidden: f64) -> File {
    let number = |i: usize| Number::float(if i % POSITIONS <= i / POSITIONS { kept } else { hidden });
    File { at: 1, elements: (0..POSITIONS * POSITIONS).map(number).collect() }
}

fn masked(name: &str) -> Graph {
    let text = format!(
        "graph {name}(x: f32[{POSITIONS}, {POSITIONS}], m: buffer f32[{POSITIONS}, {POSITIONS}]) {{ y = add(x, m) return y }}"
    );
    parse(name, &text).unwrap()
}

fn inputs_read(graph: &Graph) -> Vec<&str> {
    let read = graph.inputs().iter().filter(|&&id| graph.users(id).next().is_some());
    read.map(|&id| &*graph.node(id).name).collect()
}

/// Such a mask was free to choose, so that attention with it and with the causal flag were neither equal nor different.
#[test]
fn a_causal_mask_of_any_size_that_both_files_hold_is_a_constant() {
    let bound = |of_a: File, mut of_b: File| {
        let mut of_a = of_a;
        bind_with_contents(masked("a"), masked("b"), None, [&mut of_a, &mut of_b]).binding.inputs.len()
    };
    let hidden = f64::NEG_INFINITY;
    assert_eq!(bound(causal(0.0, hidden), causal(0.0, hidden)), 1);
    assert_eq!(bound(causal(0.0, hidden), causal(0.0, -1e4)), 2);
    let mut trained = causal(0.0, hidden);
    trained.elements[3] = Number::float(0.5);
    assert_eq!(bound(File { at: 1, elements: trained.elements.clone() }, trained), 2);
}

#[test]
fn a_causal_mask_that_only_one_file_has_is_a_constant() {
    let b = parse("b", &format!("graph b(x: f32[{POSITIONS}, {POSITIONS}]) {{ y = add(x, 1.0) return y }}")).unwrap();
    let mut none = NoContents;
    let bound = bind_with_contents(masked("a"), b, None, [&mut causal(1.0, 0.0), &mut none]);
    assert_eq!((bound.binding.inputs.len(), bound.binding.keeps_constants), (1, [true, false]));
}

/// A program that reads a buffer and one that computes the same numbers were `different`, for other numbers in the buffer.
#[test]
fn a_buffer_that_only_one_program_reads_is_a_constant() {
    let program = |name: &str, result: &str| {
        parse(name, &format!("graph {name}(x: f32[4], f: buffer f32[4]) {{ y = {result} return y }}")).unwrap()
    };
    let bound = |of_b: &str| {
        let file = || File { at: 1, elements: [1.0, 0.5, 0.25, 0.125].map(Number::float).to_vec() };
        let (a, b) = (program("a", "mul(x, cos(f))"), program("b", of_b));
        bind_with_contents(a, b, None, [&mut file(), &mut file()]).binding.inputs.len()
    };
    assert_eq!((bound("mul(x, 2.0)"), bound("mul(x, sin(f))")), (1, 2));
}

#[test]
fn a_mask_that_one_workload_holds_is_known_and_stays_an_input() {
    let graph = masked("a");
    let mut known = KnownMasks::read(&graph, &mut causal(1.0, 0.0));
    let with = known.put_into(&graph);
    assert_eq!((with.inputs().len(), inputs_read(&with)), (2, vec!["x"]));
    let said = "what the file holds for the buffer `m` is part of the program";
    assert_eq!(known.assumption().as_deref(), Some(said));
    // A form that computes it had better read it.
    assert!(known.forget_computed(&with));
    assert!(known.assumption().is_none() && !known.forget_computed(&with));
    assert_eq!(inputs_read(&known.put_into(&graph)), ["x", "m"]);
}

#[test]
fn what_is_no_mask_or_is_written_is_not_known() {
    let is_known = |graph: &Graph, mut file: File| KnownMasks::read(graph, &mut file).assumption().is_some();
    assert!(is_known(&masked("a"), causal(1.0, 0.0)));
    let mut trained = causal(1.0, 0.0);
    trained.elements[3] = Number::float(0.5);
    assert!(!is_known(&masked("a"), trained));
    let written = masked("a");
    let text = crate::ir::text::print(&written).replace("return y", "return y, y writes m");
    assert!(!is_known(&parse("a", &text).unwrap(), causal(1.0, 0.0)));
    let weight = crate::ir::text::print(&written).replace("buffer", "param");
    assert!(!is_known(&parse("a", &weight).unwrap(), causal(1.0, 0.0)));
}
