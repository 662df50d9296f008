//! From a plan to two graphs over common inputs.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::binding::{Binding, BoundPair};
use super::bound_input::BoundInput;
use super::plan::{Meaning, Plan, Slot, Source};
use super::{Expression, Part, mask, statement};
use crate::ir::{AttrValue, Attrs, Graph, NodeKind, Origin, Role, Value};
use crate::ops;
use crate::ops::Movement;
use crate::prove::Side;

/// An input by the graph that it was read from.
type Key = (Side, usize);

/// The tensor that input `i` of `side` is: pairs go by A's input.
fn key(plan: &Plan, side: Side, i: usize) -> Key {
    let key = match (side, &plan.side(side)[i].meaning) {
        (Side::B, Some((Meaning::Same(other), _))) => (Side::A, *other),
        _ => (side, i),
    };
    match plan.ties.get(&key.1) {
        Some(&first) if key.0 == Side::A => (Side::A, first),
        _ => key,
    }
}

/// The arguments that the other side, whose format tells weights from what users give, has as weights.
fn weights(plan: &Plan) -> FxHashMap<Key, Role> {
    let mut weights = FxHashMap::default();
    for (side, is_given) in [Side::A, Side::B].into_iter().zip(plan.gives_weights()) {
        for slot in plan.side(side.other()).iter().filter(|slot| is_given && slot.input.role != Role::User) {
            let read: Vec<usize> = match &slot.meaning {
                Some((Meaning::Same(other), _)) => vec![*other],
                Some((Meaning::Derived(expression), _)) => expression.inputs().collect(),
                None => Vec::new(),
            };
            weights.extend(read.into_iter().map(|i| (key(plan, side, i), slot.input.role)));
        }
    }
    weights
}

/// The numbers of inputs that are no expressions over others.
pub(super) fn number(plan: &Plan) -> Binding {
    let own = |side: Side| -> Vec<Key> { (0..plan.side(side).len()).map(|i| (side, i)).collect() };
    numbered(plan, [&own(Side::A), &own(Side::B)])
}

