//! What buffers hold of which a file has no values, such as the frequencies of a model that was exported without weights.
//!
//! The other side may hold a constant that was folded from such a buffer: a table of positions times frequencies, a slice of
//! counted positions. Where one side computes a value from the buffer and every element of that value is a number times one
//! element of the buffer, plus a number, or a function such as a cosine of that, each constant of the value's type states what the buffer
//! would have to hold. Of those from which exactly that constant would be computed, or one that is apart by rounding as libraries differ in their
//! functions, the likeliest is supposed to be right: both are used with the same weight, and the constant says much. This is a guess: it is
//! printed, and a difference under it counts for nothing.

use rustc_hash::{FxHashMap, FxHashSet};

use super::plan::{Meaning, Plan, Slot};
use crate::eval::{GraphProgram, LazyEvaluator, Options};
use crate::ir::{Contents, DType, Graph, NodeId, NodeKind, Number, Role, Shape, TensorType, Value};
use crate::ops::Op;
use crate::prove::Side;
use crate::prove::kernel::{MAX_UNITS, units_apart};

/// So far from what a function's inverse gives lies the number that the function was taken of, in units in the last place.
const NEIGHBOURS: i32 = 4;

/// The most elements of a buffer, and of a constant that tells what it holds.
const MAX_ELEMENTS: usize = 1 << 18;

/// Elements that may be computed for one value.
const BUDGET: usize = 1 << 21;

/// What a value is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    Constants,
    /// Constants and one buffer, by its number among the inputs.
    Buffer(usize),
    More,
}

/// A constant of the other side by its name.
struct Constant<'g> {
    name: &'g str,
    with: FxHashSet<usize>,
    elements: Vec<Number>,
}

/// Constants by their types without dimensions of size 1.
type Constants<'g> = FxHashMap<(DType, Shape), Vec<Constant<'g>>>;

/// What speaks for a supposition, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Evidence {
    /// The constant is no function, such as a cosine, of what states it.
    direct: bool,
    /// Value and constant are used with the same weight.
    together: bool,
    /// The value is computed from the buffer and not the buffer itself.
    computed: bool,
    /// The constant has different elements.
    varies: bool,
    /// How many elements of the buffer the constant states.
    stated: usize,
    /// How many elements the constant has.
    elements: usize,
}

impl Evidence {
    fn kind(self) -> (bool, bool, bool) {
        (self.direct, self.together, self.computed)
    }
}

/// What a buffer would hold.
struct Supposed {
    elements: Vec<Number>,
    /// The constant that says so.
    by: String,
    evidence: Evidence,
}

impl Plan {
    /// Supposes what buffers without values hold, where a constant of the other side says so.
    pub(super) fn suppose(&mut self, graphs: [&Graph; 2], contents: [&mut dyn Contents; 2]) {
        for (side, contents) in [Side::A, Side::B].into_iter().zip(contents) {
            let (own, other) = if side == Side::A { (graphs[0], graphs[1]) } else { (graphs[1], graphs[0]) };
            let open = |(i, slot): (usize, &Slot)| {
                let wanted =
                    slot.input.role == Role::Buffer && slot.is_alone() && slot.input.ty.numel() <= MAX_ELEMENTS;
                (wanted && !contents.holds(i)).then_some(i)
            };
            let mut open: Vec<usize> = self.side(side).iter().enumerate().filter_map(open).collect();
            if open.is_empty() {
                continue;
            }
            let constants = constants(self, side.other(), other);
            loop {
                let supposed = self.all_supposed(side, own, &open, &constants);
                // One buffer may be the index into another: what is least likely waits for what the likely says about it.
                let Some(likeliest) = supposed.iter().map(|(_, s)| s.evidence.kind()).max() else { break };
                for (buffer, supposed) in supposed.into_iter().filter(|(_, s)| s.evidence.kind() == likeliest) {
                    open.retain(|&other| other != buffer);
                    let slot = &mut self.side_mut(side)[buffer];
                    slot.literal = Some(supposed.elements.into());
                    slot.supposed_by = Some(supposed.by);
                }
            }
        }
    }

