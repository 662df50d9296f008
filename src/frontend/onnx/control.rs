//! Functions and control flow: what is fixed when the file is read is written out.

use std::rc::Rc;

use super::held::{Constant, Held};
use super::import::Importer;
use super::lowering::Attributes;
use super::opaque;
use super::proto;
use super::proto::{shown, target};
use super::scope::{Frame, Scope};
use crate::frontend::LoadError;
use crate::frontend::builder::{Refusal, int};
use crate::ir::{DType, Number, Origin, Shape, TensorType, Value};

/// The most rounds of a loop that are written out.
const MAX_ROUNDS: i64 = 1 << 12;

impl<'m> Importer<'m> {
    /// The outputs of a call of a function of the model.
    pub(super) fn function(
        &mut self,
        scope: &mut Scope<'m>,
        node: &'m proto::Node,
        function: &'m proto::Function,
        attributes: &Attributes<'m>,
        inputs: Vec<Option<Held>>,
    ) -> Result<Vec<Held>, LoadError> {
        let refused = |importer: &Importer, refusal| importer.refused(&shown(node), &target(node), refusal);
        let mut all = attributes.clone();
        for default in &function.attribute_proto {
            all.entry(default.name.as_deref().unwrap_or("")).or_insert(default);
        }
        let versions = self.function_versions(function).map_err(|r| refused(self, r))?;
        let prefix = format!("{}{}.", scope.prefix(), shown(node));
        let mut frame = Frame::of_function(function, versions, all, prefix);
        if inputs.len() > function.input.len() {
            let reason = format!("gives {} inputs to a function that takes {}", inputs.len(), function.input.len());
            return Err(refused(self, Refusal::new(reason)));
        }
        let mut inputs = inputs.into_iter();
        for name in &function.input {
            frame.bind(name, inputs.next().flatten()).map_err(|r| refused(self, r))?;
        }
        self.enter(scope, frame).map_err(|r| refused(self, r))?;
        self.nodes(scope, &function.node)?;
        let names = function.output.iter().take(node.output.len()).map(String::as_str);
        let outputs = leave(self, scope, names);
        outputs.map_err(|r| refused(self, r))
    }
}

/// What some names of the innermost graph stand for, which ends here.
fn leave<'m>(
    importer: &mut Importer<'m>,
    scope: &mut Scope<'m>,
    names: impl Iterator<Item = &'m str>,
) -> Result<Vec<Held>, Refusal> {
    let outputs = names.map(|name| Ok(importer.find(scope, name)?.unwrap_or(Held::Nothing))).collect();
    scope.frames.pop();
    outputs
}

impl<'m> Importer<'m> {
    /// The outputs of an operator that takes graphs, where it can be written out. `None` for all other operators.
    pub(super) fn flow(
        &mut self,
        scope: &mut Scope<'m>,
        node: &'m proto::Node,
        attributes: &Attributes<'m>,
        inputs: &[Option<Held>],
    ) -> Result<Option<Vec<Held>>, LoadError> {
        let mut flow = Flow { importer: self, scope, node, attributes, inputs };
        match node.op_type.as_deref() {
            Some("If") => flow.branches(),
            Some("Loop") => flow.rounds(),
            Some("Scan") => flow.scan(),
            Some("SequenceMap") => flow.map(),
            _ => Ok(None),
        }
    }
}

struct Flow<'f, 'm> {
    importer: &'f mut Importer<'m>,
    scope: &'f mut Scope<'m>,
    node: &'m proto::Node,
    attributes: &'f Attributes<'m>,
    inputs: &'f [Option<Held>],
}

type Outputs = Result<Option<Vec<Held>>, LoadError>;