/// Numbers inputs, given which tensors the inputs of each graph are.
fn numbered(plan: &Plan, inputs: [&[Key]; 2]) -> Binding {
    let mut numbers: FxHashMap<Key, u32> = FxHashMap::default();
    let mut binding = Binding { assumptions: statement::sentences(plan), ..Binding::default() };
    let weights = weights(plan);
    for (n, keys) in inputs.into_iter().enumerate() {
        for &(side, i) in keys {
            let key = key(plan, side, i);
            let next = binding.inputs.len() as u32;
            let number = *numbers.entry(key).or_insert(next);
            if number == next {
                let input = plan.side(key.0)[key.1].input.clone();
                binding.inputs.push(BoundInput { role: weights.get(&key).copied().unwrap_or(input.role), ..input });
            }
            if n == 0 { &mut binding.a } else { &mut binding.b }.push(number);
        }
    }
    let of_keys = |keys: Vec<Key>| {
        let mut found: Vec<u32> = keys.into_iter().filter_map(|key| numbers.get(&key).copied()).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    binding.guessed = of_keys(bound_by(plan, |_, _, source| source.is_guess()));
    binding.exchangeable = of_keys(bound_by(plan, |side, i, source| {
        let slot = &plan.side(side)[i];
        // The last one of a type is what the others leave.
        let is_by_place = source.is_guess() || source == Source::Only;
        is_by_place && slot.input.role == Role::User && matches!(slot.meaning, Some((Meaning::Same(_), _)))
    }));
    binding.stated = of_keys(bound_by(plan, |_, _, source| source == Source::Stated));
    binding.unlike = of_keys(bound_by(plan, |side, i, _| plan.unlike.contains(&(side, i))));
    binding.keeps_constants =
        [&plan.a, &plan.b].map(|slots| slots.iter().any(|slot| slot.literal.is_some() && !slot.held_alike));
    binding.keeps_folded_weights = [&plan.a, &plan.b].into_iter().flatten().any(Slot::is_constant_of_weights);
    binding.held = plan.held.as_ref().map(|held| {
        let numbered = |(key, elements): (&Key, &Arc<[f64]>)| Some((*numbers.get(key)?, elements.clone()));
        held.iter().filter_map(numbered).collect()
    });
    binding.gives_weights = plan.gives_weights();
    binding.supposes_values = [&plan.a, &plan.b].into_iter().flatten().any(|slot| slot.supposed_by.is_some());
    binding.lines = statement::lines(plan);
    binding
}

/// The tensors that the meanings which `chosen` picks are about.
fn bound_by(plan: &Plan, chosen: impl Fn(Side, usize, Source) -> bool) -> Vec<Key> {
    let mut keys = Vec::new();
    for side in [Side::A, Side::B] {
        for (i, slot) in plan.side(side).iter().enumerate() {
            match &slot.meaning {
                Some((Meaning::Derived(expression), source)) if chosen(side, i, *source) => {
                    keys.extend(expression.inputs().map(|leaf| key(plan, side.other(), leaf)));
                }
                Some((Meaning::Same(_), source)) if chosen(side, i, *source) => keys.push(key(plan, side, i)),
                _ => {}
            }
        }
    }
    keys
}

/// Replaces derived inputs by what they are made of.
pub(super) fn share(a: Graph, b: Graph, plan: &Plan) -> BoundPair {
    let (a, keys_a) = rewrite(a, plan, Side::A);
    let (b, keys_b) = rewrite(b, plan, Side::B);
    let binding = numbered(plan, [&keys_a, &keys_b]);
    BoundPair { a, b, binding }
}

/// The graph with the constants of its slots as operators or literals. The inputs stay.
pub(super) fn with_constants(graph: Graph, plan: &Plan) -> Graph {
    rewrite_inputs(graph, plan, Side::A, true).0
}

/// The name of the constant that stands for an input which stays.
pub(super) fn constant_name(input: &str) -> String {
    format!("{input}.values")
}

fn rewrite(graph: Graph, plan: &Plan, side: Side) -> (Graph, Vec<Key>) {
    rewrite_inputs(graph, plan, side, false)
}

fn rewrite_inputs(graph: Graph, plan: &Plan, side: Side, keeps_inputs: bool) -> (Graph, Vec<Key>) {
    let slots = plan.side(side);
    let derived = slots.iter().any(|s| s.literal.is_some() || matches!(s.meaning, Some((Meaning::Derived(_), _))));
    let own: Vec<Key> = (0..slots.len()).map(|i| (side, i)).collect();
    if !derived {
        return (graph, own);
    }
    let taken = graph.nodes().map(|(_, n)| n.name.to_string()).collect();
    let mut writer = Writer {
        out: Graph::new(graph.name.clone()),
        plan,
        keys: Vec::new(),
        inputs: FxHashMap::default(),
        taken,
        names: graph.inputs().iter().map(|&i| graph.node(i).name.to_string()).collect(),
        side,
        keeps_inputs,
    };
    writer.out.config = graph.config.clone();
    match writer.graph(&graph) {
        Some(()) => (writer.out, writer.keys),
        // Expressions were type-checked when they were made, so this does not happen; a graph with more free
        // inputs than need be is sound in any case.
        None => (graph, own),
    }
}

struct Writer<'p> {
    out: Graph,
    plan: &'p Plan,
    /// Which tensor each input of the new graph is.
    keys: Vec<Key>,
    /// What stands for an input of either side.
    inputs: FxHashMap<Key, Value>,
    taken: rustc_hash::FxHashSet<String>,
    /// Names of this side's inputs.
    names: Vec<String>,
    side: Side,
    /// Whether inputs that are constants stay.
    keeps_inputs: bool,
}

