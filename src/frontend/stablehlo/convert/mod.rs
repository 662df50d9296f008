//! Turns operations of StableHLO and CHLO into operators of the op table, one file per family.
//!
//! Every family gets the operation's name without its dialect and gives `None` for what it does not cover. An operation that no
//! family covers becomes an opaque node.

mod compare;
pub(super) mod complex;
mod convolution;
mod create;
mod elementwise;
mod gather;
mod pad;
mod product;
mod reduce;
pub(super) mod region;
mod scatter;
mod sort;
mod view;
mod window;

use super::lowering::NodeLowering;
use crate::frontend::builder::Converted;

/// Lowers one operation.
pub(super) fn convert(site: &mut NodeLowering) -> Converted {
    const FAMILIES: [fn(&mut NodeLowering, &str) -> Converted; 12] = [
        elementwise::convert,
        compare::convert,
        view::convert,
        create::convert,
        product::convert,
        reduce::convert,
        gather::convert,
        scatter::convert,
        pad::convert,
        convolution::convert,
        window::convert,
        sort::convert,
    ];
    let chlo = site.form.name.strip_prefix("chlo.");
    let Some(name) = site.form.stable_name().or(chlo) else { return Ok(None) };
    for family in FAMILIES {
        if let Some(values) = family(site, name)? {
            return Ok(Some(values));
        }
    }
    Ok(None)
}
