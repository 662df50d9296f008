//! How the elements of an operator's result come from those of its operands.

use smallvec::SmallVec;

use super::Mode;
use super::scope::Applied;
use crate::ops::{Call, Draws, Family};

/// What is known of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Every element is one of these operands', or a number; the other operands say which one.
    Moves(Moved),
    /// An element depends on the elements at its place.
    Elementwise,
    /// An element depends on those along some dimensions of operand 0, and on its place along these.
    Lane,
    /// A product of matrices, or a convolution.
    Contraction,
    /// Fused attention.
    Attention,
    /// A sum of elements of operand 0 times numbers that depend on the place.
    Weighted,
}

/// Which operands have elements that are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    All,
    First,
    /// Of `where`: the condition is known.
    ButFirst,
}

impl Moved {
    pub fn contains(self, operand: usize) -> bool {
        match self {
            Moved::All => true,
            Moved::First => operand == 0,
            Moved::ButFirst => operand > 0,
        }
    }
}

/// The kind of an operator, `None` for an output that is not looked into.
pub fn kind(applied: &Applied, mode: Mode) -> Option<Kind> {
    let call = &applied.call();
    if applied.slot != 0 && call.op.name != "split" {
        return None;
    }
    if mode == Mode::Reals {
        match call.op.name {
            "sdpa" => return Some(Kind::Attention),
            "conv1d" | "conv2d" | "conv3d" => return Some(Kind::Contraction),
            "cumsum" => return Some(Kind::Lane),
            _ => {}
        }
    }
    Some(match call.op.name {
        "reshape" | "permute" | "expand" | "slice" | "split" | "unsqueeze" | "squeeze" | "alias" | "contiguous"
        | "clone" | "concat" | "repeat_heads" | "diagonal" | "unfold" | "tril" | "triu" | "flip" | "roll"
        | "repeat_interleave" | "pad" | "pad_edges" | "upsample_nearest" | "im2col" => Kind::Moves(Moved::All),
        "dropout" if !call.bool("train") => Kind::Moves(Moved::All),
        "gather" | "index_select" | "index" | "embedding" => Kind::Moves(Moved::First),
        "softmax" | "log_softmax" | "layer_norm" | "rms_norm" | "sum" | "mean" | "amax" | "amin" | "prod" | "any"
        | "all" | "logsumexp" | "var" => Kind::Lane,
        "matmul" | "linear" | "addmm" | "baddbmm" => Kind::Contraction,
        "upsample_linear" | "upsample_bicubic" | "avg_pool2d" | "avg_pool3d" | "adaptive_avg_pool" | "col2im"
        | "diff" => Kind::Weighted,
        "glu" => return None,
        // What is drawn has elements of its own.
        _ if call.op.draws != Draws::Never => return None,
        _ if call.op.family == Family::Elementwise => Kind::Elementwise,
        _ => return None,
    })
}

/// The dimensions of operand 0 that a lane runs along, in ascending order.
pub fn lane_dims(call: &Call) -> Option<SmallVec<[usize; 4]>> {
    let rank = call.operands.first()?.rank();
    match call.op.name {
        "layer_norm" | "rms_norm" => Some((rank.checked_sub(call.ints("normalized_shape").len())?..rank).collect()),
        "softmax" | "log_softmax" | "cumsum" => Some(call.dim_axis()),
        _ => {
            let mut dims = call.dims("dim").ok()?;
            dims.sort_unstable();
            Some(dims)
        }
    }
}

/// Whether an operator over lanes gives one element for each lane.
pub fn reduces(call: &Call) -> bool {
    call.op.family == Family::Reduce && !matches!(call.op.name, "softmax" | "log_softmax" | "cumsum")
}
