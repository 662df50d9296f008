//! One operator of the file while it is lowered: its inputs and attributes, and the nodes it becomes.

use std::path::Path;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::held::{Constant, Held, Sink};
use super::proto;
use super::tensor;
use crate::frontend::builder::{Lowering, Refusal, Values, int, ints};
use crate::ir::{AttrValue, DType, Number, Origin, Shape, TensorType, Value};
use crate::ops::{self, LayoutRule, shortest_number};

/// What lowering an operator gives: what its outputs stand for, or `None` where nothing here covers the call.
pub(super) type Lowered = Result<Option<Vec<Held>>, Refusal>;

/// The attributes of a call by name; those that a function's body takes over from its call are in place.
pub(super) type Attributes<'m> = FxHashMap<&'m str, &'m proto::Attribute>;

/// Initializers that are inputs of the graph.
pub(super) type Initialized<'m> = FxHashMap<Value, &'m proto::Tensor>;

/// Inputs whose values the graph is read for.
pub(super) type Given = FxHashMap<Value, Rc<Constant>>;

/// One operator of the file.
pub(super) struct NodeLowering<'s, 'm> {
    pub sink: &'s mut Sink,
    pub node: &'m proto::Node,
    pub attributes: &'s Attributes<'m>,
    pub inputs: &'s [Option<Held>],
    /// The version of the operator set that the operator belongs to.
    pub version: i64,
    /// The unique name of the node.
    pub name: &'s str,
    pub origin: Origin,
    pub initialized: &'s Initialized<'m>,
    pub given: &'s Given,
    /// Where the model lies.
    pub folder: &'s Path,
}

/// What is wrong with a number of an attribute.
fn wrong(name: &str, wanted: &str) -> Refusal {
    Refusal::new(format!("takes {wanted} as `{name}`"))
}

/// The number that somebody meant, where an `f32` is all that is left of it: 1e-5 for 9.99999975e-06. In `f32` and
/// narrower types both are one number.
fn written(value: f32) -> f64 {
    shortest_number(DType::F32, Number::float(f64::from(value))).to_f64()
}

/// One output.
pub(super) fn one(value: Value) -> Lowered {
    Ok(Some(vec![value.into()]))
}

