//! Choosing the cheapest form in an e-graph, and pricing it with its real layouts.

use egg::Id;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::energy::{Bill, CostModel, WorkWithLayout, call_item};
use crate::ir::{Layout, MathConfig, TensorType, output_layout};
use crate::ops::{Call, Op};
use crate::prove::{Head, Node, TermArena, TermId, Window};

/// A value that a part of a graph reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leaf {
    pub layout: Layout,
    /// Whether a kernel of the graph has written it, so that it may still be in the cache.
    pub is_computed: bool,
}

/// Takes a call, how its operands lie in memory, and which of them kernels of the graph have written.
pub(super) type Each<'e> = dyn FnMut(&Call, &[Layout], &[bool]) + 'e;

/// Added to every operator, in millijoules, so that of two forms that cost the same the smaller one wins.
const TIE: f64 = 1e-9;

/// The form of class `root` with the least energy, where every class costs as much as its own cheapest form. Operands are
/// taken as dense here; [`bill`] then prices the chosen form with the layouts that it has.
pub(super) fn cheapest(window: &mut Window, root: Id, config: &MathConfig, model: &CostModel) -> Option<TermId> {
    let mut best: FxHashMap<Id, (f64, Node)> = FxHashMap::default();
    let mut own: FxHashMap<TermId, f64> = FxHashMap::default();
    loop {
        let mut changed = false;
        for class in window.egraph.classes() {
            for node in &class.nodes {
                let price = own.entry(node.term).or_insert_with(|| price(&window.arena, node, config, model));
                let below: Option<f64> =
                    node.children.iter().map(|c| best.get(&window.egraph.find(*c)).map(|(p, _)| *p)).sum();
                let Some(total) = below.map(|b| b + *price).filter(|t| t.is_finite()) else { continue };
                let better = best.get(&class.id).is_none_or(|(known, _)| total < *known - 1e-15);
                if better {
                    best.insert(class.id, (total, node.clone()));
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    let mut built = FxHashMap::default();
    build(window, window.egraph.find(root), &best, &mut built)
}

/// What a node alone costs in millijoules.
fn price(arena: &TermArena, node: &Node, config: &MathConfig, model: &CostModel) -> f64 {
    let Some((op, attrs, _)) = arena.op(node.term) else { return 0.0 };
    if node.head.is_none() || node.constant {
        return 0.0;
    }
    let Op::Table(def) = op else { return f64::INFINITY };
    let types: SmallVec<[&TensorType; 4]> = arena.term(node.term).operands.iter().map(|&o| arena.ty(o)).collect();
    let lie: Vec<Layout> = types.iter().map(|t| Layout::contiguous(&t.shape)).collect();
    let cost =
        call_item(&Call { op: def, attrs, operands: &types }, &lie, &vec![true; types.len()], config, model).cost();
    if cost.energy_mj.is_known() { cost.energy_mj.value + TIE } else { f64::INFINITY }
}

fn build(
    window: &mut Window,
    class: Id,
    best: &FxHashMap<Id, (f64, Node)>,
    built: &mut FxHashMap<Id, TermId>,
) -> Option<TermId> {
    if let Some(&done) = built.get(&class) {
        return Some(done);
    }
    let (_, node) = best.get(&class)?;
    let children: SmallVec<[Id; 4]> = node.children.iter().map(|&c| window.egraph.find(c)).collect();
    let operands: SmallVec<[TermId; 4]> =
        children.into_iter().map(|c| build(window, c, best, built)).collect::<Option<_>>()?;
    let term = match window.arena.op(node.term) {
        Some((op, attrs, slot)) if node.head.is_some() => {
            let (op, attrs) = (op.clone(), attrs.clone());
            window.arena.call(&op, &attrs, slot, &operands, None).ok()?
        }
        _ => node.term,
    };
    built.insert(class, term);
    Some(term)
}

/// What a form costs whose input `n` lies in memory as `leaves[n]` says. A value used twice is paid once.
pub(super) fn bill(arena: &TermArena, root: TermId, leaves: &[Leaf], config: &MathConfig, model: &CostModel) -> Bill {
    let mut bill = Bill::default();
    for_each_call(arena, root, leaves, &mut |call, lie, computed| {
        bill.add(&call_item(call, lie, computed, config, model));
    });
    bill
}

/// The calls of a form whose input `n` is what `leaves[n]` says, each once, with what is known of their operands.
/// Constants are computed once for all executions and left out.
pub(super) fn for_each_call(arena: &TermArena, root: TermId, leaves: &[Leaf], each: &mut Each) {
    calls_below(arena, root, leaves, &mut FxHashMap::default(), each);
}

fn calls_below(arena: &TermArena, term: TermId, leaves: &[Leaf], lie: &mut FxHashMap<TermId, Leaf>, each: &mut Each) {
    if lie.contains_key(&term) {
        return;
    }
    let ty = arena.ty(term);
    let dense = || Leaf { layout: Layout::contiguous(&ty.shape), is_computed: false };
    let value = match arena.head(term) {
        Head::Input(n) => leaves.get(*n as usize).cloned().unwrap_or_else(dense),
        Head::Apply { op: Op::Table(def), attrs, slot } => {
            let operands = &arena.term(term).operands;
            for &o in operands {
                calls_below(arena, o, leaves, lie, each);
            }
            let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| arena.ty(o)).collect();
            let call = Call { op: def, attrs, operands: &types };
            let (inputs, computed): (Vec<Layout>, Vec<bool>) =
                operands.iter().map(|o| (lie[o].layout.clone(), lie[o].is_computed)).unzip();
            if arena.constant(term).is_none() {
                each(&call, &inputs, &computed);
            }
            let inputs: SmallVec<[&Layout; 4]> = inputs.iter().collect();
            // A view of what came from memory comes from memory.
            let is_view = WorkWithLayout::of_call(&call, &inputs).launches == 0;
            let is_computed = arena.constant(term).is_none() && (!is_view || computed.iter().any(|&computed| computed));
            Leaf { layout: output_layout(&call, *slot as usize, ty, &inputs), is_computed }
        }
        _ => dense(),
    };
    lie.insert(term, value);
}