    /// What each buffer in `open` holds according to the likeliest constant, where one says so.
    fn all_supposed(&self, side: Side, graph: &Graph, open: &[usize], constants: &Constants) -> Vec<(usize, Supposed)> {
        let (slots, with) = (self.side(side), self.used_with(side, graph));
        let mut likeliest: Vec<(usize, Supposed)> = Vec::new();
        for (reads, (id, node)) in sources(graph, slots, open).into_iter().zip(graph.nodes()) {
            let (Reads::Buffer(buffer), [ty]) = (reads, &node.types[..]) else { continue };
            let Some(stated) = constants.get(&kind(ty)) else { continue };
            let place = DerivedValue { graph, slots, buffer, value: Value::from(id) };
            let Some(line) = place.line() else { continue };
            for constant in stated {
                let Some((elements, stated)) = place.supposed(&line, constant) else { continue };
                let evidence = Evidence {
                    direct: line.inverse.is_none(),
                    together: with.get(&id).is_some_and(|with| !with.is_disjoint(&constant.with)),
                    computed: matches!(node.kind, NodeKind::Op { .. }),
                    varies: constant.elements.iter().any(|n| Some(n) != constant.elements.first()),
                    stated,
                    elements: constant.elements.len(),
                };
                let supposed = Supposed { elements, by: constant.name.to_owned(), evidence };
                match likeliest.iter_mut().find(|(known, _)| *known == buffer) {
                    Some((_, known)) if known.evidence < evidence => *known = supposed,
                    Some(_) => {}
                    None => likeliest.push((buffer, supposed)),
                }
            }
        }
        likeliest
    }

    /// For every node: the inputs, by A's numbers, that are bound to one of the other side and stand beside the node in some operator.
    fn used_with(&self, side: Side, graph: &Graph) -> FxHashMap<NodeId, FxHashSet<usize>> {
        let number = |(i, slot): (usize, &Slot)| match &slot.meaning {
            Some((Meaning::Same(other), _)) => Some(if side == Side::A { i } else { *other }),
            _ => None,
        };
        let slots = self.side(side).iter().enumerate().map(number);
        let bound: FxHashMap<NodeId, usize> =
            graph.inputs().iter().zip(slots).filter_map(|(&id, number)| Some((id, number?))).collect();
        let mut all: FxHashMap<NodeId, FxHashSet<usize>> = FxHashMap::default();
        for (user, _) in graph.nodes() {
            let operands = graph.operands(user);
            for weight in operands.iter().filter_map(|v| bound.get(&v.node)) {
                operands.iter().for_each(|v| _ = all.entry(v.node).or_default().insert(*weight));
            }
        }
        all
    }
}

/// What every value of a graph is computed from, where the inputs in `open` are unknown and literals of slots are known.
fn sources(graph: &Graph, slots: &[Slot], open: &[usize]) -> Vec<Reads> {
    let positions: FxHashMap<NodeId, usize> = graph.inputs().iter().zip(0..).map(|(&id, i)| (id, i)).collect();
    let mut all: Vec<Reads> = Vec::with_capacity(graph.len());
    for (id, node) in graph.nodes() {
        let from = match &node.kind {
            NodeKind::Literal(_) => Reads::Constants,
            NodeKind::Input { .. } => match positions.get(&id) {
                Some(i) if open.contains(i) => Reads::Buffer(*i),
                Some(&i) if slots.get(i).is_some_and(|slot| slot.literal.is_some()) => Reads::Constants,
                _ => Reads::More,
            },
            NodeKind::Op { .. } => {
                let operands = graph.operands(id);
                let read = operands.iter().map(|v| all.get(v.node.index()).copied().unwrap_or(Reads::More));
                read.fold(Reads::Constants, |x, y| match (x, y) {
                    (Reads::Constants, other) | (other, Reads::Constants) => other,
                    (x, y) if x == y => x,
                    _ => Reads::More,
                })
            }
        };
        all.push(from);
    }
    all
}

