use proptest::prelude::*;

use super::*;
use crate::ir::text::parse_equalities;
use crate::ir::{Content, DType, Origin, Role, Shape, TensorType};

/// A matrix of bytes as a parameter.
#[derive(Clone, Debug)]
struct Matrix {
    columns: usize,
    data: Vec<u8>,
}

impl Matrix {
    fn new(columns: usize, data: &[u8]) -> Matrix {
        Matrix { columns, data: data.to_vec() }
    }

    fn rows(&self) -> Vec<&[u8]> {
        self.data.chunks(self.columns).collect()
    }

    fn of_rows(rows: &[&[u8]]) -> Matrix {
        Matrix { columns: rows[0].len(), data: rows.concat() }
    }

    fn transposed(&self) -> Matrix {
        let rows = self.rows();
        let data = (0..self.columns).flat_map(|c| rows.iter().map(move |row| row[c])).collect();
        Matrix { columns: rows.len(), data }
    }

    fn below(&self, other: &Matrix) -> Matrix {
        Matrix { columns: self.columns, data: [self.data.as_slice(), &other.data].concat() }
    }

    fn beside(&self, other: &Matrix) -> Matrix {
        self.transposed().below(&other.transposed()).transposed()
    }

    fn ty(&self) -> TensorType {
        TensorType::new(DType::U8, Shape::from_slice(&[self.data.len() / self.columns, self.columns])).unwrap()
    }
}

/// A file that holds matrices, and how often they were read.
struct Held {
    matrices: Vec<Matrix>,
    reads: usize,
}

impl Contents for Held {
    fn holds(&mut self, _: usize) -> bool {
        true
    }

    fn checksum(&mut self, input: usize) -> Option<u32> {
        Some(self.matrices[input].data.iter().fold(0, |sum, &byte| sum * 31 % 65521 + u32::from(byte)))
    }

    fn content(&mut self, input: usize) -> Option<Content> {
        self.reads += 1;
        let matrix = &self.matrices[input];
        Content::read(&matrix.ty(), matrix.data.as_slice()).unwrap()
    }
}

type Named<'n> = [(&'n str, Matrix)];

fn side(inputs: &Named) -> (Graph, Held) {
    side_that_reads(inputs, |name| !name.starts_with("unread"))
}

fn side_that_reads(inputs: &Named, is_read: impl Fn(&str) -> bool) -> (Graph, Held) {
    let mut graph = Graph::new("g");
    for (name, matrix) in inputs {
        let input = graph.add_input(name, Role::Parameter, matrix.ty(), Origin::default());
        if is_read(name) {
            graph.add_output(name, input.into());
        }
    }
    (graph, Held { matrices: inputs.iter().map(|(_, m)| m.clone()).collect(), reads: 0 })
}

/// The binding, and how many matrices were read for it.
fn bound(a: &Named, b: &Named) -> (Binding, usize) {
    let ((a, mut of_a), (b, mut of_b)) = (side(a), side(b));
    let bound = bind_with_contents(a, b, None, [&mut of_a, &mut of_b]);
    (bound.binding, of_a.reads + of_b.reads)
}

fn sentences(a: &Named, b: &Named) -> Vec<String> {
    bound(a, b).0.assumptions
}

const W: [u8; 6] = [1, 2, 3, 4, 5, 6];
const V: [u8; 6] = [9, 8, 7, 6, 5, 3];

#[test]
fn values_are_compared_only_where_names_leave_both_sides_unbound() {
    let [w, v] = [W, V].map(|data| Matrix::new(3, &data));
    let one_name = [("w", w.clone()), ("v", v.clone())];
    assert_eq!(bound(&one_name, &one_name).1, 0);
    assert_eq!(bound(&one_name, &[("w", w.clone())]).1, 0);
    assert_eq!(bound(&one_name, &[("w", w), ("u", v)]).1, 2);
}

