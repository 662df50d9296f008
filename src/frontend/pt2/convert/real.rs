//! Operators on real numbers, family by family.

use super::super::lowering::{Converted, NodeLowering};
use super::super::target::Target;
use super::{
    assembled, attention, backward, compositions, conv, create, elementwise, fourier, functions, gradients, index,
    length, linear, losses, margins, norm, places, pointwise, products, quantise, rearrange, recurrent, reduce,
    sequence, signs, solvers, spans, storage, view, windows,
};

/// Converts an operator on real numbers.
pub(super) fn convert(site: &mut NodeLowering, target: Target) -> Converted {
    const FAMILIES: [fn(&mut NodeLowering, Target) -> Converted; 30] = [
        elementwise::convert,
        view::convert,
        linear::convert,
        norm::convert,
        attention::convert,
        reduce::convert,
        index::convert,
        conv::convert,
        create::convert,
        functions::convert,
        rearrange::convert,
        length::convert,
        windows::convert,
        losses::convert,
        margins::convert,
        quantise::convert,
        recurrent::convert,
        pointwise::convert,
        compositions::convert,
        assembled::convert,
        sequence::convert,
        fourier::convert,
        signs::convert,
        storage::convert,
        places::convert,
        products::convert,
        spans::convert,
        solvers::convert,
        gradients::convert,
        backward::convert,
    ];
    for family in FAMILIES {
        if let Some(values) = family(site, target)? {
            return Ok(Some(values));
        }
    }
    Ok(None)
}
