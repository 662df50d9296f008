//! Choosing the cheapest form in an e-graph, and pricing it with its real layouts.

use egg::Id;
use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::dag::{Choice, Classes, Effort};
use super::joint::{is_together, results};
use super::worth::is_worth_keeping;
use crate::energy::{Bill, CallPrice, CostModel, Weights, WorkWithLayout, call_item};
use crate::ir::{AttrValue, Layout, MathConfig, TensorType, added, output_layout};
use crate::ops::{Arithmetic, Call, Op};
use crate::prove::{Head, Node, TermArena, TermId, Window};

/// A value that a part of a graph reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leaf {
    pub layout: Layout,
    /// Whether a kernel of the graph has written it, so that it may still be in the cache.
    pub is_computed: bool,
    /// Where it is the same at every execution: bytes of parameters that it is made of.
    pub made_of: Option<u64>,
}

/// What a part of a graph reads, by the number of the input that stands for it in a form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leaves {
    pub read: Vec<Leaf>,
    /// Whether what is the same at every execution is computed once.
    pub is_frozen: bool,
}

/// Takes a call, how its operands lie in memory, and which of them kernels of the graph have written.
pub(super) type Each<'e> = dyn FnMut(&Call, &[Layout], &[bool]) + 'e;

/// Of each operand, bytes of parameters that it is made of where it is the same at every execution.
type MadeOf = SmallVec<[Option<u64>; 4]>;

/// Added to every operator, so that of two forms that cost the same the smaller one wins.
const TIE: f64 = 1e-9;

/// A part of a graph is small: more changes its form seldom.
const EFFORT: Effort = Effort { visits: 10_000, branches: 500 };

/// The cheapest form of a class by itself.
struct Best {
    /// What it counts.
    total: f64,
    /// As in [`Leaf`].
    made_of: Option<u64>,
    node: TermId,
}

/// The nodes of a class with what they count, and the place of the one whose form costs least by itself.
#[derive(Default)]
struct Priced {
    nodes: Vec<(Node, f64)>,
    cheapest: Option<usize>,
}

/// What counts of a price.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counts {
    /// The price itself.
    Value,
    /// The upper end of its interval: what is better known is worth more.
    UpperEnd,
    /// The price itself, and twice the price of operators that the part does not run itself: less of the same is surer than something else.
    OtherOperatorsTwice,
}

/// What forms are chosen by.
pub(super) struct By<'a> {
    pub counts: Counts,
    /// What calls count beside their kernels.
    pub calls: CallPrice,
    /// Whether the part that forms are looked for computes exponentials itself.
    pub has_exponentials: bool,
    /// What that part executes.
    pub before: &'a Bill,
    pub weights: Weights,
    pub config: &'a MathConfig,
    pub model: &'a CostModel,
}