#[test]
fn values_win_over_positions() {
    let [w, v] = [W, V].map(|data| Matrix::new(3, &data));
    let (binding, _) = bound(&[("w", w.clone()), ("v", v.clone())], &[("p", v), ("q", w)]);
    assert_eq!((binding.a, binding.b, binding.guessed), (vec![0, 1], vec![1, 0], vec![]));
    assert_eq!(
        binding.assumptions,
        ["`v` of A is `p` of B (same values in both files)", "`w` of A is `q` of B (same values in both files)"]
    );
}

#[test]
fn several_inputs_of_the_same_values_are_guesses() {
    let w = Matrix::new(3, &W);
    let (binding, _) = bound(&[("w", w.clone()), ("v", w.clone())], &[("p", w.clone()), ("q", w)]);
    assert_eq!((binding.b, binding.guessed), (vec![0, 1], vec![0, 1]));
    assert!(binding.assumptions[0].ends_with("(one of several with the same values, by position)"));
}

#[test]
fn weights_that_one_file_keeps_tied_are_one_tensor() {
    // Such a pair came out as different: a witness gave the two weights other values than the files do.
    let bound = |w: &Matrix, reads_both: [bool; 2]| {
        let inputs = [("words", w.clone()), ("head", w.clone())];
        let side = |n: usize| side_that_reads(&inputs, |name| reads_both[n] || name == "head");
        let ((a, mut of_a), (b, mut of_b)) = (side(0), side(1));
        bind_with_contents(a, b, None, [&mut of_a, &mut of_b]).binding
    };
    let w = Matrix::new(3, &W);
    for reads_both in [[false, true], [true, false]] {
        let binding = bound(&w, reads_both);
        assert_eq!((binding.a, binding.b), (vec![0, 0], vec![0, 0]));
        assert!(
            binding
                .assumptions
                .iter()
                .any(|text| text.contains("`words` and `head`, which are taken to be one tensor"))
        );
    }
    // Where both sides read both, a proof for all weights is worth more; and what was never trained is equal by chance.
    assert_eq!(bound(&w, [true, true]).a, [0, 1]);
    assert_eq!(bound(&Matrix::new(3, &[1; 6]), [false, true]).a, [0, 1]);
}

/// As an export lists the table of words and the last layer that share a weight.
#[test]
fn an_input_that_nothing_reads_is_no_rival() {
    let w = Matrix::new(3, &W);
    let tied = [("unread_words", w.clone()), ("head", w.clone())];
    let (binding, _) = bound(&tied, &[("words", w.clone())]);
    assert_eq!((binding.b, binding.guessed), (vec![1], vec![]));
    let (binding, _) = bound(&tied, &[("words", w.clone()), ("unread", w.clone())]);
    assert_eq!((binding.b[0], binding.guessed.contains(&1)), (1, false));
    let (binding, reads) = bound(&tied, &tied);
    assert_eq!((binding.b, reads), (vec![0, 1], 0));
}

#[test]
fn a_name_that_one_side_reads_and_the_other_does_not_binds_last() {
    let w = Matrix::new(3, &W);
    let mut a = Graph::new("g");
    for name in ["words", "head"] {
        a.add_input(name, Role::Parameter, w.ty(), Origin::default());
    }
    a.add_output("head", a.inputs()[1].into());
    let mut of_a = Held { matrices: vec![w.clone(), w.clone()], reads: 0 };
    let (b, mut of_b) = side(&[("words", w)]);
    let bound = bind_with_contents(a.clone(), b.clone(), None, [&mut of_a, &mut of_b]);
    assert_eq!((bound.binding.b, bound.binding.guessed), (vec![1], vec![]));
    // Without values the name is the best there is.
    assert_eq!(bind_graphs(a, b, None).binding.b, [0]);
}

#[test]
fn ones_and_symmetric_matrices_are_guesses() {
    let ones = Matrix::new(3, &[1; 9]);
    let symmetric = Matrix::new(3, &[1, 2, 3, 2, 4, 5, 3, 5, 6]);
    for matrix in [ones, symmetric] {
        let (binding, _) = bound(&[("w", matrix.clone())], &[("p", matrix)]);
        assert_eq!(binding.guessed, [0]);
    }
}