/// The values of a graph that are computed from constants alone.
fn constants<'g>(plan: &Plan, side: Side, graph: &'g Graph) -> Constants<'g> {
    let mut all = Constants::default();
    let (slots, with) = (plan.side(side), plan.used_with(side, graph));
    let Some(program) = known(graph, slots) else { return all };
    let mut evaluator = LazyEvaluator::new(&program, Options { rounding: true, budget: BUDGET });
    for (from, (id, node)) in sources(graph, slots, &[]).into_iter().zip(graph.nodes()) {
        let ty = &node.types[0];
        if from != Reads::Constants || node.types.len() != 1 || ty.rank() == 0 || ty.numel() > MAX_ELEMENTS {
            continue;
        }
        if let Ok(elements) = evaluator.tensor(Value::from(id)) {
            let with = with.get(&id).cloned().unwrap_or_default();
            all.entry(kind(ty)).or_default().push(Constant { name: &node.name, with, elements });
        }
    }
    all
}

fn kind(ty: &TensorType) -> (DType, Shape) {
    (ty.dtype, ty.shape.iter().copied().filter(|&size| size != 1).collect())
}

/// A graph as a program in which the literals of slots are known; `None` if one of them does not fit.
fn known<'g>(graph: &'g Graph, slots: &[Slot]) -> Option<GraphProgram<'g>> {
    let mut literals = slots.iter().enumerate().filter_map(|(i, slot)| Some((i, slot.literal.as_deref()?)));
    literals
        .try_fold(GraphProgram::new(graph, 0), |program, (i, elements)| program.with_input(i, elements.to_vec()).ok())
}

/// A value that is computed from one buffer.
struct DerivedValue<'g> {
    graph: &'g Graph,
    slots: &'g [Slot],
    buffer: usize,
    value: Value,
}

/// The way back from what a function gives to its operand.
type Inverse = fn(f64) -> f64;

/// Per element of a value: the element of the buffer that it reads, if any, and `offset + factor * element`.
struct Line {
    reads: Vec<Option<(usize, f64)>>,
    offsets: Vec<f64>,
    /// What leads from the value there, if it is a function of that.
    inverse: Option<Inverse>,
}

