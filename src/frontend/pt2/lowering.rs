//! One operator of the file while it is converted: its arguments, and the nodes it becomes.

use std::ops::{Deref, DerefMut};

use super::argument::{Argument, Number};
use super::autocast::Casts;
use super::dtype::{complex_part, dtype};
use super::memory::Memory;
use super::schema;
use super::scope::Scope;
use crate::frontend::builder::Lowering;
pub(super) use crate::frontend::builder::{Converted, Refusal, Values, int, ints};
use crate::ir::{self, AttrValue, DType, Shape, TensorType, Value};

impl Refusal {
    /// A size or number that is known only when the model runs.
    pub(crate) fn symbolic(expression: &str) -> Self {
        // SymPy writes `Symbol('s0', positive=True)` for `s0`.
        let name = expression.strip_prefix("Symbol('").and_then(|rest| rest.split('\'').next()).unwrap_or(expression);
        Refusal::new(format!("has the symbolic size or number `{name}`"))
            .help("export with static shapes: no `dynamic_shapes`, and no operator whose output shape depends on data")
    }
}

/// A number as an argument. PyTorch's promotion depends on what kind it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
}

impl Scalar {
    pub(super) fn value(self) -> ir::Number {
        match self {
            Scalar::Bool(b) => b.into(),
            Scalar::Int(n) => n.into(),
            Scalar::Float(f) => f.into(),
        }
    }
}

impl Scalar {
    /// What PyTorch makes of the number beside elements of type `dtype`: integers keep the low bits of it, whether it is an
    /// integer or has a fraction that is cut off; floats keep the number as it is, to round it later.
    pub(super) fn beside(self, dtype: DType) -> ir::Number {
        match (self.value(), dtype) {
            (value, DType::Bool) => value.is_true().into(),
            (value, d) if d.is_float() => value,
            (value, d) => d.store(value).unwrap_or(value),
        }
    }
}

/// A tensor or a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operand {
    Tensor(Value),
    Scalar(Scalar),
}

/// One operator of the file.
pub(super) struct NodeLowering<'s, 'a> {
    pub lowering: Lowering<'s>,
    pub scope: &'s Scope<'a>,
    pub memory: &'s Memory,
    pub node: &'a schema::Node,
    /// What autocast does to the arguments.
    pub casts: Casts,
    /// Whether complex numbers stand without their parts here: see [`super::convert`].
    pub bare: bool,
}

impl<'s> Deref for NodeLowering<'s, '_> {
    type Target = Lowering<'s>;

    fn deref(&self) -> &Lowering<'s> {
        &self.lowering
    }
}

impl<'s> DerefMut for NodeLowering<'s, '_> {
    fn deref_mut(&mut self) -> &mut Lowering<'s> {
        &mut self.lowering
    }
}