#[test]
fn a_part_of_zeros_may_be_padding() {
    let (w, zeros) = (Matrix::new(3, &W), Matrix::new(3, &[0; 3]));
    let padded = w.below(&zeros);
    let all = sentences(&[("w", w), ("z", zeros)], &[("p", padded)]);
    assert!(all.iter().all(|s| s.contains("no counterpart")), "{all:?}");
}

#[test]
fn weights_of_another_model_are_not_paired_by_position() {
    let [w, v] = [W, V].map(|data| Matrix::new(3, &data));
    let other = Matrix::new(3, &[0, 1, 0, 1, 0, 7]);
    let (a, b) = ([("w", w.clone()), ("v", v)], [("p", other.clone()), ("q", w)]);
    assert_eq!(bound(&a, &b).0.b, [2, 0]);
    // Two models that share no weight are two models all the same.
    let (binding, _) = bound(&a[1..], &b[..1]);
    assert_eq!((binding.b, binding.guessed), (vec![1], vec![]));
}

#[test]
fn values_win_over_names_that_were_exchanged() {
    let [w, v] = [W, V].map(|data| Matrix::new(3, &data));
    let (binding, reads) = bound(&[("q", w.clone()), ("k", v.clone())], &[("q", v), ("k", w)]);
    assert_eq!((binding.b, binding.guessed, binding.unlike, reads), (vec![1, 0], vec![], vec![], 4));
}

/// A binding under the lines of a binding file.
fn stated(a: &Named, b: &Named, lines: &str) -> Binding {
    let ((a, mut of_a), (b, mut of_b)) = (side(a), side(b));
    let stated = parse_equalities("names", lines, &a, &b).unwrap();
    bind_with_contents(a, b, Some(&stated), [&mut of_a, &mut of_b]).binding
}

#[test]
fn a_statement_that_the_values_contradict_is_noted() {
    let [w, v] = [W, V].map(|data| Matrix::new(3, &data));
    let parts = [("q", w.clone()), ("k", v.clone())];
    let whole = [("qk", w.below(&v))];
    let beside = [("qk", w.transposed().beside(&v.transposed()))];
    for (b, right, wrong) in [
        (&whole, "qk = concat(q, k; dim=0)", "qk = concat(k, q; dim=0)"),
        (&whole, "q = slice(qk; dim=0, start=0, end=2)", "q = slice(qk; dim=0, start=1, end=3)"),
        (
            &beside,
            "qk = concat(permute(q; dims=[1, 0]), permute(k; dims=[1, 0]); dim=1)",
            "qk = concat(permute(k; dims=[1, 0]), permute(q; dims=[1, 0]); dim=1)",
        ),
        (
            &beside,
            "q = permute(slice(qk; dim=1, start=0, end=2); dims=[1, 0])",
            "q = permute(slice(qk; dim=1, start=2, end=4); dims=[1, 0])",
        ),
    ] {
        let binding = stated(&parts, b, right);
        assert!(binding.unlike.is_empty(), "{right}: {:?}", binding.assumptions);
        let binding = stated(&parts, b, wrong);
        assert!(!binding.unlike.is_empty(), "{wrong}: {:?}", binding.assumptions);
        assert!(binding.assumptions.iter().any(|s| s.contains("different values for 1 inputs")));
    }
    assert!(!stated(&parts, &[("p", w), ("r", v)], "p = k").unlike.is_empty());
}

#[test]
fn a_statement_with_arithmetic_is_not_compared() {
    let w = Matrix::new(3, &W);
    let binding = stated(&[("w", w.clone())], &[("p", w)], "p = mul(w, 2)");
    assert!(binding.unlike.is_empty());
    assert!(binding.assumptions.iter().any(|s| s.contains("were not compared")), "{:?}", binding.assumptions);
}

