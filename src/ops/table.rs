//! The table of operators, from those of all families.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::{
    Movement, OpDef, activation, adaptive, antialias, arithmetic, attention, batch_statistics, columns, comparison,
    complex, conv, create, elementwise, extreme, fourier, functions, grid_sample, index, length, linear, norm,
    rearrange, reduce, resample, running, scatter, spectral, transposed, view, window_view,
};

static TABLE: LazyLock<FxHashMap<&'static str, &'static OpDef>> =
    LazyLock::new(|| all().map(|def| (def.name, def)).collect());

/// Every operator of the table, family by family.
pub fn all() -> impl Iterator<Item = &'static OpDef> {
    [
        elementwise::OPS,
        arithmetic::OPS,
        comparison::OPS,
        functions::OPS,
        activation::OPS,
        linear::OPS,
        norm::OPS,
        batch_statistics::OPS,
        attention::OPS,
        view::OPS,
        window_view::OPS,
        reduce::OPS,
        extreme::OPS,
        length::OPS,
        running::OPS,
        index::OPS,
        scatter::OPS,
        rearrange::OPS,
        conv::OPS,
        transposed::OPS,
        adaptive::OPS,
        resample::OPS,
        antialias::OPS,
        grid_sample::OPS,
        columns::OPS,
        create::OPS,
        complex::OPS,
        spectral::OPS,
        fourier::OPS,
    ]
    .into_iter()
    .flatten()
}

/// The operator of that name.
pub fn find(name: &str) -> Option<&'static OpDef> {
    TABLE.get(name).copied()
}

/// The first operator of the table that moves elements in this way.
pub fn moving(movement: Movement) -> Option<&'static OpDef> {
    all().find(|def| def.movement() == Some(movement))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::DType;
    use crate::ops::{Aten, Elements, Family, Launch, Movement, number};

    #[test]
    fn an_operator_stands_at_one_address() {
        // Operators are compared by address, and a constant may have one for each place that names it.
        for def in all() {
            assert!(find(def.name) == Some(def), "{}", def.name);
        }
        assert!(Some(number(1.0.into(), DType::F32).0) == find("number"));
    }

    #[test]
    fn names_are_unique() {
        assert_eq!(TABLE.len(), all().count());
    }

    #[test]
    fn elementwise_operators_state_what_their_family_has_in_common() {
        for def in all().filter(|def| def.family == Family::Elementwise) {
            assert!(
                matches!(def.elements, Elements::Placewise(_) | Elements::Moved(_, Movement::Stay)),
                "{}",
                def.name
            );
            assert!(matches!(def.launch, Launch::Elementwise | Launch::ElementwiseInOrder), "{}", def.name);
        }
    }

    #[test]
    fn every_entry_states_what_has_no_default() {
        for def in all() {
            assert!(!def.name.is_empty() && !def.doc.is_empty(), "{}", def.name);
            assert!(!std::ptr::fn_addr_eq(def.infer, OpDef::PLAIN.infer), "{} has no type rule", def.name);
            assert!(!std::ptr::fn_addr_eq(def.work, OpDef::PLAIN.work), "{} states no work", def.name);
        }
    }

    /// The operators that no call of PyTorch computes: none so far. An entry of this list needs a reason.
    const WITHOUT_CALL: [&str; 0] = [];

    #[test]
    fn every_operator_states_its_calls_of_pytorch() {
        let without = all().filter(|def| matches!(def.aten, Aten::Never(_))).map(|def| def.name);
        assert_eq!(without.collect::<Vec<_>>(), WITHOUT_CALL);
    }

    #[test]
    fn optional_operands_stand_last() {
        for def in all() {
            let arities: Vec<_> = def.operands.iter().map(|o| o.arity as u8).collect();
            assert!(arities.is_sorted(), "{}", def.name);
        }
    }
}
