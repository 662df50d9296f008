//! What a name of the file stands for.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::frontend::builder::{Builder, Refusal};
use crate::ir::{DType, Number, Origin, TensorType, Value};
use crate::ops::shortest_number;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// A tensor of the graph.
    Value(Value),
    /// A tensor whose elements are known. It becomes a node when one needs it as an operand.
    Constant(Rc<Constant>),
    /// A sequence of known length.
    List(Rc<Vec<Held>>),
    /// An optional that holds nothing.
    Nothing,
}

/// A tensor whose elements are known.
#[derive(Debug)]
pub(super) struct Constant {
    pub name: String,
    pub ty: TensorType,
    /// In row-major order.
    pub data: Arc<[Number]>,
}

impl Constant {
    pub(super) fn held(name: &str, ty: TensorType, data: Vec<Number>) -> Held {
        Held::Constant(Rc::new(Constant { name: name.to_owned(), ty, data: data.into() }))
    }

    /// The elements as integers.
    pub(super) fn ints(&self) -> Option<Vec<i64>> {
        self.data.iter().map(|n| n.to_i64()).collect()
    }

    pub(super) fn floats(&self) -> Vec<f64> {
        self.data.iter().map(|n| n.to_f64()).collect()
    }

    /// The only element.
    pub(super) fn number(&self) -> Option<Number> {
        match self.data[..] {
            [one] => Some(one),
            _ => None,
        }
    }
}

impl From<Value> for Held {
    fn from(value: Value) -> Self {
        Held::Value(value)
    }
}

/// Integers as a tensor of one dimension.
pub(super) fn int_list(name: &str, values: &[i64]) -> Result<Held, Refusal> {
    let ty = super::tensor::tensor_type(DType::I64, [values.len()].into_iter().collect())?;
    Ok(Constant::held(name, ty, values.iter().map(|&v| Number::Int(v)).collect()))
}

/// The graph under construction, and the constants that are nodes of it.
pub(super) struct Sink {
    pub builder: Builder,
    placed: FxHashMap<*const Constant, (Rc<Constant>, Value)>,
}

impl Sink {
    pub(super) fn new(builder: Builder) -> Self {
        Sink { builder, placed: FxHashMap::default() }
    }

    /// The node for a constant.
    pub(super) fn place(&mut self, constant: &Rc<Constant>) -> Result<Value, Refusal> {
        if let Some((_, value)) = self.placed.get(&Rc::as_ptr(constant)) {
            return Ok(*value);
        }
        let value = match (constant.ty.rank(), &constant.data[..]) {
            // A number beside tensors, which other formats have as such too.
            (0, [number]) => {
                let number = shortest_number(constant.ty.dtype, *number);
                self.builder.lower(&constant.name, Origin::default()).number("number", number, constant.ty.dtype)?
            }
            _ => {
                let (name, ty) = (self.builder.names.fresh(&constant.name), constant.ty.clone());
                self.builder.graph.add_literal(&name, ty, constant.data.clone(), Origin::default())?.into()
            }
        };
        self.placed.insert(Rc::as_ptr(constant), (constant.clone(), value));
        Ok(value)
    }

    /// The tensor that something stands for.
    pub(super) fn value(&mut self, held: &Held) -> Result<Value, Refusal> {
        match held {
            Held::Value(value) => Ok(*value),
            Held::Constant(constant) => self.place(constant),
            Held::List(_) => Err(Refusal::new("takes a sequence where a tensor is wanted")),
            Held::Nothing => Err(Refusal::new("takes an empty optional where a tensor is wanted")),
        }
    }

    pub(super) fn ty(&self, held: &Held) -> Option<TensorType> {
        match held {
            Held::Value(value) => Some(self.builder.graph.ty(*value).clone()),
            Held::Constant(constant) => Some(constant.ty.clone()),
            Held::List(_) | Held::Nothing => None,
        }
    }
}