/// The form of class `root` that takes least. Operands are taken as dense here; [`bill`] then prices the chosen form with the
/// layouts that it has.
pub(super) fn cheapest(window: &mut Window, root: Id, leaves: &Leaves, by: &By) -> Option<TermId> {
    let root = window.egraph.find(root);
    let priced = priced(window, leaves, by);
    // Only what the root may be made of.
    let mut numbers: IndexMap<Id, usize> = IndexMap::from([(root, 0)]);
    let (mut choices, mut nodes, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    while let Some((&class, _)) = numbers.get_index(choices.len()) {
        let of_class = priced.get(&class).map(|priced| priced.nodes.as_slice()).unwrap_or_default();
        alone.push(priced.get(&class).and_then(|priced| priced.cheapest));
        let choice = |(node, cost): &(Node, f64)| {
            let number = |child: &Id| {
                let next = numbers.len();
                *numbers.entry(window.egraph.find(*child)).or_insert(next)
            };
            Choice { cost: *cost, children: node.children.iter().map(number).collect() }
        };
        choices.push(of_class.iter().map(choice).collect());
        nodes.push(of_class);
    }
    pay_calls_once(window, &nodes, &mut choices, &mut alone);
    let (selection, _) = Classes { choices, roots: vec![0] }.select(alone, EFFORT)?;
    let chosen =
        |(number, place): (usize, &Option<usize>)| Some((number, nodes.get(number)?.get((*place)?)?.0.clone()));
    let chosen: FxHashMap<Id, Node> = (selection.chosen.iter().enumerate())
        .filter_map(chosen)
        .filter_map(|(number, node)| Some((*numbers.get_index(number)?.0, node)))
        .collect();
    build(window, root, &chosen, &mut FxHashMap::default())
}

/// Results of one call are classes of their own, and the call is paid once: it becomes a class that they all use.
fn pay_calls_once(
    window: &Window,
    nodes: &[&[(Node, f64)]],
    choices: &mut Vec<Vec<Choice>>,
    alone: &mut Vec<Option<usize>>,
) {
    /// Operator, attributes and operands.
    type Called<'w> = (&'w str, &'w [AttrValue], SmallVec<[Id; 4]>);
    let mut calls: IndexMap<Called, Vec<(usize, usize)>> = IndexMap::new();
    let mut further = false;
    for (class, of_class) in nodes.iter().enumerate() {
        for (place, (node, _)) in of_class.iter().enumerate() {
            let Some((op, attrs, slot)) = window.arena.op(node.term).filter(|_| node.head.is_some()) else { continue };
            further |= slot > 0;
            let operands = node.children.iter().map(|&child| window.egraph.find(child)).collect();
            calls.entry((op.name(), attrs, operands)).or_default().push((class, place));
        }
    }
    if !further {
        return;
    }
    for results in calls.into_values().filter(|results| results.iter().any(|(class, _)| *class != results[0].0)) {
        let (class, place) = results[0];
        let call = choices[class][place].clone();
        let number = choices.len();
        for (class, place) in results {
            choices[class][place] = Choice { cost: 0.0, children: SmallVec::from_slice(&[number]) };
        }
        choices.push(vec![call]);
        alone.push(Some(0));
    }
}

/// The nodes of every class with what they count, but for those without a price.
fn priced(window: &Window, leaves: &Leaves, by: &By) -> FxHashMap<Id, Priced> {
    let mut best: FxHashMap<Id, Best> = FxHashMap::default();
    let mut own: FxHashMap<TermId, f64> = FxHashMap::default();
    // What is computed once depends on what it is made of: of each class, its cheapest form by itself.
    loop {
        let mut priced: FxHashMap<Id, Priced> = FxHashMap::default();
        let mut changed = false;
        for class in window.egraph.classes() {
            // Of forms that cost the same, the one that was there first is nearest to what was written.
            let mut forms: SmallVec<[&Node; 8]> = class.nodes.iter().collect();
            forms.sort_unstable_by_key(|form| form.term);
            for node in forms {
                let price = *own.entry(node.term).or_insert_with(|| match by.has_exponentials {
                    false if may_overflow(window, node) => f64::INFINITY,
                    _ => price(&window.arena, node, by),
                });
                let part = |class: &Id| best.get(&window.egraph.find(*class)).map(|part| (part.total, part.made_of));
                let parts = node.children.iter().map(part).collect::<Option<(SmallVec<[f64; 4]>, MadeOf)>>();
                let Some((below, parts)) = parts else { continue };
                let made_of = if leaves.is_frozen { made_of(&window.arena, node.term, leaves, &parts) } else { None };
                let bytes = window.arena.ty(node.term).bytes();
                let is_once = made_of.is_some_and(|made_of| is_worth_keeping(bytes, made_of));
                let price = if is_once { price.min(TIE) } else { price };
                let total = price + below.iter().sum::<f64>();
                let better = best.get(&class.id).is_none_or(|known| total < known.total - 1e-15);
                if total.is_finite() && better {
                    best.insert(class.id, Best { total, made_of, node: node.term });
                    changed = true;
                }
                if price.is_finite() {
                    priced.entry(class.id).or_default().nodes.push((node.clone(), price));
                }
            }
        }
        if !changed {
            for (class, of_class) in &mut priced {
                let cheapest = best.get(class).map(|best| best.node);
                of_class.cheapest = of_class.nodes.iter().position(|(node, _)| Some(node.term) == cheapest);
            }
            return priced;
        }
    }
}

/// Bytes of parameters that a term is made of, where it is the same at every execution; `parts` is that of its operands.
fn made_of(arena: &TermArena, term: TermId, leaves: &Leaves, parts: &[Option<u64>]) -> Option<u64> {
    match arena.head(term) {
        _ if arena.constant(term).is_some() => Some(0),
        Head::Input(n) => leaves.read.get(*n as usize)?.made_of,
        Head::Literal(_) => Some(0),
        Head::Apply { op: Op::Table(op), attrs, .. } => {
            let types: SmallVec<[&TensorType; 4]> = arena.term(term).operands.iter().map(|&o| arena.ty(o)).collect();
            let repeats = !Call { op, attrs, operands: &types }.is_chance();
            if repeats { parts.iter().copied().try_fold(0, added) } else { None }
        }
        Head::Apply { .. } | Head::Random(_) => None,
    }
}

/// Whether a term computes exponentials.
pub(super) fn has_exponentials(arena: &TermArena) -> bool {
    (0..arena.len()).any(|n| arena.op(arena.nth(n)).is_some_and(|(op, ..)| is_exponential(op)))
}

fn is_exponential(op: &Op) -> bool {
    matches!(op.arithmetic(), Arithmetic::Exp | Arithmetic::ExpMinusOne)
}

/// Whether a node is the exponential of something that may be of any size: over the real numbers it may stand for a part of a function
/// that never overflows, as in `log(sum(exp(x)))`. What is less something, as in a softmax, does not count.
fn may_overflow(window: &Window, node: &Node) -> bool {
    let is_difference = |term: TermId| window.arena.op(term).is_some_and(|(op, ..)| op.arithmetic() == Arithmetic::Sub);
    let operand = node.children.first().map(|&child| &window.egraph[window.egraph.find(child)].nodes);
    window.arena.op(node.term).is_some_and(|(op, ..)| is_exponential(op))
        && !operand.is_some_and(|nodes| nodes.iter().any(|node| is_difference(node.term)))
}

/// What a node alone counts.
fn price(arena: &TermArena, node: &Node, by: &By) -> f64 {
    let Some((op, attrs, _)) = arena.op(node.term) else { return 0.0 };
    if node.head.is_none() || node.constant {
        return 0.0;
    }
    let def = match op {
        Op::Table(def) => def,
        Op::Custom(_) if is_together(op) => return 0.0,
        Op::Custom(_) => return f64::INFINITY,
    };
    let types: SmallVec<[&TensorType; 4]> = arena.term(node.term).operands.iter().map(|&o| arena.ty(o)).collect();
    let lie: Vec<Layout> = types.iter().map(|t| Layout::contiguous(&t.shape)).collect();
    let call = Call { op: def, attrs, operands: &types };
    let item = call_item(&call, &lie, &vec![true; types.len()], by.config, by.model);
    let cost = item.cost();
    let price = match by.counts {
        Counts::Value => by.weights.cost(&cost),
        Counts::UpperEnd => by.weights.most(&cost),
        Counts::OtherOperatorsTwice => by.weights.cost(&cost) * if by.before.runs(def.name) { 1.0 } else { 2.0 },
    };
    if cost.energy_mj.is_known() { price + by.calls.of(&item) + TIE } else { f64::INFINITY }
}

fn build(
    window: &mut Window,
    class: Id,
    chosen: &FxHashMap<Id, Node>,
    built: &mut FxHashMap<Id, TermId>,
) -> Option<TermId> {
    if let Some(&done) = built.get(&class) {
        return Some(done);
    }
    let node = chosen.get(&class)?;
    let children: SmallVec<[Id; 4]> = node.children.iter().map(|&c| window.egraph.find(c)).collect();
    let operands: SmallVec<[TermId; 4]> =
        children.into_iter().map(|c| build(window, c, chosen, built)).collect::<Option<_>>()?;
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

/// What a form costs whose input `n` is what `leaves` says. A value used twice is paid once.
pub(super) fn bill(arena: &TermArena, root: TermId, leaves: &Leaves, config: &MathConfig, model: &CostModel) -> Bill {
    let mut bill = Bill::default();
    for_each_call(arena, root, leaves, &mut |call, lie, computed| {
        bill.add(&call_item(call, lie, computed, config, model));
    });
    bill
}

/// The calls of a form whose input `n` is what `leaves` says, each once, with what is known of their operands.
/// What is the same at every execution is computed once for all and left out: constants, and what is made of parameters where those
/// stay as they are.
pub(super) fn for_each_call(arena: &TermArena, root: TermId, leaves: &Leaves, each: &mut Each) {
    let mut form = Form { arena, leaves, places: FxHashMap::default() };
    results(arena, root).iter().for_each(|&result| form.place(result));
    let mut seen: FxHashSet<TermId> = FxHashSet::default();
    // Several results of one call are one execution.
    let mut executed: FxHashSet<(&str, &[AttrValue], &[TermId])> = FxHashSet::default();
    let mut stack = results(arena, root).to_vec();
    while let Some(term) = stack.pop() {
        let Head::Apply { op: Op::Table(op), attrs, .. } = arena.head(term) else { continue };
        if !seen.insert(term) || arena.constant(term).is_some() || form.places[&term].is_once {
            continue;
        }
        let operands = &arena.term(term).operands;
        if !executed.insert((op.name, attrs, operands)) {
            continue;
        }
        let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| arena.ty(o)).collect();
        let (inputs, computed): (Vec<Layout>, Vec<bool>) =
            operands.iter().map(|o| &form.places[o].leaf).map(|leaf| (leaf.layout.clone(), leaf.is_computed)).unzip();
        each(&Call { op, attrs, operands: &types }, &inputs, &computed);
        stack.extend(operands);
    }
}

/// A form whose terms get their places in memory.
struct Form<'f> {
    arena: &'f TermArena,
    leaves: &'f Leaves,
    places: FxHashMap<TermId, Placed>,
}