impl<'a> NodeLowering<'_, 'a> {
    /// What the tensor of that name holds, as the operator gets it.
    pub(super) fn value(&self, name: &str) -> Result<Value, Refusal> {
        let value = self.memory.value(self.scope.tensor(name)?);
        Ok(self.casts.cast.get(&value).copied().unwrap_or(value))
    }

    /// The argument of that name, unless it is missing or none.
    pub(super) fn argument(&self, name: &str) -> Option<&'a Argument> {
        let given = self.node.inputs.iter().find(|i| i.name == name)?;
        (!matches!(given.arg, Argument::None)).then_some(&given.arg)
    }

    pub(super) fn given(&self, name: &str) -> bool {
        self.argument(name).is_some()
    }

    fn wrong(&self, name: &str, wanted: &str) -> Refusal {
        match self.argument(name) {
            None => Refusal::new(format!("needs the argument `{name}`")),
            Some(argument) => match argument.symbol() {
                Some(symbol) => Refusal::symbolic(symbol),
                None => Refusal::new(format!("takes {wanted} as `{name}`")),
            },
        }
    }

    pub(super) fn maybe_tensor(&self, name: &str) -> Result<Option<Value>, Refusal> {
        match self.argument(name) {
            None => Ok(None),
            Some(Argument::Tensor(tensor)) => self.value(tensor).map(Some),
            Some(_) => Err(self.wrong(name, "a tensor")),
        }
    }

    pub(super) fn tensor(&self, name: &str) -> Result<Value, Refusal> {
        self.maybe_tensor(name)?.ok_or_else(|| self.wrong(name, "a tensor"))
    }

    pub(super) fn tensors(&self, name: &str) -> Result<Vec<Value>, Refusal> {
        match self.argument(name) {
            Some(Argument::Tensors(tensors)) => tensors.iter().map(|t| self.value(t)).collect(),
            _ => Err(self.wrong(name, "a list of tensors")),
        }
    }

    /// A list whose entries may be none.
    pub(super) fn optional_tensors(&self, name: &str) -> Result<Vec<Option<Value>>, Refusal> {
        match self.argument(name) {
            Some(Argument::OptionalTensors(tensors)) => {
                tensors.iter().map(|t| t.as_ref().map(|t| self.value(t)).transpose()).collect()
            }
            _ => self.tensors(name).map(|all| all.into_iter().map(Some).collect()),
        }
    }

    pub(super) fn maybe_scalar(&self, name: &str) -> Result<Option<Scalar>, Refusal> {
        match self.argument(name) {
            None => Ok(None),
            Some(Argument::Bool(Number::Known(b))) => Ok(Some(Scalar::Bool(*b))),
            Some(Argument::Int(Number::Known(n))) => Ok(Some(Scalar::Int(*n))),
            Some(Argument::Float(Number::Known(f))) => Ok(Some(Scalar::Float(*f))),
            Some(_) => Err(self.wrong(name, "a number")),
        }
    }

    pub(super) fn scalar(&self, name: &str) -> Result<Scalar, Refusal> {
        self.maybe_scalar(name)?.ok_or_else(|| self.wrong(name, "a number"))
    }

    /// A tensor or a number.
    pub(super) fn operand(&self, name: &str) -> Result<Operand, Refusal> {
        match self.argument(name) {
            Some(Argument::Tensor(_)) => self.tensor(name).map(Operand::Tensor),
            _ => self.scalar(name).map(Operand::Scalar),
        }
    }

    pub(super) fn maybe_int(&self, name: &str) -> Result<Option<i64>, Refusal> {
        match self.argument(name) {
            None => Ok(None),
            Some(Argument::Int(Number::Known(n))) => Ok(Some(*n)),
            Some(_) => Err(self.wrong(name, "an integer")),
        }
    }

    pub(super) fn int(&self, name: &str) -> Result<i64, Refusal> {
        self.maybe_int(name)?.ok_or_else(|| self.wrong(name, "an integer"))
    }

    pub(super) fn int_or(&self, name: &str, default: i64) -> Result<i64, Refusal> {
        Ok(self.maybe_int(name)?.unwrap_or(default))
    }

    pub(super) fn float_or(&self, name: &str, default: f64) -> Result<f64, Refusal> {
        Ok(self.maybe_scalar(name)?.map_or(default, |s| s.value().to_f64()))
    }

    pub(super) fn bool_or(&self, name: &str, default: bool) -> Result<bool, Refusal> {
        match self.argument(name) {
            None => Ok(default),
            Some(Argument::Bool(Number::Known(b))) => Ok(*b),
            Some(Argument::Int(Number::Known(n))) => Ok(*n != 0),
            Some(_) => Err(self.wrong(name, "a bool")),
        }
    }

    pub(super) fn str(&self, name: &str) -> Option<&'a str> {
        match self.argument(name) {
            Some(Argument::Str(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn maybe_ints(&self, name: &str) -> Result<Option<Vec<i64>>, Refusal> {
        match self.argument(name) {
            None => Ok(None),
            Some(Argument::Int(Number::Known(n))) => Ok(Some(vec![*n])),
            Some(Argument::Ints(all)) => all
                .iter()
                .map(|n| match n {
                    Number::Known(n) => Ok(*n),
                    Number::Symbolic(name) => Err(Refusal::symbolic(name)),
                })
                .collect::<Result<_, _>>()
                .map(Some),
            // An empty list carries no element type.
            Some(Argument::Tensors(all)) if all.is_empty() => Ok(Some(Vec::new())),
            Some(_) => Err(self.wrong(name, "a list of integers")),
        }
    }

    pub(super) fn ints(&self, name: &str) -> Result<Vec<i64>, Refusal> {
        self.maybe_ints(name)?.ok_or_else(|| self.wrong(name, "a list of integers"))
    }

    /// A list of numbers; `None` if it is not given as one.
    pub(super) fn floats(&self, name: &str) -> Result<Option<Vec<f64>>, Refusal> {
        let known = |n: &Number<f64>| match n {
            Number::Known(n) => Ok(*n),
            Number::Symbolic(name) => Err(Refusal::symbolic(name)),
        };
        match self.argument(name) {
            Some(Argument::Floats(all)) => all.iter().map(known).collect::<Result<_, _>>().map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn maybe_dtype(&self, name: &str) -> Result<Option<DType>, Refusal> {
        match self.argument(name) {
            None => Ok(None),
            Some(Argument::ScalarType(code)) if self.bare && complex_part(*code).is_some() => Ok(complex_part(*code)),
            Some(Argument::ScalarType(code)) => dtype(*code).map(Some),
            Some(_) => Err(self.wrong(name, "an element type")),
        }
    }

    /// The memory format code; `None` where the operator's default applies.
    pub(super) fn memory_format(&self) -> Option<i64> {
        match self.argument("memory_format") {
            Some(Argument::MemoryFormat(code)) => Some(*code),
            _ => None,
        }
    }

    /// A list of truth values; `None` where there is none.
    pub(super) fn bools(&self, name: &str) -> Result<Option<Vec<bool>>, Refusal> {
        match self.argument(name) {
            None => Ok(None),
            Some(Argument::Bools(all)) => Ok(Some(all.clone())),
            Some(_) => Err(self.wrong(name, "truth values")),
        }
    }

    /// The names of all outputs.
    pub(super) fn output_names(&self) -> impl Iterator<Item = &'a str> {
        self.node.outputs.iter().flat_map(Argument::tensors)
    }

    /// The type that the file states for output `slot`.
    pub(super) fn stated(&self, slot: usize) -> Result<TensorType, Refusal> {
        let name = self.output_names().nth(slot).ok_or_else(|| Refusal::new(format!("has no output {slot}")))?;
        let mut stated = self.scope.stated(name)?;
        if self.bare && self.scope.is_complex(name) {
            stated.shape.pop();
        }
        Ok(stated)
    }

    /// Whether the argument of that name is a tensor of complex numbers.
    pub(super) fn argument_is_complex(&self, name: &str) -> bool {
        matches!(self.argument(name), Some(Argument::Tensor(tensor)) if self.scope.is_complex(tensor))
    }

    /// Whether some node of the graph, or its result, uses output `slot`.
    pub(super) fn is_used(&self, slot: usize) -> bool {
        self.output_names().nth(slot).is_some_and(|name| self.scope.used.contains(name))
    }

    // The four calls of the lowering that conversions make with arguments that read the site: behind a `DerefMut` the compiler
    // would refuse those.

    /// See [`Lowering::emit`].
    pub(super) fn emit(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Converted {
        self.lowering.emit(op, attrs, operands)
    }

    /// See [`Lowering::implicit`].
    pub(super) fn implicit(
        &mut self,
        part: &str,
        op: &str,
        attrs: &[(&str, AttrValue)],
        operands: &[Value],
    ) -> Result<Value, Refusal> {
        self.lowering.implicit(part, op, attrs, operands)
    }

    /// See [`Lowering::step`].
    pub(super) fn step(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Result<Value, Refusal> {
        self.lowering.step(op, attrs, operands)
    }

    /// A kernel that computes `op` with all before it that is implicit. It adds and rounds in its own way, so that other bits may come
    /// out than operator by operator.
    pub(super) fn emit_fused(&mut self, op: &str, attrs: &[(&str, AttrValue)], operands: &[Value]) -> Converted {
        if !operands.iter().any(|&o| self.dtype(o).is_float()) {
            return self.emit(op, attrs, operands);
        }
        let value = self.implicit(op, op, attrs, operands)?;
        self.emit("fused", &[], &[value])
    }

    /// See [`Lowering::cast`].
    pub(super) fn cast(&mut self, part: &str, value: Value, dtype: DType) -> Result<Value, Refusal> {
        self.lowering.cast(part, value, dtype)
    }

    /// A literal number as a tensor without dimensions.
    pub(super) fn literal(&mut self, part: &str, value: Scalar, dtype: DType) -> Result<Value, Refusal> {
        self.number(part, value.beside(dtype), dtype)
    }

    /// The strides that the file records for argument `name`.
    pub(super) fn stated_strides(&self, name: &str) -> Option<Vec<usize>> {
        match self.argument(name) {
            Some(Argument::Tensor(tensor)) => {
                let mut strides = self.scope.strides(tensor)?;
                if self.bare && self.scope.is_complex(tensor) {
                    strides.pop();
                    strides.iter_mut().for_each(|stride| *stride /= 2);
                }
                Some(strides)
            }
            _ => None,
        }
    }

    /// Shape attribute from the sizes that the file states for the first output.
    pub(super) fn stated_shape(&self) -> Result<(Shape, AttrValue), Refusal> {
        let shape = self.stated(0)?.shape;
        let attr = AttrValue::shape(&shape);
        Ok((shape, attr))
    }
}