impl DerivedValue<'_> {
    fn ty(&self) -> &TensorType {
        &self.slots[self.buffer].input.ty
    }

    /// The elements of `value` if the buffer holds `elements`.
    fn at(&self, value: Value, elements: Vec<Number>, rounding: bool) -> Option<Vec<Number>> {
        let program = known(self.graph, self.slots)?.with_input(self.buffer, elements).ok()?;
        LazyEvaluator::new(&program, Options { rounding, budget: BUDGET }).tensor(value).ok()
    }

    /// `value` at what `element` makes of each place of the buffer, over the real numbers.
    fn trial(&self, value: Value, element: impl Fn(usize) -> i64) -> Option<Vec<f64>> {
        let of =
            |i| if self.ty().dtype.is_float() { Number::float(element(i) as f64) } else { Number::Int(element(i)) };
        let all = self.at(value, (0..self.ty().numel()).map(of).collect(), false)?;
        Some(all.into_iter().map(Number::to_f64).collect())
    }

    /// How the value's elements follow from those of the buffer; `None` if some of them read more than one. Found by trial, so
    /// that what comes of it has to be tried, too.
    fn line(&self) -> Option<Line> {
        let (value, inverse) = match self.function_of() {
            Some((operand, inverse)) => (operand, Some(inverse)),
            None => (self.value, None),
        };
        let offsets = self.trial(value, |_| 0)?;
        let [ones, counted] = [self.trial(value, |_| 1)?, self.trial(value, |i| i as i64 + 1)?];
        let read = |((&offset, &one), &counted): ((&f64, &f64), &f64)| {
            let factor = one - offset;
            if factor == 0.0 {
                return (counted == offset).then_some(None);
            }
            let place = (counted - offset) / factor - 1.0;
            let near = place.round();
            let within = (place - near).abs() < 1e-6 && (0.0..self.ty().numel() as f64).contains(&near);
            within.then_some(Some((near as usize, factor)))
        };
        let reads = offsets.iter().zip(&ones).zip(&counted).map(read).collect::<Option<Vec<_>>>()?;
        Some(Line { reads, offsets, inverse })
    }

    /// What the value is a function of, and the way back.
    fn function_of(&self) -> Option<(Value, Inverse)> {
        let NodeKind::Op { op: Op::Table(op), .. } = &self.graph.node(self.value.node).kind else { return None };
        match self.graph.operands(self.value.node)[..] {
            [operand] => Some((operand, op.inverse?)),
            _ => None,
        }
    }

    /// What the buffer holds if the value is `constant`, and how many of its elements that says.
    fn supposed(&self, line: &Line, constant: &Constant) -> Option<(Vec<Number>, usize)> {
        let dtype = self.ty().dtype;
        // Of several statements about one place, that with the factor nearest to 1 has suffered least from rounding.
        let mut found: Vec<Option<(f64, Number)>> = vec![None; self.ty().numel()];
        for ((read, offset), element) in line.reads.iter().zip(&line.offsets).zip(&constant.elements) {
            let Some((place, factor)) = *read else { continue };
            let element =
                (line.inverse.map_or(element.to_f64(), |inverse| inverse(element.to_f64())) - offset) / factor;
            let distance = factor.abs().log2().abs();
            let known = found.get_mut(place)?;
            if known.is_none_or(|(least, _)| distance < least) {
                let whole = element.fract() == 0.0 && element.abs() < 2f64.powi(53);
                let number = if dtype.is_float() { Number::float(element) } else { Number::Int(element as i64) };
                *known = Some((distance, dtype.store(number).filter(|_| dtype.is_float() || whole)?));
            }
        }
        let stated = found.iter().flatten().count();
        let zero = dtype.store(Number::ZERO)?;
        let elements: Vec<Number> = found.into_iter().map(|known| known.map_or(zero, |(_, number)| number)).collect();
        if stated == 0 {
            return None;
        }
        let exact = self.at(self.value, elements.clone(), true)? == constant.elements;
        let elements = if exact { elements } else { self.near(line, &elements, constant)? };
        Some((elements, stated))
    }

    /// What the buffer holds near `elements` if the value is `constant` but for rounding.
    fn near(&self, line: &Line, elements: &[Number], constant: &Constant) -> Option<Vec<Number>> {
        line.inverse?;
        let (dtype, of) = (self.ty().dtype, self.graph.ty(self.value).dtype);
        let step = dtype.epsilon()?;
        let mut best: Vec<(f64, Number)> = elements.iter().map(|&n| (f64::INFINITY, n)).collect();
        for units in -NEIGHBOURS..=NEIGHBOURS {
            let moved = |n: &Number| {
                let x = n.to_f64();
                let last = if x == 0.0 { 0.0 } else { x.abs().log2().floor().exp2() * step };
                dtype.store(Number::float(x + f64::from(units) * last))
            };
            let tried: Vec<Number> = elements.iter().map(moved).collect::<Option<_>>()?;
            let mut worst = vec![0.0_f64; tried.len()];
            let values = self.at(self.value, tried.clone(), true)?;
            for ((read, value), wanted) in line.reads.iter().zip(values).zip(&constant.elements) {
                let apart = units_apart(of, value, *wanted).unwrap_or(f64::INFINITY);
                match read {
                    Some((place, _)) => worst[*place] = worst[*place].max(apart),
                    None if apart > MAX_UNITS => return None,
                    None => {}
                }
            }
            for ((known, worst), number) in best.iter_mut().zip(worst).zip(tried) {
                if worst < known.0 {
                    *known = (worst, number);
                }
            }
        }
        best.into_iter().map(|(worst, number)| (worst <= MAX_UNITS).then_some(number)).collect()
    }
}