impl<'m> NodeLowering<'_, 'm> {
    pub(super) fn lowering(&mut self) -> Lowering<'_> {
        self.sink.builder.lower(self.name, self.origin.clone())
    }

    // Inputs.

    pub(super) fn held(&self, i: usize) -> Option<&Held> {
        self.inputs.get(i)?.as_ref()
    }

    pub(super) fn has_input(&self, i: usize) -> bool {
        self.held(i).is_some()
    }

    /// Input `i` as an operand, if it is given.
    pub(super) fn maybe(&mut self, i: usize) -> Result<Option<Value>, Refusal> {
        match self.inputs.get(i) {
            Some(Some(held)) => self.sink.value(held).map(Some),
            _ => Ok(None),
        }
    }

    /// Input `i` as an operand.
    pub(super) fn x(&mut self, i: usize) -> Result<Value, Refusal> {
        self.maybe(i)?.ok_or_else(|| Refusal::new(format!("needs input {i}")))
    }

    /// All inputs as operands.
    pub(super) fn all(&mut self) -> Result<Vec<Value>, Refusal> {
        (0..self.inputs.len()).map(|i| self.x(i)).collect()
    }

    /// All inputs as operands that broadcast. A constant of one element is a number, as other formats have it, where another operand
    /// has as many dimensions: exporters write `[1]` and `[1, 1]` for numbers.
    pub(super) fn broadcast(&mut self) -> Result<Vec<Value>, Refusal> {
        let number = |held: &Option<Held>| match held {
            Some(Held::Constant(constant)) => Some((constant.clone(), constant.number()?)),
            _ => None,
        };
        let numbers: Vec<_> = self.inputs.iter().map(number).collect();
        let tensors = self.inputs.iter().zip(&numbers).filter(|(_, number)| number.is_none());
        let rank = tensors.filter_map(|(held, _)| Some(self.sink.ty(held.as_ref()?)?.rank())).max();
        numbers
            .into_iter()
            .enumerate()
            .map(|(i, number)| match number {
                Some((constant, number)) if rank.is_some_and(|rank| (1..=rank).contains(&constant.ty.rank())) => {
                    let dtype = constant.ty.dtype;
                    self.lowering().number(&format!("input{i}"), shortest_number(dtype, number), dtype)
                }
                _ => self.x(i),
            })
            .collect()
    }

    /// The elements of input `i`, if it is given and they are known.
    pub(super) fn constant(&self, i: usize) -> Result<Option<Rc<Constant>>, Refusal> {
        match self.held(i) {
            Some(Held::Constant(constant)) => Ok(Some(constant.clone())),
            Some(Held::Value(value)) => {
                if let Some(constant) = self.given.get(value) {
                    return Ok(Some(constant.clone()));
                }
                let Some(tensor) = self.initialized.get(value) else { return Ok(None) };
                let ty = tensor::type_of(tensor)?;
                let name = tensor.name.clone().unwrap_or_default();
                let data = tensor::known(tensor, &ty, self.folder)?;
                Ok(data.map(|data| Rc::new(Constant { name, ty, data: data.into() })))
            }
            _ => Ok(None),
        }
    }

    /// The elements of input `i`, which the shape of the result depends on. `None` if it is not given.
    ///
    /// # Errors
    /// If they are known only when the model runs.
    pub(super) fn fixed(&self, i: usize) -> Result<Option<Rc<Constant>>, Refusal> {
        if !self.has_input(i) {
            return Ok(None);
        }
        let unknown = || {
            Refusal::new(format!("takes a tensor as input {i} whose elements are known only when the model runs"))
                .help("shapes have to be fixed: export with static shapes")
        };
        self.constant(i)?.ok_or_else(unknown).map(Some)
    }

    /// Input `i` as integers; see [`fixed`](Self::fixed).
    pub(super) fn fixed_ints(&self, i: usize) -> Result<Option<Vec<i64>>, Refusal> {
        let whole = |c: Rc<Constant>| c.ints().ok_or_else(|| Refusal::new(format!("takes integers as input {i}")));
        self.fixed(i)?.map(whole).transpose()
    }

    /// Input `i` as an integer; see [`fixed`](Self::fixed).
    pub(super) fn fixed_int(&self, i: usize) -> Result<Option<i64>, Refusal> {
        match self.fixed_ints(i)?.as_deref() {
            None => Ok(None),
            Some([one]) => Ok(Some(*one)),
            Some(_) => Err(Refusal::new(format!("takes one integer as input {i}"))),
        }
    }

    /// A list that is an attribute before version `since`, and input `i` from there on.
    pub(super) fn list(&self, name: &str, i: usize, since: i64) -> Result<Option<Vec<i64>>, Refusal> {
        if self.version < since { self.int_list(name) } else { self.fixed_ints(i) }
    }

    /// The sequence that is input `i`.
    pub(super) fn sequence(&self, i: usize) -> Result<Rc<Vec<Held>>, Refusal> {
        match self.held(i) {
            Some(Held::List(list)) => Ok(list.clone()),
            _ => Err(Refusal::new(format!("takes a sequence as input {i}"))),
        }
    }

    pub(super) fn ty(&self, value: Value) -> TensorType {
        self.sink.builder.graph.ty(value).clone()
    }

    pub(super) fn shape(&self, value: Value) -> Shape {
        self.sink.builder.graph.ty(value).shape.clone()
    }

    /// Dimension `dim` of `value`, 1 where it has none.
    pub(super) fn size(&self, value: Value, dim: usize) -> i64 {
        self.sink.builder.graph.ty(value).shape.get(dim).map_or(1, |&d| d as i64)
    }

    pub(super) fn dtype(&self, value: Value) -> DType {
        self.sink.builder.graph.ty(value).dtype
    }

    pub(super) fn rank(&self, value: Value) -> usize {
        self.sink.builder.graph.ty(value).rank()
    }

    /// Dimension `dim` of `value`, counted from the front.
    pub(super) fn dim(&mut self, value: Value, dim: i64) -> Result<i64, Refusal> {
        self.lowering().dim_of(value, dim)
    }

    /// Dimensions of `value`, counted from the front.
    pub(super) fn dims(&mut self, value: Value, dims: &[i64]) -> Result<Vec<i64>, Refusal> {
        let lowering = self.lowering();
        dims.iter().map(|&d| lowering.dim_of(value, d)).collect()
    }

    // Outputs.

    /// Whether output `i` is asked for.
    pub(super) fn wants(&self, i: usize) -> bool {
        self.node.output.get(i).is_some_and(|name| !name.is_empty())
    }

    // Attributes.

    fn attribute(&self, name: &str) -> Option<&'m proto::Attribute> {
        self.attributes.get(name).copied()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.attribute(name).is_some()
    }

    pub(super) fn maybe_int(&self, name: &str) -> Result<Option<i64>, Refusal> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        attribute.i.ok_or_else(|| wrong(name, "an integer")).map(Some)
    }

    pub(super) fn int(&self, name: &str, default: i64) -> Result<i64, Refusal> {
        Ok(self.maybe_int(name)?.unwrap_or(default))
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        Ok(self.int(name, 0)? != 0)
    }

    /// A number that is used beside tensors of at most 32 bits.
    pub(super) fn maybe_float(&self, name: &str) -> Result<Option<f64>, Refusal> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        attribute.f.ok_or_else(|| wrong(name, "a number")).map(|f| Some(written(f)))
    }

    /// A number beside tensors of type `dtype`.
    pub(super) fn float(&self, name: &str, default: f32, dtype: DType) -> Result<f64, Refusal> {
        let near = self.maybe_float(name)?.unwrap_or_else(|| written(default));
        // Doubles tell the number that was written from what is left of it.
        Ok(if dtype == DType::F64 { f64::from(near as f32) } else { near })
    }

    pub(super) fn text(&self, name: &str, default: &'m str) -> Result<&'m str, Refusal> {
        let Some(attribute) = self.attribute(name) else { return Ok(default) };
        let bytes = attribute.s.as_ref().ok_or_else(|| wrong(name, "a text"))?;
        std::str::from_utf8(bytes).map_err(|_| wrong(name, "a text"))
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<&'m str>, Refusal> {
        let Some(attribute) = self.attribute(name) else { return Ok(Vec::new()) };
        let text = |bytes: &'m prost::bytes::Bytes| std::str::from_utf8(bytes).map_err(|_| wrong(name, "texts"));
        attribute.strings.iter().map(text).collect()
    }

    pub(super) fn int_list(&self, name: &str) -> Result<Option<Vec<i64>>, Refusal> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        match (&attribute.ints[..], attribute.i, attribute.kind) {
            ([], Some(_), _) | ([], _, Some(1..=6 | 8..)) => Err(wrong(name, "a list of integers")),
            (all, ..) => Ok(Some(all.to_vec())),
        }
    }

    pub(super) fn float_list(&self, name: &str) -> Vec<f64> {
        self.attribute(name).map_or_else(Vec::new, |a| a.floats.iter().map(|&f| written(f)).collect())
    }

    pub(super) fn tensor(&self, name: &str) -> Option<&'m proto::Tensor> {
        self.attribute(name)?.t.as_ref()
    }

    pub(super) fn sparse(&self, name: &str) -> Option<&'m proto::SparseTensor> {
        self.attribute(name)?.sparse_tensor.as_ref()
    }

    /// An element type by its code.
    pub(super) fn maybe_dtype(&self, name: &str) -> Result<Option<DType>, Refusal> {
        let Some(code) = self.maybe_int(name)? else { return Ok(None) };
        let code = i32::try_from(code).map_err(|_| wrong(name, "the code of an element type"))?;
        match tensor::dtype(code)? {
            (dtype, bits) if bits as usize == 8 * dtype.bytes() => Ok(Some(dtype)),
            _ => Err(Refusal::new("computes 4-bit integers, which is not supported")),
        }
    }

    // Nodes.

    /// A node that takes part in what the operator computes, with all its outputs.
    pub(super) fn nodes(
        &mut self,
        op: &str,
        attrs: &[(&str, AttrValue)],
        operands: &[Value],
    ) -> Result<Values, Refusal> {
        let def = ops::find(op).ok_or_else(|| Refusal::new(format!("needs the operator `{op}`")))?;
        // What moves no element and what changes types runs inside of the kernels around it.
        let implicit = matches!(def.layout, LayoutRule::View(_)) || matches!(op, "cast" | "number");
        let attrs = def.attrs(attrs).map_err(|e| Refusal::new(e.to_string()))?;
        let mut lowering = self.lowering();
        if implicit { lowering.implicit_op(op, def, attrs, operands) } else { lowering.part(op, def, attrs, operands) }
    }

    /// A node that takes part in what the operator computes.
    pub(super) fn op(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Result<Value, Refusal> {
        let values = self.nodes(op, attrs, operands)?;
        values.first().copied().ok_or_else(|| Refusal::new(format!("makes `{op}` give nothing")))
    }

    /// The node that stands for the operator, with all its outputs.
    pub(super) fn done(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Lowered {
        let values = self.lowering().emit(op, attrs, operands)?;
        Ok(values.map(|values| values.into_iter().map(Held::from).collect()))
    }

    /// An operator without attributes over two operands, which broadcast.
    pub(super) fn binary(&mut self, op: &str, x: Value, y: Value) -> Result<Value, Refusal> {
        self.op(op, &[], &[x, y])
    }

    pub(super) fn unary(&mut self, op: &str, x: Value) -> Result<Value, Refusal> {
        self.op(op, &[], &[x])
    }

    /// A number beside `like`.
    pub(super) fn number(&mut self, value: impl Into<Number>, like: Value) -> Result<Value, Refusal> {
        let dtype = self.dtype(like);
        let value = value.into();
        let value = dtype.number(value).unwrap_or(value);
        self.lowering().number("number", value, dtype)
    }

    /// `x` and a number under an operator.
    pub(super) fn with(&mut self, op: &str, x: Value, value: impl Into<Number>) -> Result<Value, Refusal> {
        let number = self.number(value, x)?;
        self.binary(op, x, number)
    }

    pub(super) fn cast(&mut self, x: Value, dtype: DType) -> Result<Value, Refusal> {
        self.lowering().cast("cast", x, dtype)
    }

    pub(super) fn reshape(&mut self, x: Value, sizes: &[i64]) -> Result<Value, Refusal> {
        if self.shape(x).iter().map(|&d| d as i64).eq(sizes.iter().copied()) {
            return Ok(x);
        }
        self.op("reshape", &[("shape", ints(sizes))], &[x])
    }

    pub(super) fn permute(&mut self, x: Value, dims: &[i64]) -> Result<Value, Refusal> {
        if dims.iter().copied().eq(0..dims.len() as i64) {
            return Ok(x);
        }
        self.op("permute", &[("dims", ints(dims))], &[x])
    }

    /// The last two dimensions exchanged.
    pub(super) fn transpose(&mut self, x: Value) -> Result<Value, Refusal> {
        let rank = self.rank(x) as i64;
        if rank < 2 {
            return Err(Refusal::new("transposes a tensor that is no matrix"));
        }
        let dims: Vec<i64> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
        self.permute(x, &dims)
    }

    pub(super) fn slice(&mut self, x: Value, dim: i64, start: i64, end: i64) -> Result<Value, Refusal> {
        if start == 0 && end == self.size(x, dim as usize) {
            return Ok(x);
        }
        self.op("slice", &[("dim", int(dim)), ("start", int(start)), ("end", int(end))], &[x])
    }

    pub(super) fn expand(&mut self, x: Value, sizes: &[i64]) -> Result<Value, Refusal> {
        if self.shape(x).iter().map(|&d| d as i64).eq(sizes.iter().copied()) {
            return Ok(x);
        }
        self.op("expand", &[("shape", ints(sizes))], &[x])
    }

    pub(super) fn concat(&mut self, parts: &[Value], dim: i64) -> Result<Value, Refusal> {
        match parts {
            [one] => Ok(*one),
            _ => self.op("concat", &[("dim", int(dim))], parts),
        }
    }

    /// A reduction over `dims`, whose sizes stay as 1 if `keep`.
    pub(super) fn reduce(&mut self, op: &str, x: Value, dims: &[i64], keep: bool) -> Result<Value, Refusal> {
        if dims.is_empty() {
            return Ok(x);
        }
        self.op(op, &[("dim", ints(dims)), ("keepdim", AttrValue::Bool(keep))], &[x])
    }

    /// A tensor of one value.
    pub(super) fn full(&mut self, sizes: &[i64], value: impl Into<Number>, dtype: DType) -> Result<Value, Refusal> {
        let value = value.into();
        let value = dtype.number(value).unwrap_or(value);
        let attrs = [("shape", ints(sizes)), ("value", value.into()), ("dtype", AttrValue::DType(dtype))];
        self.op("full", &attrs, &[])
    }

    /// The integers from 0 up to, not including, `count`.
    pub(super) fn positions(&mut self, count: i64) -> Result<Value, Refusal> {
        let attrs = [("end", int(count)), ("dtype", AttrValue::DType(DType::I64))];
        self.op("arange", &attrs, &[])
    }

    /// A tensor whose elements are known.
    pub(super) fn literal(&mut self, name: &str, ty: TensorType, data: Vec<Number>) -> Result<Value, Refusal> {
        let name = format!("{}.{name}", self.name);
        self.sink.place(&Rc::new(Constant { name, ty, data: data.into() }))
    }
}