impl Writer<'_> {
    fn graph(&mut self, graph: &Graph) -> Option<()> {
        let slots = self.plan.side(self.side);
        for (i, slot) in slots.iter().enumerate() {
            if let Some(literal) = &slot.literal {
                let mut name = slot.input.name.clone();
                if self.keeps_inputs {
                    self.add_input((self.side, i), &slot.input, &name);
                    name = self.free_name(&constant_name(&name));
                }
                let value = mask::add_constant(&mut self.out, &name, &slot.input.ty, literal)?;
                self.inputs.insert((self.side, i), value);
            } else if !matches!(slot.meaning, Some((Meaning::Derived(_), _))) {
                self.add_input((self.side, i), &slot.input, &slot.input.name);
            }
        }
        for i in 0..slots.len() {
            self.own(i)?;
        }
        let mut values: Vec<Value> = Vec::with_capacity(graph.len());
        let positions: FxHashMap<_, _> = graph.inputs().iter().zip(0..).map(|(&id, i)| (id, i)).collect();
        for (id, node) in graph.nodes() {
            let new = match &node.kind {
                NodeKind::Input { .. } => *self.inputs.get(&(self.side, *positions.get(&id)?))?,
                NodeKind::Literal(l) => {
                    let (ty, data) = (node.types[0].clone(), l.data.clone());
                    self.out.add_literal(&node.name, ty, data, node.origin.clone()).ok()?.into()
                }
                NodeKind::Op { op, attrs } => {
                    let mut operands: Vec<Value> =
                        graph.operands(id).iter().map(|v| Value::new(values[v.node.index()].node, v.slot)).collect();
                    let (mut attrs, origin) = (attrs.clone(), node.origin.clone());
                    if op.movement() == Some(Movement::Slice) {
                        self.slice_of_part(&mut operands, &mut attrs);
                    }
                    let added = self.out.add_custom(
                        &node.name,
                        op.clone(),
                        attrs,
                        &operands,
                        node.types.iter().cloned(),
                        origin,
                    );
                    added.ok()?.into()
                }
            };
            values.push(new);
        }
        let moved = |v: Value| Some(Value::new(values.get(v.node.index())?.node, v.slot));
        self.out.take_outputs(graph, |v| moved(v).ok_or(())).ok()
    }

    /// A slice of a stacked weight that lies in one of its parts is a slice of that part.
    fn slice_of_part(&self, operands: &mut [Value], attrs: &mut Attrs) -> Option<()> {
        let [operand] = operands else { return None };
        let [joined] = self.out.operands(operand.node)[..] else { return None };
        let made_by = |value: Value, movement: Movement| match &self.out.node(value.node).kind {
            NodeKind::Op { op, attrs } if op.movement() == Some(movement) => Some(attrs),
            _ => None,
        };
        // The parameter made of its parts, see `own`.
        made_by(*operand, Movement::Stay)?;
        let dim = made_by(joined, Movement::Concat)?.first()?.as_int()?;
        let [along, start, end, _] = &mut attrs[..] else { return None };
        let (from, to) = (start.as_int()?, end.as_int()?);
        if *along != AttrValue::Int(dim) || from >= to {
            return None;
        }
        let mut before = 0;
        for part in self.out.operands(joined.node) {
            let size = *self.out.ty(part).shape.get(usize::try_from(dim).ok()?)? as i64;
            if before <= from && to <= before + size {
                *operand = part;
                (*start, *end) = (AttrValue::Int(from - before), AttrValue::Int(to - before));
                return Some(());
            }
            before += size;
        }
        None
    }

    fn add_input(&mut self, key: Key, input: &BoundInput, name: &str) -> Value {
        let value = self.out.add_input(name, input.role, input.ty.clone(), Origin::default()).into();
        self.keys.push(key);
        self.inputs.insert(key, value);
        value
    }

    /// What stands for input `i` of this side.
    fn own(&mut self, i: usize) -> Option<Value> {
        if let Some(&known) = self.inputs.get(&(self.side, i)) {
            return Some(known);
        }
        let (Meaning::Derived(expression), _) = self.plan.side(self.side)[i].meaning.as_ref()? else { return None };
        let name = self.names[i].clone();
        let root = self.expression(expression, &name, true)?;
        // The parameter itself is dense, however its parts lie in memory.
        let contiguous = ops::find("contiguous")?;
        let node = self.out.add_op(&name, contiguous, contiguous.default_attrs()?, &[root], Origin::implicit()).ok()?;
        self.inputs.insert((self.side, i), node.into());
        Some(node.into())
    }

    /// What stands for input `i` of the other side.
    fn other(&mut self, i: usize) -> Option<Value> {
        let key = (self.side.other(), i);
        let slot = &self.plan.side(key.0)[i];
        match &slot.meaning {
            Some((Meaning::Same(own), _)) => self.own(*own),
            _ if self.inputs.contains_key(&key) => self.inputs.get(&key).copied(),
            Some((Meaning::Derived(expression), _)) => {
                let value = self.expression(expression, &slot.input.name, false)?;
                self.inputs.insert(key, value);
                Some(value)
            }
            None => {
                let name = self.free_name(&slot.input.name);
                Some(self.add_input(key, &slot.input, &name))
            }
        }
    }

    /// The operators of an expression over the other side's inputs, or over this side's.
    fn expression(&mut self, expression: &Expression, name: &str, over_other: bool) -> Option<Value> {
        let mut values: Vec<Value> = Vec::new();
        for part in expression.parts() {
            let value = match part {
                Part::Input(i) if over_other => self.other(*i)?,
                Part::Input(i) => self.own(*i)?,
                Part::Apply { op, attrs, slot, operands } => {
                    let operands: Vec<Value> = operands.iter().map(|&o| values[o]).collect();
                    let name = self.free_name(&format!("{name}.{}", op.name));
                    let node = self.out.add_op(&name, op, attrs.clone(), &operands, Origin::implicit()).ok()?;
                    Value::new(node, *slot as u32)
                }
            };
            values.push(value);
        }
        values.get(expression.root()).copied()
    }

    fn free_name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut n = 0;
        while !self.taken.insert(name.clone()) {
            n += 1;
            name = format!("{wanted}.{n}");
        }
        name
    }
}
