//! Sums of products over named dimensions.

use super::operator::{Operator, standard};
use crate::frontend::builder::Refusal;
use crate::frontend::einsum;
use crate::frontend::onnx::lowering::{Lowered, NodeLowering};

pub(super) const OPERATORS: &[Operator] = &[standard("Einsum", &[12, 28], einsum)];

fn einsum(s: &mut NodeLowering) -> Lowered {
    let equation = s.text("equation", "")?;
    let operands = s.all()?;
    let Some(values) = einsum::einsum(&mut s.lowering(), equation, None, &operands)? else {
        return Err(Refusal::new(format!("has the equation `{equation}`, which does not fit its inputs")));
    };
    Ok(Some(values.into_iter().map(Into::into).collect()))
}
