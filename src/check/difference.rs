//! What sets the energies of both sides apart: the parts of the difference, and tensors that only one side makes.

use rustc_hash::FxHashSet;

use super::priced::Priced;
use crate::energy::{Bill, Breakdown, CostModel, Waiting};
use crate::ir::{NodeId, NodeKind, Value};
use crate::report::{Difference, MadeTensor};

/// The difference of two bills; none where one of them is not known, and where both are the same.
pub(super) fn of_bills([a, b]: [&Bill; 2], costs: &CostModel) -> Option<Difference> {
    let [in_a, in_b] = [a, b].map(|bill| Breakdown::of(bill, costs));
    let difference = Difference::new(in_a?.against(&in_b?));
    difference.parts.iter().any(|part| part.a_mj != part.b_mj).then_some(difference)
}

/// The difference of both sides as they are run.
pub(super) fn of_sides([a, b]: &[Priced; 2], costs: &CostModel) -> Option<Difference> {
    let difference = of_bills([&a.bill, &b.bill], costs);
    let Some((in_a, in_b)) = a.waiting.as_ref().zip(b.waiting.as_ref()) else { return difference };
    let value = |of: fn(&Waiting) -> f64| [of(in_a), of(in_b)];
    let (mj, us) = (value(|w| w.energy_mj.value), value(|w| w.time_us.value));
    // Where kernels are alike, only waiting may be apart.
    let difference = difference.or_else(|| (mj[0] != mj[1]).then(|| Difference::new(Vec::new())));
    difference.map(|difference| difference.with_waiting(mj, us))
}

/// The difference of two regions.
pub(super) fn of_regions(
    bills: [&Bill; 2],
    [a, b]: &[Priced; 2],
    [nodes_a, nodes_b]: [&[NodeId]; 2],
    costs: &CostModel,
) -> Option<Difference> {
    let mut difference = of_bills(bills, costs)?;
    let (mut in_a, mut in_b) = (made(a, nodes_a), made(b, nodes_b));
    // What the same kind of operator makes on both sides sets nothing apart.
    in_a.retain(|(kind, tensor)| {
        let same = in_b.iter().position(|(other, made)| other == kind && made.ty == tensor.ty);
        same.map(|at| in_b.remove(at)).is_none()
    });
    let sorted = |made: Vec<(&str, MadeTensor)>| {
        let mut tensors: Vec<MadeTensor> = made.into_iter().map(|(_, tensor)| tensor).collect();
        tensors.sort_by(|x, y| y.traffic().total_cmp(&x.traffic()));
        tensors
    };
    (difference.only_a, difference.only_b) = (sorted(in_a), sorted(in_b));
    Some(difference)
}

/// Tensors that a kernel of a region writes and only kernels of the same region read, with the kinds of operators.
fn made<'g>(side: &Priced<'g>, nodes: &[NodeId]) -> Vec<(&'g str, MadeTensor)> {
    let graph = side.graph;
    let inside: FxHashSet<NodeId> = nodes.iter().copied().collect();
    let mut all = Vec::new();
    for &n in nodes.iter().filter(|&&n| side.runs(n)) {
        let node = graph.node(n);
        let NodeKind::Op { op, .. } = &node.kind else { continue };
        for (slot, ty) in (0..).zip(&node.types) {
            if let Some(reads) = reads_inside(side, Value::new(n, slot), &inside).filter(|&reads| reads > 0) {
                let tensor =
                    MadeTensor { op: node.name.to_string(), ty: ty.to_string(), bytes: ty.bytes() as f64, reads };
                all.push((op.name(), tensor));
            }
        }
    }
    all
}

/// How many kernels read a value, itself or through views; none where anything outside does.
fn reads_inside(side: &Priced, value: Value, inside: &FxHashSet<NodeId>) -> Option<usize> {
    let mut open = vec![value];
    // A tensor that was written to in many parts is read along many ways.
    let (mut seen, mut readers) = (FxHashSet::default(), FxHashSet::default());
    while let Some(value) = open.pop() {
        if side.graph.outputs().iter().any(|output| output.value == value) {
            return None;
        }
        for reader in side.graph.users(value.node).filter(|&r| side.graph.operands(r).contains(&value)) {
            if !inside.contains(&reader) {
                return None;
            }
            if side.runs(reader) {
                readers.insert(reader);
            } else if seen.insert(reader) {
                open.extend((0..side.graph.node(reader).types.len()).map(|slot| Value::new(reader, slot as u32)));
            }
        }
    }
    Some(readers.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    /// As masks of windows are: every write reads what the one before left, twice.
    #[test]
    fn readers_of_a_tensor_that_was_written_in_many_parts_are_found_at_once() {
        let mut lines = String::from("m1 = exp(x)\nr = neg(y)\n");
        for n in 1..60 {
            let last = n + 1;
            lines += &format!(
                "a{n} = slice(m{n}; dim=0, start=0, end={n}) @ implicit
                 b{n} = slice(m{n}; dim=0, start={last}, end=64) @ implicit
                 m{last} = concat(a{n}, r, b{n}; dim=0) @ implicit\n"
            );
        }
        let source = format!("graph g(x: f32[64, 8], y: f32[1, 8]) {{ {lines} z = sqrt(m60) return z }}");
        let graph = text::parse("test.mir", &source).unwrap_or_else(|e| panic!("{e:?}"));
        let model = CostModel::shipped().unwrap();
        let side = Priced::new(&graph, &model);
        let nodes: Vec<NodeId> = graph.nodes().map(|(id, _)| id).collect();
        let made: Vec<(String, usize)> =
            super::made(&side, &nodes).into_iter().map(|(_, tensor)| (tensor.op, tensor.reads)).collect();
        assert_eq!(made, [("m1".to_owned(), 1), ("r".to_owned(), 1)]);
    }
}