impl<'m> Flow<'_, 'm> {
    fn refused(&self, refusal: Refusal) -> LoadError {
        self.importer.refused(&shown(self.node), &target(self.node), refusal)
    }

    fn graph(&self, name: &str) -> Result<&'m proto::Graph, LoadError> {
        let graph = self.attributes.get(name).and_then(|a| a.g.as_ref());
        graph.ok_or_else(|| self.refused(Refusal::new(format!("needs a graph as `{name}`"))))
    }

    /// What a graph gives for these inputs.
    fn run(&mut self, graph: &'m proto::Graph, inputs: Vec<Held>, part: &str) -> Result<Vec<Held>, LoadError> {
        let prefix = format!("{}{}.{part}.", self.scope.prefix(), shown(self.node));
        let mut frame = Frame::of_graph(graph, prefix);
        // Types inside of a loop may hold for some rounds only.
        frame.stated.clear();
        if inputs.len() != graph.input.len() {
            let reason = format!("gives {} inputs to a graph that takes {}", inputs.len(), graph.input.len());
            return Err(self.refused(Refusal::new(reason)));
        }
        for (info, held) in graph.input.iter().zip(inputs) {
            let bound = frame.bind(info.name.as_deref().unwrap_or(""), Some(held));
            bound.map_err(|r| self.refused(r))?;
        }
        let entered = self.importer.enter(self.scope, frame);
        entered.map_err(|r| self.refused(r))?;
        self.importer.nodes(self.scope, &graph.node)?;
        let names = graph.output.iter().map(|info| info.name.as_deref().unwrap_or(""));
        let outputs = leave(self.importer, self.scope, names);
        outputs.map_err(|r| self.refused(r))
    }

    fn truth(held: &Held) -> Option<bool> {
        match held {
            Held::Constant(constant) => constant.number().map(Number::is_true),
            _ => None,
        }
    }

    /// A node for a part of what the operator does.
    fn op(&mut self, op: &str, attrs: &[(&str, crate::ir::AttrValue)], operands: &[Value]) -> Result<Value, LoadError> {
        let name = format!("{}{}", self.scope.prefix(), shown(self.node));
        let made = self.importer.sink.builder.lower(&name, Origin::default()).implicit(op, op, attrs, operands);
        made.map_err(|r| self.refused(r))
    }

    fn value(&mut self, held: &Held) -> Result<Value, LoadError> {
        let value = self.importer.sink.value(held);
        value.map_err(|r| self.refused(r))
    }

    /// The branch that is taken, or a choice between what both give.
    fn branches(&mut self) -> Outputs {
        let (yes, no) = (self.graph("then_branch")?, self.graph("else_branch")?);
        let Some(Some(condition)) = self.inputs.first().cloned() else {
            return Err(self.refused(Refusal::new("needs a condition")));
        };
        match Self::truth(&condition) {
            Some(true) => return self.run(yes, Vec::new(), "then").map(Some),
            Some(false) => return self.run(no, Vec::new(), "else").map(Some),
            None => {}
        }
        // One of two draws happens, which a choice between both does not say.
        if opaque::draws(yes) || opaque::draws(no) {
            return Ok(None);
        }
        let condition = self.value(&condition)?;
        let condition = self.op("reshape", &[("shape", crate::frontend::builder::ints(&[]))], &[condition])?;
        let (of_yes, of_no) = (self.run(yes, Vec::new(), "then")?, self.run(no, Vec::new(), "else")?);
        let mut outputs = Vec::new();
        for (x, y) in of_yes.iter().zip(&of_no) {
            let (x, y) = (self.value(x)?, self.value(y)?);
            let (tx, ty) = (self.importer.sink.builder.graph.ty(x), self.importer.sink.builder.graph.ty(y));
            if tx != ty {
                let reason = format!("gives {tx} or {ty}, by a condition that is known only when the model runs");
                return Err(self.refused(Refusal::new(reason)));
            }
            outputs.push(self.op("where", &[], &[condition, x, y])?.into());
        }
        Ok(Some(outputs))
    }

    /// A loop whose number of rounds is known.
    fn rounds(&mut self) -> Outputs {
        let body = self.graph("body")?;
        let most = match self.inputs.first() {
            Some(Some(Held::Constant(count))) => count.number().and_then(Number::to_i64),
            Some(Some(_)) => return Ok(None),
            _ => None,
        };
        let mut goes_on = match self.inputs.get(1) {
            Some(Some(held)) => match Self::truth(held) {
                Some(truth) => truth,
                None => return Ok(None),
            },
            _ => true,
        };
        let mut carried: Vec<Held> = self.inputs.iter().skip(2).map(|h| h.clone().unwrap_or(Held::Nothing)).collect();
        let count = carried.len();
        let mut rows: Vec<Vec<Held>> = vec![Vec::new(); body.output.len().saturating_sub(count + 1)];
        let mut round = 0;
        while goes_on && most.is_none_or(|most| round < most) {
            if round == MAX_ROUNDS {
                let refusal = Refusal::new(format!("runs for more than {MAX_ROUNDS} rounds, or has no known end"));
                return Err(self.refused(refusal));
            }
            let number = Constant::held("round", TensorType::scalar(DType::I64), vec![Number::Int(round)]);
            let truth = Constant::held("goes_on", TensorType::scalar(DType::Bool), vec![Number::Int(1)]);
            let inputs = [number, truth].into_iter().chain(carried).collect();
            let mut outputs = self.run(body, inputs, &format!("round{round}"))?.into_iter();
            goes_on = match outputs.next().as_ref().and_then(Self::truth) {
                Some(truth) => truth,
                None => {
                    let refusal = Refusal::new("ends by a condition that is known only when the model runs");
                    return Err(self.refused(refusal.help("only loops whose number of rounds is fixed are read")));
                }
            };
            carried = outputs.by_ref().take(count).collect();
            rows.iter_mut().zip(outputs).for_each(|(rows, held)| rows.push(held));
            round += 1;
        }
        for rows in rows {
            carried.push(self.stacked(&rows, 0)?);
        }
        Ok(Some(carried))
    }

    /// Tensors one after another along a new dimension.
    fn stacked(&mut self, rows: &[Held], dim: i64) -> Result<Held, LoadError> {
        if rows.is_empty() {
            return Err(self.refused(Refusal::new("collects the results of no round, whose type is not known")));
        }
        let mut parts = Vec::with_capacity(rows.len());
        for row in rows {
            let value = self.value(row)?;
            parts.push(self.op("unsqueeze", &[("dim", int(dim))], &[value])?);
        }
        Ok(match parts[..] {
            [one] => one.into(),
            _ => self.op("concat", &[("dim", int(dim))], &parts)?.into(),
        })
    }

    /// One entry of a dimension, without it.
    fn entry(&mut self, x: Value, dim: i64, at: i64) -> Result<Value, LoadError> {
        let attrs = [("dim", int(dim)), ("start", int(at)), ("end", int(at + 1))];
        let part = self.op("slice", &attrs, &[x])?;
        self.op("squeeze", &[("dim", int(dim))], &[part])
    }

    fn int_list(&self, name: &str, count: usize) -> Vec<i64> {
        let given = self.attributes.get(name).map_or(&[][..], |a| &a.ints[..]);
        (0..count).map(|i| given.get(i).copied().unwrap_or(0)).collect()
    }

    /// A dimension counted from the front.
    fn axis(&self, axis: i64, rank: usize) -> Result<i64, LoadError> {
        let dim = crate::ops::shapes::normalize_dim(axis, rank);
        dim.map(|d| d as i64).ok_or_else(|| self.refused(Refusal::new(format!("has no dimension {axis}"))))
    }

    /// A pass over the entries of tensors.
    fn scan(&mut self) -> Outputs {
        let body = self.graph("body")?;
        if self.scope.version("").is_some_and(|v| v < 9) {
            return self.scan_of_batches(body);
        }
        let inputs: Vec<Held> = self.inputs.iter().flatten().cloned().collect();
        self.scan_over(body, &inputs).map(Some)
    }

    fn scan_over(&mut self, body: &'m proto::Graph, inputs: &[Held]) -> Result<Vec<Held>, LoadError> {
        let count = self.attributes.get("num_scan_inputs").and_then(|a| a.i).and_then(|i| usize::try_from(i).ok());
        let count = count.filter(|&n| n > 0 && n <= inputs.len());
        let count =
            count.ok_or_else(|| self.refused(Refusal::new("states no fitting number of tensors to pass over")))?;
        let (states, scanned) = inputs.split_at(inputs.len() - count);
        let mut tensors = Vec::new();
        let axes = self.int_list("scan_input_axes", count);
        for (held, &axis) in scanned.iter().zip(&axes) {
            let value = self.value(held)?;
            let dim = self.axis(axis, self.importer.sink.builder.graph.ty(value).rank())?;
            tensors.push((value, dim));
        }
        let length =
            |&(value, dim): &(Value, i64)| self.importer.sink.builder.graph.ty(value).shape[dim as usize] as i64;
        let rounds = tensors.first().map_or(0, length);
        if rounds > MAX_ROUNDS || tensors.iter().any(|t| length(t) != rounds) {
            return Err(self.refused(Refusal::new("passes over too many entries, or over tensors of unequal length")));
        }
        let mut directions = vec!["scan_input_directions", "directions"].into_iter();
        let backwards = directions.find(|name| self.attributes.contains_key(*name)).unwrap_or("");
        let backwards = self.int_list(backwards, count);
        let mut states: Vec<Held> = states.to_vec();
        let kept = states.len();
        let mut rows: Vec<Vec<Held>> = vec![Vec::new(); body.output.len().saturating_sub(kept)];
        for round in 0..rounds {
            let mut inputs = states;
            for (&(value, dim), &back) in tensors.iter().zip(&backwards) {
                let at = if back != 0 { rounds - 1 - round } else { round };
                inputs.push(self.entry(value, dim, at)?.into());
            }
            let mut outputs = self.run(body, inputs, &format!("round{round}"))?.into_iter();
            states = outputs.by_ref().take(kept).collect();
            rows.iter_mut().zip(outputs).for_each(|(rows, held)| rows.push(held));
        }
        let backwards = self.int_list("scan_output_directions", rows.len());
        let axes = self.int_list("scan_output_axes", rows.len());
        for ((mut rows, back), axis) in rows.into_iter().zip(backwards).zip(axes) {
            if back != 0 {
                rows.reverse();
            }
            let rank = rows.first().and_then(|held| self.importer.sink.ty(held)).map_or(0, |ty| ty.rank());
            let dim = self.axis(axis, rank + 1)?;
            states.push(self.stacked(&rows, dim)?);
        }
        Ok(states)
    }

    /// Before version 9 every tensor has a batch in front, whose entries are passed over one by one.
    fn scan_of_batches(&mut self, body: &'m proto::Graph) -> Outputs {
        if self.inputs.first().is_some_and(Option::is_some) {
            return Ok(None);
        }
        let mut tensors = Vec::new();
        for held in self.inputs.iter().skip(1).flatten() {
            tensors.push(self.value(held)?);
        }
        let shape = |v: &Value| -> Shape { self.importer.sink.builder.graph.ty(*v).shape.clone() };
        let batch = tensors.first().and_then(|v| shape(v).first().copied()).unwrap_or(0) as i64;
        if batch > MAX_ROUNDS || tensors.iter().any(|v| shape(v).first() != Some(&(batch as usize))) {
            return Err(self.refused(Refusal::new("has tensors without a common batch dimension")));
        }
        let mut results: Vec<Vec<Held>> = vec![Vec::new(); body.output.len()];
        for at in 0..batch {
            let entries = tensors.iter().map(|&v| Ok(self.entry(v, 0, at)?.into()));
            let entries = entries.collect::<Result<Vec<Held>, LoadError>>()?;
            let outputs = self.scan_over(body, &entries)?;
            results.iter_mut().zip(outputs).for_each(|(all, held)| all.push(held));
        }
        results.iter().map(|all| self.stacked(all, 0)).collect::<Result<_, _>>().map(Some)
    }

    /// A graph for every entry of a sequence.
    fn map(&mut self) -> Outputs {
        let body = self.graph("body")?;
        let Some(Some(Held::List(first))) = self.inputs.first().cloned() else { return Ok(None) };
        let mut results: Vec<Vec<Held>> = vec![Vec::new(); body.output.len()];
        for (at, entry) in first.iter().enumerate() {
            let mut inputs = vec![entry.clone()];
            for held in self.inputs.iter().skip(1).flatten() {
                match held {
                    Held::List(all) => inputs.push(all.get(at).cloned().unwrap_or(Held::Nothing)),
                    other => inputs.push(other.clone()),
                }
            }
            let outputs = self.run(body, inputs, &format!("entry{at}"))?;
            results.iter_mut().zip(outputs).for_each(|(all, held)| all.push(held));
        }
        Ok(Some(results.into_iter().map(|all| Held::List(Rc::new(all))).collect()))
    }
}
