//! Operators of ONNX, one entry each, one file per family.
//!
//! A function lowers one operator with the meaning of the version that the model imports, and gives `None` for calls that it
//! does not cover; these become opaque nodes.

mod activation;
mod arithmetic;
mod attention;
mod conv;
mod einsum;
mod fused;
mod index;
mod linear;
mod loss;
mod norm;
mod pool;
mod quantise;
mod rearrange;
mod recurrent;
mod reduce;
mod resize;
mod sequence;
mod shape;
mod spectral;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::site::{Lowered, Site};

/// Lowers one operator.
pub(super) type Lower = for<'s, 'm> fn(&mut Site<'s, 'm>) -> Lowered;

/// An operator of ONNX.
pub(super) struct Operator {
    /// Empty for the standard's own operators.
    pub domain: &'static str,
    pub name: &'static str,
    /// The versions of the operator set that define or redefine it. Domains that do not count have version 1.
    pub versions: &'static [i64],
    pub lower: Lower,
}

/// An operator of the standard.
const fn standard(name: &'static str, versions: &'static [i64], lower: Lower) -> Operator {
    Operator { domain: "", name, versions, lower }
}

/// An operator of ONNX Runtime's domain.
const fn microsoft(name: &'static str, lower: Lower) -> Operator {
    Operator { domain: "com.microsoft", name, versions: &[1], lower }
}

/// Every operator that is covered, family by family.
pub(super) fn all() -> impl Iterator<Item = &'static Operator> {
    [
        arithmetic::OPERATORS,
        activation::OPERATORS,
        linear::OPERATORS,
        einsum::OPERATORS,
        norm::OPERATORS,
        attention::OPERATORS,
        fused::OPERATORS,
        shape::OPERATORS,
        rearrange::OPERATORS,
        reduce::OPERATORS,
        index::OPERATORS,
        conv::OPERATORS,
        pool::OPERATORS,
        resize::OPERATORS,
        recurrent::OPERATORS,
        loss::OPERATORS,
        quantise::OPERATORS,
        sequence::OPERATORS,
        spectral::OPERATORS,
    ]
    .into_iter()
    .flatten()
}

static TABLE: LazyLock<FxHashMap<(&'static str, &'static str), Lower>> =
    LazyLock::new(|| all().map(|op| ((op.domain, op.name), op.lower)).collect());

/// How an operator is lowered.
pub(super) fn find(domain: &str, name: &str) -> Option<Lower> {
    TABLE.get(&(domain, name)).copied()
}
