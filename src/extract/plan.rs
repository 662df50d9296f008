//! Choosing the cheapest form in an e-graph, and pricing it with its real layouts.

use egg::Id;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::energy::{Cost, CostModel, cost_call};
use crate::ir::{Layout, MathConfig, TensorType, output_layout};
use crate::ops::{Call, Op};
use crate::prove::{Arena, Head, Node, TermId, Window};

/// Added to every operator, in millijoules, so that of two forms that cost the same the smaller one wins.
const TIE: f64 = 1e-9;

/// The form of class `root` with the least energy, where every class costs as much as its own cheapest form. Operands are
/// taken as dense here; [`cost`] then prices the chosen form with the layouts that it has.
pub fn cheapest(window: &mut Window, root: Id, config: &MathConfig, model: &CostModel) -> Option<TermId> {
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
fn price(arena: &Arena, node: &Node, config: &MathConfig, model: &CostModel) -> f64 {
    let Some((op, attrs, _)) = arena.op(node.term) else { return 0.0 };
    if node.head.is_none() || node.constant {
        return 0.0;
    }
    let Op::Table(def) = op else { return f64::INFINITY };
    let types: SmallVec<[&TensorType; 4]> = arena.term(node.term).operands.iter().map(|&o| arena.ty(o)).collect();
    let lie: Vec<Layout> = types.iter().map(|t| Layout::contiguous(&t.shape)).collect();
    let cost = cost_call(&Call { op: def, attrs, operands: &types }, &lie, config, model);
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
pub fn cost(arena: &Arena, root: TermId, leaves: &[Layout], config: &MathConfig, model: &CostModel) -> Cost {
    let mut total = Cost::FREE;
    for_each_call(arena, root, leaves, &mut |call, lie| total += cost_call(call, lie, config, model));
    total
}

/// The calls of a form whose input `n` lies in memory as `leaves[n]` says, each once, with the layouts of their operands.
/// Constants are computed once for all executions and left out.
pub fn for_each_call(arena: &Arena, root: TermId, leaves: &[Layout], each: &mut dyn FnMut(&Call, &[Layout])) {
    calls_below(arena, root, leaves, &mut FxHashMap::default(), each);
}

fn calls_below(
    arena: &Arena,
    term: TermId,
    leaves: &[Layout],
    lie: &mut FxHashMap<TermId, Layout>,
    each: &mut dyn FnMut(&Call, &[Layout]),
) {
    if lie.contains_key(&term) {
        return;
    }
    let ty = arena.ty(term);
    let layout = match arena.head(term) {
        Head::Input(n) => leaves.get(*n as usize).cloned().unwrap_or_else(|| Layout::contiguous(&ty.shape)),
        Head::Apply { op: Op::Table(def), attrs, slot } => {
            let operands = &arena.term(term).operands;
            for &o in operands {
                calls_below(arena, o, leaves, lie, each);
            }
            let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| arena.ty(o)).collect();
            let call = Call { op: def, attrs, operands: &types };
            let inputs: Vec<Layout> = operands.iter().map(|o| lie[o].clone()).collect();
            if arena.constant(term).is_none() {
                each(&call, &inputs);
            }
            let inputs: SmallVec<[&Layout; 4]> = inputs.iter().collect();
            output_layout(&call, *slot as usize, ty, &inputs)
        }
        _ => Layout::contiguous(&ty.shape),
    };
    lie.insert(term, layout);
}