/// As in a GPT-2 whose `Conv1D` layers became linear layers.
#[test]
fn a_square_matrix_is_not_bound_by_its_name_to_its_transpose() {
    let (words, w) = (Matrix::new(3, &W), Matrix::new(3, &[1, 2, 3, 4, 5, 6, 7, 8, 9]));
    let a = [("words", words.clone()), ("w", w.clone())];
    let (binding, reads) = bound(&a, &[("words", words.clone()), ("w", w.transposed())]);
    assert_eq!(binding.assumptions[1], "`w` of B is `permute(w; dims=[1, 0])` of A (same values in both files)");
    assert!(binding.assumptions[2].contains("by the checksums"));
    assert_eq!((binding.assumptions.len(), binding.guessed.len(), reads), (3, 0, 2));
    // Other values still go by the name, and nothing is read for two models that share no matrix.
    let other = Matrix::new(3, &[7, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert!(sentences(&a, &[("words", words.clone()), ("w", other)])[2].contains("different values for 1 inputs"));
    let words = Matrix::new(3, &V);
    assert_eq!(bound(&a, &[("words", words), ("w", w.transposed())]).1, 0);
    assert_eq!(bound(&a, &a).1, 0);
}

#[test]
fn other_values_under_one_name_are_noted() {
    let [w, v] = [W, V].map(|data| Matrix::new(3, &data));
    let all = sentences(&[("w", w), ("v", v.clone())], &[("w", v.clone()), ("v", v)]);
    assert_eq!(all.len(), 3);
    assert!(all[1].contains("1 weight holds the same values in both files by the checksums"), "{all:?}");
    assert!(all[2].contains("different values for 1 inputs taken to be the same, first for `w`"), "{all:?}");
}

/// What a file holds of another type than its graph says is no value of the input.
#[test]
fn values_of_another_type_do_not_count() {
    let w = Matrix::new(3, &W);
    let ((a, mut of_a), (b, mut of_b)) = (side(&[("w", w.clone())]), side(&[("p", w)]));
    of_b.matrices[0].columns = 2;
    of_a.matrices[0].columns = 2;
    let bound = bind_with_contents(a, b, None, [&mut of_a, &mut of_b]);
    assert_eq!(bound.binding.guessed, [0]);
}

fn matrix(rows: usize, columns: usize) -> impl Strategy<Value = Matrix> {
    proptest::collection::vec(any::<u8>(), rows * columns).prop_map(move |data| Matrix { columns, data })
}

proptest! {
    #[test]
    fn transposed_and_joined_weights_are_found(
        (q, k, v) in (2..9_usize).prop_flat_map(|n| (matrix(16, n + 8), matrix(8, n + 8), matrix(16, n + 8))),
        form in 0..4_usize,
    ) {
        let (whole, text) = match form {
            0 => (q.below(&k).below(&v), "`concat(q, k, v)`"),
            1 => (v.below(&k), "`concat(v, k)`"),
            2 => (q.transposed().beside(&v.transposed()), "dim=1)`"),
            _ => (k.transposed(), "; dims=[1, 0])`"),
        };
        let parts = [("q", q), ("k", k), ("v", v)];
        for all in [sentences(&parts, &[("w", whole.clone())]), sentences(&[("w", whole)], &parts)] {
            let found = all.iter().any(|s| s.contains(text) && s.ends_with("(same values in both files)"));
            prop_assert!(found, "{:?}", all);
        }
    }

    #[test]
    fn rows_in_another_order_are_not_found(w in matrix(12, 16), v in matrix(12, 16), at in 0..11_usize) {
        let mut rows = w.rows();
        rows.swap(at, at + 1);
        prop_assume!(rows[at] != rows[at + 1]);
        let mixed = Matrix::of_rows(&rows);
        let all = sentences(&[("w", w.clone()), ("v", v.clone())], &[("p", mixed.clone()), ("q", v.clone())]);
        prop_assert!(all.iter().any(|s| s == "`v` of A is `q` of B (same values in both files)"), "{:?}", all);
        prop_assert!(all.iter().any(|s| s == "`p` of B has no counterpart on the other side"), "{:?}", all);
        let all = sentences(&[("w", w), ("v", v.clone())], &[("p", mixed.below(&v))]);
        prop_assert!(all.iter().all(|s| s.contains("no counterpart")), "{:?}", all);
    }
}
