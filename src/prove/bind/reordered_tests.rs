use super::folded_tests::File;
use super::*;
use crate::ir::text::parse;

/// What is assumed of two programs over `x` and one weight each.
fn sentences(a: (&str, &[f64]), b: (&str, &[f64])) -> Vec<String> {
    let parsed = |(weight, _): (&str, &[f64])| {
        let text = format!(
            "graph g(x: f32[1], {weight}) {{ r = reshape(x; shape=[1]) s = neg({}) return r, s }}",
            &weight[..1]
        );
        parse("pair.mir", &text).unwrap()
    };
    let file = |(_, elements): (&str, &[f64])| File(vec![Vec::new(), elements.to_vec()]);
    let (mut of_a, mut of_b) = (file(a), file(b));
    bind_with_contents(parsed(a), parsed(b), None, [&mut of_a, &mut of_b]).binding.assumptions
}

fn counted(count: usize) -> Vec<f64> {
    (0..count).map(|n| n as f64).collect()
}

#[test]
fn rows_in_another_order_are_runs_of_rows() {
    let gates = [4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0, 8.0, 9.0, 10.0, 11.0];
    let all = sentences(("w: param f32[6, 2]", &counted(12)), ("v: param f32[6, 2]", &gates));
    let said = "`v` of B is `concat(slice(w; dim=0, start=2, end=4), slice(w; dim=0, end=2), slice(w; dim=0, start=4, end=6))` of A \
                (same values in both files)";
    assert!(all.contains(&said.to_owned()), "{all:?}");
    let mut wrong = gates;
    wrong[7] = 3.5;
    let all = sentences(("w: param f32[6, 2]", &counted(12)), ("v: param f32[6, 2]", &wrong));
    assert!(!all.iter().any(|s| s.contains("concat")), "{all:?}");
}

#[test]
fn dims_may_be_exchanged_and_joined() {
    let weights = counted(12);
    let moved: Vec<f64> = [0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11].map(|n| weights[n]).to_vec();
    let all = sentences(("w: param f32[2, 3, 2]", &weights), ("v: param f32[3, 4]", &moved));
    let said = "`v` of B is `reshape(permute(w; dims=[1, 0, 2]); shape=[3, 4])` of A (same values in both files)";
    assert!(all.contains(&said.to_owned()), "{all:?}");
}

/// Rotary embedding turns the halves of a head, or pairs of neighbours.
#[test]
fn halves_of_a_head_may_be_pairs() {
    let rows = [0, 4, 1, 5, 2, 6, 3, 7];
    let pairs: Vec<f64> = rows.iter().flat_map(|row| [3 * row, 3 * row + 1, 3 * row + 2]).map(f64::from).collect();
    let said = "is `reshape(permute(reshape(w; shape=[1, 2, 4, 3]); dims=[0, 2, 1, 3]); shape=[8, 3])` of A";
    for name in ["v", "w"] {
        let b = format!("{name}: param f32[8, 3]");
        let all = sentences(("w: param f32[8, 3]", &counted(24)), (&b, &pairs));
        assert!(all.iter().any(|s| s.contains(said)), "{all:?}");
    }
}

#[test]
fn elements_that_occur_often_tell_nothing() {
    let zeros = vec![0.0; 12];
    let all = sentences(("w: param f32[6, 2]", &zeros), ("v: param f32[3, 4]", &zeros));
    assert!(!all.iter().any(|s| s.contains("same values")), "{all:?}");
}
