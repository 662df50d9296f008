//! PyTorch's type promotion, made explicit: casts on the fly and literals of the common element type.

use super::super::lowering::{Converted, NodeLowering, Operand, Refusal, Scalar};
use crate::ir::{DType, Value};
use crate::ops::stored_number;

/// What the result type of an operator depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promotion {
    /// The common element type of all operands.
    Common,
    /// The same, but integers and bools become the default float type.
    Float,
}

/// Scalars count as this type where only their kind matters: PyTorch's defaults.
fn scalar_dtype(scalar: Scalar) -> DType {
    match scalar {
        Scalar::Bool(_) => DType::Bool,
        Scalar::Int(_) => DType::I64,
        Scalar::Float(_) => DType::F32,
    }
}

fn kind(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        _ if dtype.is_int() => 1,
        _ => 2,
    }
}

/// `torch.promote_types`; `None` where PyTorch refuses.
pub(super) fn promote_types(a: DType, b: DType) -> Option<DType> {
    use DType::*;
    if a == b {
        return Some(a);
    }
    if [a, b].iter().any(|d| matches!(d, F8E4M3 | F8E5M2)) {
        return None;
    }
    Some(match kind(a).cmp(&kind(b)) {
        std::cmp::Ordering::Less => b,
        std::cmp::Ordering::Greater => a,
        std::cmp::Ordering::Equal => match (a, b) {
            (F16, BF16) | (BF16, F16) => F32,
            (U8, I8) | (I8, U8) => I16,
            _ if a.bytes() >= b.bytes() => a,
            _ => b,
        },
    })
}

/// The common type of a group of operands with equal rights, the empty group being `None`.
fn join(group: Option<DType>, dtype: DType) -> Result<Option<DType>, Refusal> {
    let Some(group) = group else { return Ok(Some(dtype)) };
    let joined = promote_types(group, dtype);
    joined.map(Some).ok_or_else(|| Refusal::new(format!("mixes the element types {group} and {dtype}")))
}

/// A higher-ranking group decides unless a lower-ranking one has a higher kind of number.
fn combine(higher: Option<DType>, lower: Option<DType>) -> Option<DType> {
    match (higher, lower) {
        (Some(h), Some(l)) if kind(h) < kind(l) => promote_types(h, l),
        (Some(h), _) => Some(h),
        (None, l) => l,
    }
}

/// `torch.result_type`: tensors with dimensions before tensors without, those before numbers.
pub(super) fn result_dtype(site: &NodeLowering, operands: &[Operand], promotion: Promotion) -> Result<DType, Refusal> {
    let (mut sized, mut zero, mut number) = (None, None, None);
    for operand in operands {
        match operand {
            Operand::Tensor(v) if site.rank(*v) > 0 => sized = join(sized, site.dtype(*v))?,
            Operand::Tensor(v) => zero = join(zero, site.dtype(*v))?,
            Operand::Scalar(s) => number = join(number, scalar_dtype(*s))?,
        }
    }
    let dtype = combine(sized, combine(zero, number)).ok_or_else(|| Refusal::new("has no operands"))?;
    Ok(if promotion == Promotion::Float && !dtype.is_float() { DType::F32 } else { dtype })
}

impl NodeLowering<'_, '_> {
    /// `operand` as a tensor of element type `dtype`.
    pub(super) fn as_tensor(&mut self, part: &str, operand: Operand, dtype: DType) -> Result<Value, Refusal> {
        match operand {
            Operand::Tensor(value) => self.cast(part, value, dtype),
            Operand::Scalar(scalar) => self.literal(part, scalar, dtype),
        }
    }

    /// `op` on operands of their common type; the names are those of the arguments.
    pub(super) fn promoted(&mut self, op: &str, operands: &[(&str, Operand)], promotion: Promotion) -> Converted {
        let all: Vec<Operand> = operands.iter().map(|&(_, o)| o).collect();
        let dtype = result_dtype(self, &all, promotion)?;
        // PyTorch rounds a number that it compares, or whose remainder it takes, to the element type; where it computes otherwise, it does not.
        let rounds = matches!(op, "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "fmod" | "remainder");
        let value = |&(part, o): &(&str, Operand)| match o {
            Operand::Scalar(scalar) if rounds => self.number(part, stored_number(dtype, scalar.beside(dtype)), dtype),
            _ => self.as_tensor(part, o, dtype),
        };
        let values = operands.iter().map(value).collect::<Result<Vec<_>, _>>()?;
        // Arithmetic on bools is logic.
        let op = match (dtype, op) {
            (DType::Bool, "add" | "maximum") => "logical_or",
            (DType::Bool, "mul" | "minimum") => "logical_and",
            _ => op,
        };
        self.emit(op, &[], &values)
    }

    /// `op` on one floating-point operand; integers and bools become the default float type.
    pub(super) fn float_argument(&mut self, name: &str) -> Result<Value, Refusal> {
        let value = self.tensor(name)?;
        match self.dtype(value) {
            dtype if dtype.is_float() => Ok(value),
            _ => self.cast(name, value, DType::F32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_promote_as_in_pytorch() {
        use DType::*;
        let cases = [
            (F32, I64, Some(F32)),
            (F16, BF16, Some(F32)),
            (U8, I8, Some(I16)),
            (U8, I32, Some(I32)),
            (Bool, U8, Some(U8)),
            (BF16, I64, Some(BF16)),
            (F8E4M3, F32, None),
        ];
        for (a, b, expected) in cases {
            assert_eq!(promote_types(a, b), expected, "{a} {b}");
            assert_eq!(promote_types(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn higher_ranking_operands_decide_within_a_kind() {
        assert_eq!(combine(Some(DType::BF16), Some(DType::F32)), Some(DType::BF16));
        assert_eq!(combine(Some(DType::I64), Some(DType::F32)), Some(DType::F32));
        assert_eq!(combine(Some(DType::Bool), Some(DType::I64)), Some(DType::I64));
        assert_eq!(combine(None, Some(DType::I64)), Some(DType::I64));
    }
}
