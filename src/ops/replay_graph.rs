//! A graph, or a part of one, on libtorch: operators in order, tensors let go after their last use.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tch::{Device, Tensor};

use super::replay::{ReplayError, replay};
use super::tensors::{type_of, upload};
use super::{Call, Op, OpDef, is_called, is_number, operand_read};
use crate::ir::{Attrs, Graph, NodeId, NodeKind, TensorType, Value};

/// Where a step finds an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum OperandSource {
    /// A value that the part reads: an input of it.
    Input(usize),
    /// A constant of the graph.
    Constant(usize),
    /// What an earlier step left there.
    Made(usize),
}

struct Step {
    op: &'static OpDef,
    attrs: Attrs,
    operands: SmallVec<[OperandSource; 4]>,
    /// The types that the call has: after casts that the kernel does on the fly.
    types: SmallVec<[TensorType; 4]>,
    outputs: SmallVec<[(usize, TensorType); 1]>,
    /// Inputs and made values that no later step reads.
    dead: Vec<OperandSource>,
}

/// Nodes of a graph, ready to run on a device.
pub struct GraphReplay {
    inputs: Vec<Value>,
    constants: Vec<Tensor>,
    steps: Vec<Step>,
    results: Vec<OperandSource>,
    values: usize,
    device: Device,
}

impl GraphReplay {
    /// Makes the given nodes, in topological order, ready. What they read and do not compute becomes an input; what
    /// others read of them, or the graph gives out, becomes a result.
    ///
    /// # Errors
    /// An operator that is not in the table; a constant that libtorch refuses.
    pub fn new(graph: &Graph, nodes: &[NodeId], device: Device) -> Result<GraphReplay, ReplayError> {
        let inside: FxHashSet<NodeId> = nodes.iter().copied().collect();
        let mut build =
            Build { graph, device, inputs: Vec::new(), constants: Vec::new(), places: FxHashMap::default(), values: 0 };
        let mut steps = Vec::new();
        for &id in nodes {
            let node = graph.node(id);
            let NodeKind::Op { op, attrs } = &node.kind else { continue };
            if !is_called(graph, id) {
                continue;
            }
            let Op::Table(op) = op else { return Err(ReplayError::Opaque(op.name().to_owned())) };
            let operands = graph.operands(id);
            let types = operands.iter().map(|&v| graph.ty(v).clone()).collect();
            let operands =
                operands.iter().map(|&v| build.place(operand_read(graph, v, op), op)).collect::<Result<_, _>>()?;
            let outputs = (0..node.types.len() as u32).map(|slot| build.made(Value::new(id, slot))).collect();
            steps.push(Step { op, attrs: attrs.clone(), operands, types, outputs, dead: Vec::new() });
        }
        let wanted = |v: &Value| {
            graph.outputs().iter().any(|o| o.value == *v) || graph.users(v.node).any(|user| !inside.contains(&user))
        };
        let mut results: Vec<(Value, OperandSource)> = build.places.iter().map(|(v, p)| (*v, *p)).collect();
        results.retain(|(v, place)| matches!(place, OperandSource::Made(_)) && wanted(v));
        results.sort_unstable_by_key(|(v, _)| *v);
        let results: Vec<OperandSource> = results.into_iter().map(|(_, place)| place).collect();
        let mut last: FxHashMap<OperandSource, usize> = FxHashMap::default();
        for (i, step) in steps.iter().enumerate() {
            last.extend(step.outputs.iter().map(|(value, _)| (OperandSource::Made(*value), i)));
            last.extend(step.operands.iter().map(|&place| (place, i)));
        }
        for (place, i) in last {
            if !results.contains(&place) {
                steps[i].dead.push(place);
            }
        }
        let Build { inputs, constants, values, .. } = build;
        Ok(GraphReplay { inputs, constants, steps, results, values, device })
    }

    /// The values that have to be given, in the order of [`GraphReplay::run`]'s argument.
    pub fn inputs(&self) -> &[Value] {
        &self.inputs
    }

