//! An entry of the table of operators.

use crate::frontend::onnx::lowering::{Lowered, NodeLowering};

/// Lowers one operator.
pub(crate) type Lower = for<'s, 'm> fn(&mut NodeLowering<'s, 'm>) -> Lowered;

/// An operator of ONNX.
pub(crate) struct Operator {
    /// Empty for the standard's own operators.
    pub domain: &'static str,
    pub name: &'static str,
    /// The versions of the operator set that define or redefine it. Domains that do not count have version 1.
    pub versions: &'static [i64],
    pub lower: Lower,
}

/// An operator of the standard.
pub(super) const fn standard(name: &'static str, versions: &'static [i64], lower: Lower) -> Operator {
    Operator { domain: "", name, versions, lower }
}

/// An operator of ONNX Runtime's domain.
pub(super) const fn microsoft(name: &'static str, lower: Lower) -> Operator {
    Operator { domain: "com.microsoft", name, versions: &[1], lower }
}
