//! A graph as calls of PyTorch.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::EmitError;
use super::kept::{Kept, KeptCall};
use crate::frontend::pt2::Record;
use crate::ir::{DType, Graph, Node, NodeId, NodeKind, Number, Target, TensorType, Value};
use crate::ops::aten::{AllCalls, Arg, Made, Tensor};
use crate::ops::{Call, DRAW, Draws, Family, Op, OpDef, as_number, is_called, is_number};

/// A tensor of a program: its place among [`Program::tensors`].
pub(super) type Id = usize;

/// Where a tensor of a program comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An input of the graph.
    Input(NodeId),
    /// A tensor whose elements are known.
    Literal(NodeId),
    /// A result of a call.
    Call,
}

/// A tensor of a program.
#[derive(Clone, Debug)]
pub struct Held {
    /// What the graph calls it.
    pub name: String,
    /// None where the IR has no such type.
    pub ty: Option<TensorType>,
    pub source: Source,
    /// The value of the graph that it is.
    pub value: Option<Value>,
}

/// A call of a program.
#[derive(Clone, Debug)]
pub struct Step {
    /// The operator that the call is made for.
    pub node: NodeId,
    pub call: Made<Id>,
    pub results: SmallVec<[Id; 1]>,
}

/// The calls that compute a graph, in order.
pub struct Program<'g> {
    pub graph: &'g Graph,
    pub tensors: Vec<Held>,
    pub steps: Vec<Step>,
    /// Per output of the graph.
    pub outputs: Vec<Id>,
}

impl<'g> Program<'g> {
    /// The calls that compute `graph`. What the file that it came from calls is called in the same way, as far as the graph still
    /// has it.
    ///
    /// # Errors
    /// An operator that no call computes.
    pub fn new(graph: &'g Graph, record: Option<&Record>) -> Result<Self, EmitError> {
        Program::lowered(graph, record, false)
    }

    /// The calls that a run of PyTorch makes for the operators of `graph`: casts that kernels do on the fly are no calls.
    ///
    /// # Errors
    /// As [`Program::new`].
    pub fn as_run(graph: &'g Graph) -> Result<Self, EmitError> {
        Program::lowered(graph, None, true)
    }

    fn lowered(graph: &'g Graph, record: Option<&Record>, casts_on_the_fly: bool) -> Result<Self, EmitError> {
        let mut lowering = Lowering {
            program: Program { graph, tensors: Vec::new(), steps: Vec::new(), outputs: Vec::new() },
            ids: FxHashMap::default(),
        };
        let kept = record.map(|record| Kept::of(graph, record)).unwrap_or_default();
        for &input in graph.inputs() {
            lowering.held(input, Source::Input(input));
        }
        let needed = needed(graph);
        let called = |id: &NodeId| {
            let call = kept.last.get(id);
            call.is_some_and(|call| call.results.iter().flatten().any(|value| needed.contains(&value.node)))
        };
        for (id, node) in graph.nodes().filter(|(id, _)| needed.contains(id) || called(id)) {
            match &node.kind {
                NodeKind::Input { .. } => {}
                NodeKind::Literal(_) => lowering.held(id, Source::Literal(id)),
                // Numbers are arguments of calls; a tensor is made of one where a call takes no number.
                NodeKind::Op { op: Op::Table(def), .. } if is_number(def) => {}
                NodeKind::Op { .. } if casts_on_the_fly && !is_called(graph, id) => lowering.read_through(id)?,
                NodeKind::Op { .. } => match kept.last.get(&id) {
                    Some(call) => lowering.recorded(id, call)?,
                    None if kept.inside.contains(&id) => {}
                    None => lowering.operator(id)?,
                },
            }
        }
        lowering.outputs()?;
        Ok(lowering.program)
    }
}

