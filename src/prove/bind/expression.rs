//! Expressions over the inputs of the other graph: what a derived input is.

use std::fmt;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::ir::{AttrValue, Attrs, DType, Graph, NodeId, NodeKind, Steps, TensorType, Value};
use crate::ops::{self, Arithmetic, Call, Op, OpDef, TypeError, is_number};

/// A part of an [`Expression`], by its number.
pub(super) type PartId = usize;

/// One operator, or an input.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// Input `i` of the other graph, in that graph's order.
    Input(usize),
    Apply {
        op: &'static OpDef,
        attrs: Attrs,
        slot: usize,
        operands: SmallVec<[PartId; 4]>,
    },
}

/// Rows of an input, or of its transpose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub start: usize,
    pub end: usize,
    pub is_transposed: bool,
}

/// A typed expression over inputs. Operands have smaller numbers than what uses them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Expression {
    parts: Vec<(Part, TensorType)>,
    root: PartId,
}

impl Expression {
    /// The inputs of types `ty` joined along `dim`; each transposed first where `transposed`.
    pub(super) fn joined(
        inputs: &[(usize, &TensorType)],
        dim: usize,
        transposed: bool,
    ) -> Result<Expression, TypeError> {
        let mut expression = Expression::default();
        let mut operands = Vec::new();
        for &(i, ty) in inputs {
            let input = expression.input(i, ty);
            operands.push(if transposed { expression.transpose(input)? } else { input });
        }
        expression.root = match operands.as_slice() {
            &[one] => one,
            _ => expression.join(&operands, dim)?,
        };
        Ok(expression)
    }

    /// Input `i` in another element type.
    pub(super) fn cast(i: usize, ty: &TensorType, dtype: DType) -> Result<Expression, TypeError> {
        let mut expression = Expression::default();
        let input = expression.input(i, ty);
        expression.root = expression.table("cast", &[("dtype", AttrValue::DType(dtype))], &[input])?;
        Ok(expression)
    }

    /// Input `i` as it is.
    pub(super) fn of_input(i: usize, ty: &TensorType) -> Expression {
        let mut expression = Expression::default();
        expression.root = expression.input(i, ty);
        expression
    }

    /// The values of `parts` joined along `dim`.
    pub(super) fn concat(parts: &[Expression], dim: usize) -> Result<Expression, TypeError> {
        let mut expression = Expression::default();
        let mut operands = Vec::new();
        for part in parts {
            let mut moved: Vec<PartId> = Vec::new();
            for (own, ty) in &part.parts {
                let next = match own {
                    Part::Input(i) => expression.input(*i, ty),
                    Part::Apply { op, attrs, slot, operands } => {
                        let operands = operands.iter().map(|&id| moved[id]).collect();
                        expression.push(Part::Apply { op, attrs: attrs.clone(), slot: *slot, operands }, ty.clone())
                    }
                };
                moved.push(next);
            }
            operands.extend(moved.get(part.root));
        }
        expression.root = expression.join(&operands, dim)?;
        Ok(expression)
    }

    /// Rows of inputs, each of `width` elements, one after another, as a tensor of `shape`. A vector has rows of one element.
    pub(super) fn of_rows<'t>(
        rows: impl Iterator<Item = (usize, &'t TensorType, Rows)>,
        width: usize,
        shape: &[usize],
    ) -> Result<Expression, TypeError> {
        let mut expression = Expression::default();
        let mut parts = Vec::new();
        for (i, ty, rows) in rows {
            let mut part = expression.input(i, ty);
            let count = ty.numel() / width.max(1);
            if rows.is_transposed {
                part = expression.transpose(part)?;
            } else if ty.rank() > 2 {
                part = expression.reshape(part, &[count, width])?;
            }
            if (rows.start, rows.end) != (0, count) {
                let [start, end] = [rows.start, rows.end].map(|at| AttrValue::Int(at as i64));
                part = expression.table(
                    "slice",
                    &[("dim", AttrValue::Int(0)), ("start", start), ("end", end)],
                    &[part],
                )?;
            }
            parts.push(part);
        }
        let root = match parts.as_slice() {
            &[one] => one,
            _ => expression.join(&parts, 0)?,
        };
        let is_shaped = expression.parts[root].1.shape[..] == *shape;
        expression.root = if is_shaped { root } else { expression.reshape(root, shape)? };
        Ok(expression)
    }