/// A value of a form.
struct Placed {
    /// As its users find it.
    leaf: Leaf,
    /// A kernel computes it before the first execution.
    is_once: bool,
}

impl Form<'_> {
    fn place(&mut self, term: TermId) {
        if self.places.contains_key(&term) {
            return;
        }
        let ty = self.arena.ty(term);
        let dense = |made_of| Leaf { layout: Layout::contiguous(&ty.shape), is_computed: false, made_of };
        let read = |leaf| Placed { leaf, is_once: false };
        let placed = match self.arena.head(term) {
            Head::Input(n) => read(self.leaves.read.get(*n as usize).cloned().unwrap_or_else(|| dense(None))),
            Head::Apply { op: Op::Table(op), attrs, slot } => {
                let operands = &self.arena.term(term).operands;
                operands.iter().for_each(|&o| self.place(o));
                let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&o| self.arena.ty(o)).collect();
                let call = Call { op, attrs, operands: &types };
                let parts: SmallVec<[&Leaf; 4]> = operands.iter().map(|o| &self.places[o].leaf).collect();
                let inputs: SmallVec<[&Layout; 4]> = parts.iter().map(|part| &part.layout).collect();
                let below: MadeOf = parts.iter().map(|part| part.made_of).collect();
                let made_of = if self.leaves.is_frozen { made_of(self.arena, term, self.leaves, &below) } else { None };
                let is_view = WorkWithLayout::of_call(&call, &inputs).launches == 0;
                if !is_view && made_of.is_some_and(|made_of| is_worth_keeping(ty.bytes(), made_of)) {
                    Placed { leaf: dense(made_of), is_once: true }
                } else {
                    // A view of what came from memory comes from memory.
                    let is_computed =
                        self.arena.constant(term).is_none() && (!is_view || parts.iter().any(|part| part.is_computed));
                    let layout = output_layout(&call, *slot as usize, ty, &inputs);
                    read(Leaf { layout, is_computed, made_of })
                }
            }
            Head::Literal(_) => read(dense(self.leaves.is_frozen.then_some(0))),
            _ => read(dense(None)),
        };
        self.places.insert(term, placed);
    }
}