/// The nodes that some output depends on, and those that draw: others get other numbers without them.
fn needed(graph: &Graph) -> FxHashSet<NodeId> {
    let draws = |id: NodeId| match &graph.node(id).kind {
        NodeKind::Op { op: Op::Table(def), .. } => def.draws != Draws::Never,
        NodeKind::Op { op: Op::Custom(op), .. } => op.attrs.iter().any(|name| name == DRAW),
        _ => false,
    };
    let mut needed: FxHashSet<NodeId> = graph.outputs().iter().map(|o| o.value.node).collect();
    for id in graph.nodes().map(|(id, _)| id).collect::<Vec<_>>().into_iter().rev() {
        if needed.contains(&id) || draws(id) {
            needed.insert(id);
            needed.extend(graph.operands(id).iter().map(|v| v.node));
        }
    }
    needed
}

struct Lowering<'g> {
    program: Program<'g>,
    ids: FxHashMap<Value, Id>,
}

impl Lowering<'_> {
    fn hold(&mut self, held: Held) -> Id {
        self.program.tensors.push(held);
        self.program.tensors.len() - 1
    }

    /// The tensor that a node without a call is.
    fn held(&mut self, node: NodeId, source: Source) {
        let graph = self.program.graph;
        let value = Value::from(node);
        let (name, ty) = (graph.node(node).name.to_string(), graph.ty(value).clone());
        let id = self.hold(Held { name, ty: Some(ty), source, value: Some(value) });
        self.ids.insert(value, id);
    }

    /// A cast that is no call: who reads it reads what it casts.
    fn read_through(&mut self, id: NodeId) -> Result<(), EmitError> {
        if let [of] = self.program.graph.operands(id)[..] {
            let tensor = self.value(of, None)?;
            self.ids.insert(Value::from(id), tensor);
        }
        Ok(())
    }

    /// The number that a value is.
    fn number(&self, value: Value) -> Option<Number> {
        match &self.program.graph.node(value.node).kind {
            NodeKind::Op { op: Op::Table(def), attrs } if is_number(def) => attrs.first()?.as_number(),
            _ => None,
        }
    }

    /// A call of the file that the graph came from.
    fn recorded(&mut self, node: NodeId, kept: &KeptCall) -> Result<(), EmitError> {
        let Made { target, positional, keyword, results, list } = kept.call.clone();
        let mut arguments = |all: Vec<(_, Arg<Value>)>| {
            let mut tensor = |value: Value| self.value(value, None);
            all.into_iter()
                .map(|(name, arg)| Ok((name, arg.map(&mut tensor, |t, tensor| tensor(t).map(Arg::Tensor))?)))
                .collect::<Result<Vec<_>, EmitError>>()
        };
        let (positional, keyword) = (arguments(positional)?, arguments(keyword)?);
        let base = self.program.graph.node(node).name.to_string();
        let one = kept.results.len() == 1;
        let held: Vec<Held> = (kept.results.iter().zip(&results).enumerate())
            .map(|(slot, (&value, ty))| Held {
                name: if one { base.clone() } else { format!("{base}_{slot}") },
                ty: ty.clone(),
                source: Source::Call,
                value,
            })
            .collect();
        let mut ids: SmallVec<[Id; 1]> = SmallVec::new();
        for held in held {
            let value = held.value;
            let id = self.hold(held);
            if let Some(value) = value {
                self.ids.insert(value, id);
            }
            ids.push(id);
        }
        let call = Made { target, positional, keyword, results, list };
        self.program.steps.push(Step { node, call, results: ids });
        Ok(())
    }

    /// The calls for one operator of the table.
    fn operator(&mut self, id: NodeId) -> Result<(), EmitError> {
        let graph = self.program.graph;
        let node = graph.node(id);
        let NodeKind::Op { op, attrs } = &node.kind else { return Ok(()) };
        let Op::Table(def) = op else {
            return Err(EmitError::operator(
                node,
                op.name(),
                "is not in the op table, and no file says how it is called",
            ));
        };
        let operands = graph.operands(id);
        let types: SmallVec<[&TensorType; 4]> = operands.iter().map(|&v| graph.ty(v)).collect();
        let call = Call { op: def, attrs, operands: &types };
        let numbers: Vec<Option<Number>> = operands.iter().map(|&v| self.number(v)).collect();
        let AllCalls { calls, results } =
            def.aten.calls(&call, &numbers).map_err(|reason| EmitError::operator(node, def.name, reason))?;
        let mut made: Vec<SmallVec<[Id; 1]>> = Vec::new();
        for (i, call) in calls.into_iter().enumerate() {
            let call = self.placed(id, def, &operands, call, &made)?;
            let held = call.results.iter().enumerate().map(|(slot, ty)| {
                let whose = Tensor::Made { call: i, slot };
                let of = results.iter().position(|r| *r == whose).map(|slot| Value::new(id, slot as u32));
                let name = match of {
                    Some(_) if node.types.len() == 1 => node.name.to_string(),
                    Some(value) => format!("{}_{}", node.name, value.slot),
                    None => format!("{}_part", node.name),
                };
                Held { name, ty: ty.clone(), source: Source::Call, value: of }
            });
            let held: Vec<Held> = held.collect();
            let ids: SmallVec<[Id; 1]> = held.into_iter().map(|held| self.hold(held)).collect();
            made.push(ids.clone());
            self.program.steps.push(Step { node: id, call, results: ids });
        }
        for (slot, result) in results.iter().enumerate() {
            if let Tensor::Made { call, slot: of } = result
                && let Some(&tensor) = made.get(*call).and_then(|ids| ids.get(*of))
            {
                self.ids.insert(Value::new(id, slot as u32), tensor);
            }
        }
        Ok(())
    }

    /// `call` over the program's tensors. A number stays one where the call takes it and another operand says the element type.
    fn placed(
        &mut self,
        node: NodeId,
        def: &OpDef,
        operands: &[Value],
        call: Made<Tensor>,
        made: &[SmallVec<[Id; 1]>],
    ) -> Result<Made<Id>, EmitError> {
        let is_number = |lowering: &Self, tensor: &Tensor| match tensor {
            Tensor::Operand(i) => operands.get(*i).and_then(|&v| lowering.number(v)),
            Tensor::Made { .. } => None,
        };
        let either: Vec<Tensor> = (call.positional.iter().chain(&call.keyword))
            .filter_map(|(_, arg)| if let Arg::Either(t) = arg { Some(*t) } else { None })
            .collect();
        let all_numbers = either.len() > 1 && either.iter().all(|t| is_number(self, t).is_some());
        let as_tensor = if all_numbers { either.first().copied() } else { None };
        let Made { target, positional, keyword, results, list } = call;
        let mut arguments = |all: Vec<(_, Arg<Tensor>)>| {
            all.into_iter()
                .map(|(name, arg)| {
                    let number = match &arg {
                        Arg::Either(t) if Some(*t) != as_tensor => is_number(self, t),
                        _ => None,
                    };
                    if let (Some(number), Arg::Either(Tensor::Operand(i))) = (number, &arg) {
                        let dtype = operands.get(*i).map(|&v| self.program.graph.ty(v).dtype);
                        return Ok((name, scalar(number, dtype)));
                    }
                    let mut tensor = |t: Tensor| self.tensor(node, def, operands, t, made);
                    let arg = arg.map(&mut tensor, |t, tensor| tensor(t).map(Arg::Tensor))?;
                    Ok((name, arg))
                })
                .collect::<Result<Vec<_>, EmitError>>()
        };
        Ok(Made { target, positional: arguments(positional)?, keyword: arguments(keyword)?, results, list })
    }

    fn tensor(
        &mut self,
        node: NodeId,
        def: &OpDef,
        operands: &[Value],
        tensor: Tensor,
        made: &[SmallVec<[Id; 1]>],
    ) -> Result<Id, EmitError> {
        let lacking = || EmitError::operator(self.program.graph.node(node), def.name, "reads what no call gives");
        match tensor {
            Tensor::Made { call, slot } => made.get(call).and_then(|ids| ids.get(slot)).copied().ok_or_else(lacking),
            Tensor::Operand(i) => {
                let value = operands.get(i).copied().ok_or_else(lacking)?;
                self.value(value, Some((node, def)))
            }
        }
    }

    /// The tensor that a value is, made of a number if need be.
    fn value(&mut self, value: Value, user: Option<(NodeId, &OpDef)>) -> Result<Id, EmitError> {
        if let Some(&id) = self.ids.get(&value) {
            return Ok(id);
        }
        let node = self.program.graph.node(value.node);
        let dtype = self.program.graph.ty(value).dtype;
        if let Some(number) = self.number(value) {
            // Operators that move elements round it to the element type too; those that compute do not.
            let exact = !dtype.is_float() || dtype.element(number.to_f64()) == as_number(dtype, number);
            let moves = user.is_none_or(|(_, def)| def.family != Family::Elementwise || def.hands_on);
            if !exact && !moves {
                let (user, def) = user.map_or((node, "number"), |(id, def)| (self.program.graph.node(id), def.name));
                let reason = format!("computes with {number}, which is no {dtype}");
                return Err(EmitError::operator(user, def, reason));
            }
        }
        self.operator(value.node)?;
        let lacking = || EmitError::operator(node, "graph", "uses a value before it is computed");
        self.ids.get(&value).copied().ok_or_else(lacking)
    }

    /// The graph's outputs. An output that shows an input which the program writes is copied before, and so is what a second input
    /// gets: an exported program tells the new values of inputs by their names.
    fn outputs(&mut self) -> Result<(), EmitError> {
        let graph = self.program.graph;
        let changed: FxHashSet<&str> = graph.outputs().iter().filter_map(|o| written(&o.target)).collect();
        let mut given = FxHashSet::default();
        for output in graph.outputs() {
            let mut id = self.value(output.value, None)?;
            let shown = shown(graph, output.value);
            let shown = if let NodeKind::Input { .. } = &shown.kind { Some(&*shown.name) } else { None };
            let shows_other = shown.is_some_and(|name| changed.contains(name) && written(&output.target) != Some(name));
            if shows_other || written(&output.target).is_some() && !given.insert(id) {
                id = self.copied(output.value.node, id);
            }
            self.program.outputs.push(id);
        }
        Ok(())
    }

    fn copied(&mut self, node: NodeId, id: Id) -> Id {
        let held = &self.program.tensors[id];
        let (name, ty) = (format!("{}_copy", held.name), held.ty.clone());
        let call = Made {
            target: "aten.clone.default".into(),
            positional: vec![("self".into(), Arg::Tensor(id))],
            keyword: Vec::new(),
            results: SmallVec::from_elem(ty.clone(), 1),
            list: false,
        };
        let copy = self.hold(Held { name, ty, source: Source::Call, value: None });
        self.program.steps.push(Step { node, call, results: SmallVec::from_elem(copy, 1) });
        copy
    }
}

/// The input whose new value an output is.
fn written(target: &Target) -> Option<&str> {
    match target {
        Target::Write(input) => Some(input),
        _ => None,
    }
}

/// The node whose memory a value may lie in: what is in front of views.
fn shown(graph: &Graph, mut value: Value) -> &Node {
    loop {
        let node = graph.node(value.node);
        let shares = match &node.kind {
            NodeKind::Op { op: Op::Table(def), .. } => def.may_alias(),
            _ => false,
        };
        match graph.operands(value.node)[..] {
            [of] if shares => value = of,
            _ => return node,
        }
    }
}

/// A number as an argument beside tensors of type `dtype`.
fn scalar(number: Number, dtype: Option<DType>) -> Arg<Id> {
    match number {
        _ if dtype == Some(DType::Bool) => Arg::Bool(number.is_true()),
        Number::Int(v) if dtype.is_some_and(DType::is_float) => Arg::Float(v as f64),
        Number::Int(v) => Arg::Int(v),
        Number::Float(v) => Arg::Float(v.0),
    }
}

/// The number that all elements are, bit for bit.
pub(super) fn uniform(data: &[Number]) -> Option<Number> {
    let (first, rest) = data.split_first()?;
    rest.iter().all(|n| n == first).then_some(*first)
}