    /// Input `i` with its elements in the order that `steps` lead to.
    pub(super) fn arranged(i: usize, ty: &TensorType, steps: &Steps) -> Result<Expression, TypeError> {
        let mut expression = Expression::default();
        let mut part = expression.input(i, ty);
        if let Some(shape) = &steps.split {
            part = expression.reshape(part, shape)?;
        }
        if let Some(order) = &steps.order {
            part = expression.permute(part, order)?;
        }
        if let Some(shape) = &steps.shape {
            part = expression.reshape(part, shape)?;
        }
        expression.root = part;
        Ok(expression)
    }

    fn transpose(&mut self, matrix: PartId) -> Result<PartId, TypeError> {
        self.permute(matrix, &[1, 0])
    }

    fn permute(&mut self, part: PartId, dims: &[usize]) -> Result<PartId, TypeError> {
        self.table("permute", &[("dims", AttrValue::shape(dims))], &[part])
    }

    fn reshape(&mut self, part: PartId, shape: &[usize]) -> Result<PartId, TypeError> {
        self.table("reshape", &[("shape", AttrValue::shape(shape))], &[part])
    }

    fn join(&mut self, parts: &[PartId], dim: usize) -> Result<PartId, TypeError> {
        self.table("concat", &[("dim", AttrValue::Int(dim as i64))], parts)
    }

    fn table(&mut self, op: &'static str, attrs: &[(&str, AttrValue)], on: &[PartId]) -> Result<PartId, TypeError> {
        let def = ops::find(op).ok_or_else(|| TypeError::new(op, "is not in the table"))?;
        let attrs = def.attrs(attrs)?;
        let types: Vec<&TensorType> = on.iter().map(|&id| &self.parts[id].1).collect();
        let inferred = Call { op: def, attrs: &attrs, operands: &types }.infer()?;
        let ty = inferred.into_iter().next().ok_or_else(|| TypeError::new(op, "has no output"))?;
        Ok(self.push(Part::Apply { op: def, attrs, slot: 0, operands: SmallVec::from_slice(on) }, ty))
    }

    /// A value of a graph whose inputs are those of the other graph, in its order. `None` if it is made of more than inputs
    /// and operators of the table.
    pub(super) fn of_value(graph: &Graph, value: Value) -> Option<Expression> {
        let positions: FxHashMap<NodeId, usize> = graph.inputs().iter().zip(0..).map(|(&id, i)| (id, i)).collect();
        let mut expression = Expression::default();
        let mut parts: FxHashMap<Value, PartId> = FxHashMap::default();
        let mut stack = vec![value];
        while let Some(&top) = stack.last() {
            let operands = graph.operands(top.node);
            let before = stack.len();
            stack.extend(operands.iter().filter(|o| !parts.contains_key(o)));
            if stack.len() > before {
                continue;
            }
            stack.pop();
            let part = match &graph.node(top.node).kind {
                NodeKind::Input { .. } => Part::Input(*positions.get(&top.node)?),
                NodeKind::Op { op: Op::Table(op), attrs } => {
                    let operands = operands.iter().map(|o| parts[o]).collect();
                    Part::Apply { op, attrs: attrs.clone(), slot: top.slot as usize, operands }
                }
                _ => return None,
            };
            let next = expression.parts.len();
            let id = *parts.entry(top).or_insert(next);
            if id == next {
                expression.push(part, graph.ty(top).clone());
            }
        }
        expression.root = *parts.get(&value)?;
        Some(expression)
    }

