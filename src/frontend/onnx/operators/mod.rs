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
mod operator;
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

pub(super) use operator::Lower;
use operator::Operator;

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

static TABLE: LazyLock<FxHashMap<(&'static str, &'static str), &'static Operator>> =
    LazyLock::new(|| all().map(|op| ((op.domain, op.name), op)).collect());

/// The first version of the standard's operators that is read. Operators that are the same in an earlier one are read there
/// too.
const FIRST: i64 = 7;

/// How an operator of some version of its domain is lowered. `None` where that version has no such operator, or another one
/// than those that are covered.
pub(super) fn find(domain: &str, name: &str, version: i64) -> Option<Lower> {
    let operator = TABLE.get(&(domain, name))?;
    if !domain.is_empty() {
        return Some(operator.lower);
    }
    let valid_in = |version: i64| operator.versions.iter().rfind(|&&v| v <= version);
    let of_version = valid_in(version)?;
    (version >= FIRST || valid_in(FIRST) == Some(of_version)).then_some(operator.lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_stands_once_with_its_versions_in_order() {
        assert_eq!(TABLE.len(), all().count());
        for operator in all() {
            assert!(operator.versions.is_sorted() && !operator.versions.is_empty(), "{}", operator.name);
        }
    }

    #[test]
    fn operators_are_those_of_their_version() {
        assert!(find("", "Gelu", 19).is_none() && find("", "Gelu", 20).is_some());
        // Broadcasting had to be asked for before version 7.
        assert!(find("", "Add", 6).is_none() && find("", "Add", 7).is_some());
        assert!(find("", "Not", 1).is_some());
        assert!(find("com.microsoft", "FastGelu", 1).is_some() && find("com.example", "FastGelu", 1).is_none());
    }
}