    /// Operators that are called, in order.
    pub fn operators(&self) -> impl ExactSizeIterator<Item = &'static OpDef> {
        self.steps.iter().map(|step| step.op)
    }

    /// Runs all operators; gives what others read of them. With `check`, every result has to have the type that the
    /// graph says.
    pub fn run(&self, inputs: &[Tensor], check: bool) -> Result<Vec<Tensor>, ReplayError> {
        let given = |i: usize| inputs.get(i).map(Tensor::shallow_clone).ok_or(ReplayError::Operand("input"));
        self.run_with(given, check)
    }

    /// As [`GraphReplay::run`], with each input made by `input`, which gets its number, right before it is read first, and
    /// let go after it is read last: no more has to fit into memory than what is in use at one time.
    pub fn run_with<E: From<ReplayError>>(
        &self,
        mut input: impl FnMut(usize) -> Result<Tensor, E>,
        check: bool,
    ) -> Result<Vec<Tensor>, E> {
        let none = |count: usize| -> Vec<Option<Tensor>> { (0..count).map(|_| None).collect() };
        let mut held = Held { inputs: none(self.inputs.len()), made: none(self.values) };
        for step in &self.steps {
            let missing = || ReplayError::Operand(step.op.name);
            let mut operands: Vec<Tensor> = Vec::with_capacity(step.operands.len());
            for &place in &step.operands {
                if let OperandSource::Input(i) = place
                    && held.inputs[i].is_none()
                {
                    held.inputs[i] = Some(input(i)?);
                }
                operands.push(self.find(place, &held).ok_or_else(missing)?);
            }
            let types: SmallVec<[&TensorType; 4]> = step.types.iter().collect();
            let call = Call { op: step.op, attrs: &step.attrs, operands: &types };
            let results = replay(&call, &operands, self.device)?;
            for (tensor, (value, ty)) in results.into_iter().zip(&step.outputs) {
                if check && type_of(&tensor).as_ref() != Some(ty) {
                    return Err(ReplayError::Type(step.op.name, ty.to_string()).into());
                }
                held.made[*value] = Some(tensor);
            }
            for &place in &step.dead {
                match place {
                    OperandSource::Input(i) => held.inputs[i] = None,
                    OperandSource::Made(i) => held.made[i] = None,
                    OperandSource::Constant(_) => {}
                }
            }
        }
        let results = self.results.iter().map(|&p| self.find(p, &held).ok_or(ReplayError::Operand("result")));
        Ok(results.collect::<Result<_, _>>()?)
    }

    /// A tensor of `tch` is a counted reference; this copies no elements.
    fn find(&self, place: OperandSource, held: &Held) -> Option<Tensor> {
        match place {
            OperandSource::Input(i) => held.inputs.get(i).and_then(Option::as_ref),
            OperandSource::Constant(i) => self.constants.get(i),
            OperandSource::Made(i) => held.made.get(i).and_then(Option::as_ref),
        }
        .map(Tensor::shallow_clone)
    }
}

/// What is in memory during a run.
struct Held {
    inputs: Vec<Option<Tensor>>,
    made: Vec<Option<Tensor>>,
}

struct Build<'g> {
    graph: &'g Graph,
    device: Device,
    inputs: Vec<Value>,
    constants: Vec<Tensor>,
    places: FxHashMap<Value, OperandSource>,
    values: usize,
}

impl Build<'_> {
    fn made(&mut self, value: Value) -> (usize, TensorType) {
        let at = self.values;
        self.values += 1;
        self.places.insert(value, OperandSource::Made(at));
        (at, self.graph.ty(value).clone())
    }

    /// Where `op` finds `value`.
    fn place(&mut self, value: Value, op: &OpDef) -> Result<OperandSource, ReplayError> {
        if let Some(&known) = self.places.get(&value) {
            return Ok(known);
        }
        let node = self.graph.node(value.node);
        let ty = self.graph.ty(value);
        let constant = match &node.kind {
            NodeKind::Literal(literal) => Some(upload(ty, &literal.data, self.device)?),
            NodeKind::Op { op: Op::Table(made), attrs } if is_number(made) => {
                // A number of the source: PyTorch hands it to the kernel as an argument. The logical operators take none.
                let device = if op.name.starts_with("logical_") { self.device } else { Device::Cpu };
                let call = Call { op: made, attrs, operands: &[] };
                replay(&call, &[], device)?.pop()
            }
            _ => None,
        };
        let place = match constant {
            Some(tensor) => {
                self.constants.push(tensor);
                OperandSource::Constant(self.constants.len() - 1)
            }
            None => {
                self.inputs.push(value);
                OperandSource::Input(self.inputs.len() - 1)
            }
        };
        // Two operators may want the same number on different devices.
        if !matches!(place, OperandSource::Constant(_)) {
            self.places.insert(value, place);
        }
        Ok(place)
    }
}