    /// The input that the expression is, under another name.
    pub(super) fn alias(&self) -> Option<usize> {
        match &self.parts.get(self.root)?.0 {
            Part::Apply { op, operands, .. } if op.name == "alias" => match self.parts.get(*operands.first()?)?.0 {
                Part::Input(i) => Some(i),
                Part::Apply { .. } => None,
            },
            _ => None,
        }
    }

    /// The input that the expression is, as integers of a narrower type.
    pub(super) fn narrowed(&self) -> Option<usize> {
        let (Part::Apply { op, operands, .. }, ty) = self.parts.get(self.root)? else { return None };
        let (Part::Input(i), wide) = self.parts.get(*operands.first()?)? else { return None };
        (op.arithmetic() == Arithmetic::Cast
            && wide.dtype.is_int()
            && ty.dtype.is_int()
            && ty.dtype.widens_to(wide.dtype))
        .then_some(*i)
    }

    /// Reads input `to` in the place of `from`, which has the same type. Whether it read that.
    pub(super) fn replace_input(&mut self, from: usize, to: usize) -> bool {
        let mut found = false;
        for (part, _) in &mut self.parts {
            if *part == Part::Input(from) {
                *part = Part::Input(to);
                found = true;
            }
        }
        found
    }

    /// The part that stands for input `i`.
    fn input(&mut self, i: usize, ty: &TensorType) -> PartId {
        let known = self.parts.iter().position(|(p, _)| *p == Part::Input(i));
        known.unwrap_or_else(|| self.push(Part::Input(i), ty.clone()))
    }

    fn push(&mut self, part: Part, ty: TensorType) -> PartId {
        self.parts.push((part, ty));
        self.parts.len() - 1
    }

    /// The type of its value.
    pub(super) fn ty(&self) -> &TensorType {
        &self.parts[self.root].1
    }

    pub(super) fn root(&self) -> PartId {
        self.root
    }

    /// All parts in order, with the types of their values.
    pub(super) fn typed_parts(&self) -> impl Iterator<Item = &(Part, TensorType)> {
        self.parts.iter()
    }

    /// All parts in order; only those that the root needs count.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().map(|(part, _)| part)
    }

    /// Inputs that the expression reads, each once.
    pub(super) fn inputs(&self) -> impl Iterator<Item = usize> + '_ {
        self.parts.iter().filter_map(|(part, _)| match part {
            Part::Input(i) => Some(*i),
            Part::Apply { .. } => None,
        })
    }

    /// The expression as text, as binding files hold it; `name` names an input.
    pub(super) fn show<'e>(&'e self, name: &'e dyn Fn(usize) -> String) -> impl fmt::Display + 'e {
        Shown { expression: self, name }
    }
}

struct Shown<'e> {
    expression: &'e Expression,
    name: &'e dyn Fn(usize) -> String,
}

impl Shown<'_> {
    fn part(&self, id: PartId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (op, attrs, slot, operands) = match self.expression.parts.get(id) {
            Some((Part::Input(i), _)) => return f.write_str(&(self.name)(*i)),
            Some((Part::Apply { op, attrs, slot, operands }, _)) => (op, attrs, slot, operands),
            None => return Ok(()),
        };
        if let Some(value) = op.attr_index("value").filter(|_| is_number(op)).and_then(|i| attrs.get(i)) {
            return write!(f, "{value}");
        }
        write!(f, "{}(", op.name)?;
        for (i, &operand) in operands.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            self.part(operand, f)?;
        }
        let mut separator = "; ";
        for (attr, value) in op.attrs.iter().zip(attrs) {
            if !attr.default.value().is_some_and(|d| d.is_same(value)) {
                write!(f, "{separator}{}={value}", attr.name)?;
                separator = ", ";
            }
        }
        f.write_str(")")?;
        if *slot > 0 { write!(f, ".{slot}") } else { Ok(()) }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part(self.expression.root, f)
    }
}
