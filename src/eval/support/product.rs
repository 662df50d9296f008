//! Where the elements of a matrix product can be other than 0.

use super::{Dims, Known, both, union};
use crate::ir::TensorType;
use crate::ops::Call;

/// A product's rows are 0 where the left side's are, and its columns where the right side's are. That is so where all
/// that went in is finite.
pub fn product(call: &Call, operands: &[Known], ty: &TensorType) -> Option<Dims> {
    let rank = ty.rank();
    let last = rank.checked_sub(1)?;
    let (x, y, bias) = match call.op.name {
        "linear" | "matmul" | "grouped_mm" => (operands.first()?, operands.get(1)?, None),
        "addmm" | "baddbmm" => (operands.get(1)?, operands.get(2)?, operands.first()),
        _ => return None,
    };
    let bias = if call.op.name == "linear" { operands.get(2) } else { bias };
    let plain = call.op.name != "grouped_mm" || (x.ty.rank(), y.ty.rank(), rank) == (2, 3, 2);
    if !plain {
        return None;
    }
    let mut dims: Dims = (0..rank).map(|_| None).collect();
    match call.op.name {
        "linear" | "addmm" | "grouped_mm" => {
            for (d, places) in dims.iter_mut().enumerate().take(last) {
                *places = x.dim(d);
            }
            dims[last] = match call.op.name {
                "linear" => y.dim(0),
                "addmm" => y.dim(1),
                _ => y.dim(y.ty.rank().checked_sub(1)?),
            };
        }
        _ if x.ty.rank() >= 2 && y.ty.rank() >= 2 && rank >= 2 => {
            dims[last] = y.dim(y.ty.rank() - 1);
            dims[last - 1] = x.dim(x.ty.rank() - 2);
            let batch = |o: &Known| -> Dims {
                let own = o.ty.rank() - 2;
                let skip = (rank - 2).saturating_sub(own);
                let of = |d: usize| {
                    let own = d.checked_sub(skip)?;
                    if o.ty.shape[own] == ty.shape[d] { o.dim(own) } else { None }
                };
                (0..rank - 2).map(of).collect()
            };
            for (d, places) in both(batch(x), batch(y)).into_iter().enumerate() {
                dims[d] = places;
            }
        }
        _ => return None,
    }
    Some(match bias {
        Some(bias) => union(dims, bias.broadcast(&ty.shape)),
        None => dims,
    })
}
