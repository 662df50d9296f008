//! Formulas that one operator of PyTorch stands for, node by node.

use super::super::lowering::{Converted, NodeLowering, Refusal, Scalar, Values, ints};
use crate::ir::{AttrValue, DType, Ints, Value};

/// A formula while its nodes are made.
pub(super) struct Formula<'f, 's, 'a> {
    pub site: &'f mut NodeLowering<'s, 'a>,
    /// The element type that it is computed in.
    pub dtype: DType,
    /// Whether PyTorch runs a kernel for each operator, and not one for all of them.
    pub in_steps: bool,
    /// Products that a sum in the same kernel may take without rounding them.
    products: Vec<Value>,
}

pub(super) type Term = Result<Value, Refusal>;

/// The last operator of a formula with its operands.
pub(super) type Last = Result<(&'static str, Vec<Value>), Refusal>;

impl<'f, 's, 'a> Formula<'f, 's, 'a> {
    pub(super) fn new(site: &'f mut NodeLowering<'s, 'a>, dtype: DType) -> Self {
        Formula { site, dtype, in_steps: false, products: Vec::new() }
    }

    /// A formula that PyTorch runs a kernel for each operator of.
    pub(super) fn in_steps(site: &'f mut NodeLowering<'s, 'a>, dtype: DType) -> Self {
        Formula { in_steps: true, ..Formula::new(site, dtype) }
    }

    pub(super) fn tensor(&self, name: &str) -> Term {
        self.site.tensor(name)
    }

    pub(super) fn number(&self, name: &str, default: f64) -> Result<f64, Refusal> {
        self.site.float_or(name, default)
    }

    /// What the element type of `self` keeps of a number.
    pub(super) fn stored(&self, name: &str, default: f64) -> Result<f64, Refusal> {
        let (own, number) = (self.site.dtype(self.tensor("self")?), self.number(name, default)?);
        Ok(if own.is_float() { own.round(number) } else { number })
    }

    pub(super) fn literal(&mut self, value: f64) -> Term {
        self.site.literal("number", Scalar::Float(value), self.dtype)
    }

    pub(super) fn op(&mut self, op: &str, operands: &[Value]) -> Term {
        self.node(op, &[], operands)
    }

    pub(super) fn node(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Term {
        if self.in_steps {
            return self.site.step(op, attrs, operands);
        }
        let value = self.site.implicit(op, op, attrs, operands)?;
        if self.takes_product(op, operands) {
            return self.site.implicit("fused", "fused", &[], &[value]);
        }
        if op == "mul" {
            self.products.push(value);
        }
        Ok(value)
    }

    /// Whether a fused multiply-add may compute this operator.
    fn takes_product(&self, op: &str, operands: &[Value]) -> bool {
        matches!(op, "add" | "sub") && self.dtype.is_float() && operands.iter().any(|o| self.products.contains(o))
    }

    pub(super) fn with(&mut self, op: &str, x: Value, number: f64) -> Term {
        let number = self.literal(number)?;
        self.op(op, &[x, number])
    }

    /// `number - x`.
    pub(super) fn from(&mut self, number: f64, x: Value) -> Term {
        let number = self.literal(number)?;
        self.op("sub", &[number, x])
    }

    pub(super) fn at_least(&mut self, x: Value, least: f64) -> Term {
        self.node("clamp", &[("min", AttrValue::float(least))], &[x])
    }

    pub(super) fn at_most(&mut self, x: Value, most: f64) -> Term {
        self.node("clamp", &[("max", AttrValue::float(most))], &[x])
    }

    pub(super) fn reshape(&mut self, x: Value, shape: &[usize]) -> Term {
        self.site.implicit("reshape", "reshape", &[("shape", AttrValue::shape(shape))], &[x])
    }

    /// The sum over all of these dimensions.
    pub(super) fn sum(&mut self, x: Value, dims: &[i64]) -> Term {
        self.node("sum", &[("dim", ints(dims))], &[x])
    }

    /// The last operator of a formula.
    pub(super) fn last(&mut self, op: &'static str, operands: &[Value]) -> Last {
        Ok((op, operands.to_vec()))
    }

    pub(super) fn last_with(&mut self, op: &'static str, x: Value, number: f64) -> Last {
        let number = self.literal(number)?;
        self.last(op, &[x, number])
    }

    /// What the last operator gives, in element type `dtype`. Its node stands for the whole.
    pub(super) fn finished(&mut self, op: &str, operands: &[Value], dtype: DType) -> Converted {
        if dtype == DType::Bool || dtype == self.dtype {
            if self.takes_product(op, operands) {
                let value = self.site.implicit(op, op, &[], operands)?;
                return self.site.emit("fused", &[], &[value]);
            }
            return self.site.emit(op, &[], operands);
        }
        let wide = self.op(op, operands)?;
        self.site.emit("cast", &[("dtype", AttrValue::DType(dtype))], &[wide])
    }

    /// Says that a kernel computes `value` with all that is implicit before it.
    pub(super) fn kernel(&mut self, value: Value) {
        self.site.make_explicit(value);
    }

    /// The mean or the sum of all elements, or these themselves.
    pub(super) fn reduced(&mut self, loss: Value) -> Converted {
        let op = match self.site.int_or("reduction", 1)? {
            0 => return Ok(Some(Values::from_elem(loss, 1))),
            1 => "mean",
            2 => "sum",
            _ => return Ok(None),
        };
        let all: Ints = (0..self.site.rank(loss) as i64).collect();
        self.site.emit(op, &[("dim", AttrValue::Ints(all))], &[loss])
    }

    pub(super) fn difference(&mut self) -> Term {
        let (x, y) = (self.tensor("self")?, self.tensor("target")?);
        self.op("sub", &[x, y])
    }

    /// `loss` times the argument `weight`, if there is one.
    pub(super) fn weighed(&mut self, loss: Value) -> Term {
        match self.site.maybe_tensor("weight")? {
            Some(weight) => self.op("mul", &[loss, weight]),
            None => Ok(loss),
        }
    }
}
