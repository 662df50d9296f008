//! Operations without operands.

use super::super::lowering::NodeLowering;
use crate::frontend::builder::{Converted, Refusal};
use crate::ir::AttrValue;

pub(super) fn convert(site: &mut NodeLowering, name: &str) -> Converted {
    if name != "iota" {
        return Ok(None);
    }
    let result = site.result()?.clone();
    let dim = site.dim(&["dim", "iota_dimension"], result.rank())?;
    let Some(&size) = result.shape.get(dim) else { return Err(Refusal::new("has no dimension to count along")) };
    let mut value = site.counting(size, result.dtype)?;
    if result.rank() > 1 {
        let mut shape = vec![1; result.rank()];
        shape[dim] = size;
        value = site.reshape(value, &shape)?;
        let attrs = [("shape", AttrValue::shape(&result.shape))];
        let repeats = value;
        value = site.part("expand", &attrs, &[value])?;
        if value != repeats {
            site.tables.repeats.insert(value, repeats);
        }
    }
    site.tables.iota.insert(value, dim);
    site.gives(value)
}
