//! What the estimator sees of a kernel: which kernel it is, and how much it does.
//!
//! Two executions are near each other where one kernel does nearly as much work on operands that lie alike. The errors of
//! near estimates are alike too, so that the distance serves both to predict and to compare.

use std::hash::{DefaultHasher, Hash, Hasher};

use smallvec::SmallVec;

use super::key::{KernelKey, KeyOperand, LayoutClass};
use super::work::{CallParts, WorkWithLayout};
use crate::ir::{AttrValue, DType, TensorType};
use crate::ops::{Call, Elements, Family, KernelClass, MathMode, OpDef, RowFunction, Synthesis, Unit};

/// How a kernel reaches the elements of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Access {
    /// One after the other.
    Dense,
    /// Runs of neighbours, with jumps between them.
    Runs,
    /// Every element by a jump.
    Jumps,
    /// The same elements over and over, in runs.
    Repeated,
    /// One element for a whole row.
    Column,
    /// A number that the kernel gets as an argument.
    Number,
}

/// The arithmetic that a kernel does: it has a rate of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Mode {
    unit: Unit,
    dtype: DType,
    pub math: Option<MathMode>,
    /// Whether rows start at places from which matrix units cannot read at once.
    is_ragged: bool,
}

impl Mode {
    /// `matrix f32 tf32`, `vector bf16`: what profiles hold.
    pub(super) fn name(&self) -> String {
        let math = self.math.map(|math| format!(" {}", math.name())).unwrap_or_default();
        let ragged = if self.is_ragged { " ragged" } else { "" };
        format!("{}{math}{ragged}", self.unit())
    }

    /// The same in every math mode: `matrix f32`.
    pub(super) fn unit(&self) -> String {
        let unit = match self.unit {
            Unit::Matrix => "matrix",
            Unit::Vector => "vector",
        };
        format!("{unit} {}", self.dtype)
    }
}

/// A kernel as the estimator sees it.
#[derive(Clone, Debug)]
pub(super) struct Features {
    pub class: KernelClass,
    pub mode: Mode,
    pub work: WorkWithLayout,
    /// Elements that one thread, or one block of threads, takes one after the other; 0 where all share a lane.
    pub steps: f64,
    op: &'static str,
    /// Of the attributes that choose another kernel: flags, words, element types.
    settings: u64,
    access: SmallVec<[Access; 4]>,
    /// Whether it works along a dimension whose elements do not lie side by side.
    is_across: bool,
    /// Natural logarithms of bytes, operations, results that are computed independently, and places of a window, or bytes of the runs
    /// that a lookup copies.
    size: [f64; 4],
}

/// How far apart two kernels are that differ in one respect; sizes by the factor that counts as much as a whole step.
///
/// Chosen once, so that entries left out of a profile were predicted best.
const SIZE_STEP: [f64; 4] = [8.8, 12.8, 4.4, 8.0];
const OTHER_OPERATOR: f64 = 0.3;
const OTHER_SETTINGS: f64 = 0.2;
const OTHER_MODE: f64 = 0.25;
const OTHER_ACCESS: f64 = 0.55;

impl Features {
    /// `None` for an operator that is not in the table or refuses the operands, and for one that runs nothing.
    pub(super) fn of_key(key: &KernelKey) -> Option<Features> {
        let parts = CallParts::of_key(key)?;
        let work = WorkWithLayout::of_key(key).filter(|w| w.launches > 0)?;
        let types: SmallVec<[&TensorType; 4]> = parts.types.iter().collect();
        let call = Call { op: parts.def, attrs: &parts.attrs, operands: &types };
        let outputs = call.types();
        // A loss is computed for each place, whether those are then added up or not.
        let places = types.get(1).filter(|_| parts.def.synthesis == Synthesis::ClassLoss).map(|target| target.numel());
        let results = places.or_else(|| outputs.iter().map(TensorType::numel).max()).unwrap_or(0);
        // The results of a lane depend on each other.
        let lane: usize = match (parts.def.kernel.axes(&call), outputs.first()) {
            (Some(axes), Some(output)) => axes.iter().filter_map(|&d| output.shape.get(d)).product(),
            _ => (parts.def.normalised_together)(&call),
        };
        let mut settings = DefaultHasher::new();
        for (name, value) in &key.attrs {
            if matches!(value, AttrValue::Bool(_) | AttrValue::Str(_) | AttrValue::DType(_)) {
                (name, value.to_string()).hash(&mut settings);
            }
        }
        let dtype = key.compute_dtype().or_else(|| outputs.first().map(|t| t.dtype))?;
        let class = parts.kernels();
        let run = if class == KernelClass::Gather { run_bytes(&call) } else { (parts.def.window)(&call) };
        let size = [work.bytes, work.flops, results as f64 / lane.max(1) as f64, run as f64];
        Some(Features {
            class,
            steps: if walks_columns(class) || takes_rows_alone(class, parts.def) { lane as f64 } else { 0.0 },
            mode: Mode { unit: work.unit, dtype, math: key.math, is_ragged: is_ragged(&call, &outputs) },
            op: parts.def.name,
            settings: settings.finish(),
            access: accesses(key, parts.def.family),
            is_across: along_rows(parts.def.kernels) && is_across(key, parts.def),
            size: size.map(|n| n.max(1.0).ln()),
            work,
        })
    }

    /// How unlike two kernels of one class are: 0 for the same work done in the same way.
    pub(super) fn distance(&self, other: &Features) -> f64 {
        let steps = self.size.iter().zip(&other.size).zip(&SIZE_STEP).map(|((a, b), step)| ((a - b) / step).powi(2));
        let mut distance = steps.sum::<f64>().sqrt();
        if self.op != other.op {
            distance += OTHER_OPERATOR;
        } else if self.settings != other.settings {
            distance += OTHER_SETTINGS;
        }
        if self.mode != other.mode {
            distance += OTHER_MODE;
        }
        if self.access != other.access || self.is_across != other.is_across {
            distance += OTHER_ACCESS;
        }
        distance
    }

    /// Whether both are one kernel at two sizes.
    pub(super) fn is_same_kernel(&self, other: &Features) -> bool {
        self.class == other.class
            && self.op == other.op
            && self.settings == other.settings
            && self.mode == other.mode
            && self.access == other.access
            && self.is_across == other.is_across
    }

    /// Whether it moves a window over its operand, of more than one place.
    pub(super) fn moves_window(&self) -> bool {
        self.class == KernelClass::Window && self.size[3] > 0.0
    }

    /// Whether both move a window of as many places.
    pub(super) fn has_window_of(&self, other: &Features) -> bool {
        self.size[3] == other.size[3]
    }
}

/// Bytes that matrix units read at once.
const READ_AT_ONCE: usize = 16;

/// Whether some rows of matrices, or channels of images, do not start where matrix units can read [`READ_AT_ONCE`] bytes.
fn is_ragged(call: &Call, outputs: &[TensorType]) -> bool {
    let reaches = |ty: &TensorType, dim: Option<usize>| {
        dim.and_then(|d| ty.shape.get(d)).is_some_and(|n| !(n * ty.dtype.bytes()).is_multiple_of(READ_AT_ONCE))
    };
    let all = call.operands.iter().copied().chain(outputs);
    match call.op.elements {
        Elements::Product => all.filter(|ty| ty.rank() > 1).any(|ty| reaches(ty, ty.rank().checked_sub(1))),
        Elements::Convolution => {
            call.operands.first().copied().into_iter().chain(outputs).any(|ty| reaches(ty, Some(1)))
        }
        _ => false,
    }
}

/// Whether kernels of a class run along dimensions of their operand, so that it matters how these lie in memory.
fn along_rows(class: KernelClass) -> bool {
    matches!(class, KernelClass::Rows | KernelClass::Moments | KernelClass::Scan | KernelClass::Order)
}

/// Whether one block of threads takes each row, or each group of channels, however long it is. Other reductions share long rows.
fn takes_rows_alone(class: KernelClass, op: &OpDef) -> bool {
    class == KernelClass::Moments
        || class == KernelClass::Rows
            && (op.family == Family::Norm
                || matches!(op.row_function(), RowFunction::Softmax | RowFunction::LogSoftmax))
}

/// Whether one thread walks down each column.
fn walks_columns(class: KernelClass) -> bool {
    matches!(class, KernelClass::Columns | KernelClass::ColumnScan)
}

/// Bytes that lie side by side in what a lookup copies: those behind the dimensions along which it picks.
fn run_bytes(call: &Call) -> usize {
    let Some(table) = call.operands.first() else { return 1 };
    let behind = (call.op.moves_along)(call).and_then(|dims| dims.into_iter().max()).map_or(table.rank(), |d| d + 1);
    table.shape.iter().skip(behind).product::<usize>() * table.dtype.bytes()
}

/// Whether the dimensions that an operator works along leave out the last one.
fn is_across(key: &KernelKey, op: &OpDef) -> bool {
    let rank = key.operands.first().map_or(0, |o| o.ty.rank()) as i64;
    let is_last = |dim: i64| dim == rank - 1 || dim == -1;
    match key.attrs.iter().find(|(name, _)| &**name == "dim").map(|(_, value)| value) {
        Some(AttrValue::Int(dim)) => !is_last(*dim),
        Some(AttrValue::Ints(dims)) => !dims.is_empty() && !dims.iter().any(|&dim| is_last(dim)),
        // Classes follow the batch, in front of the places of an image or a sequence.
        _ => op.synthesis == Synthesis::ClassLoss && rank > 2,
    }
}

/// Alike for all operands: one; else each.
fn accesses(key: &KernelKey, family: Family) -> SmallVec<[Access; 4]> {
    let largest = key.operands.iter().map(|o| o.ty.numel()).max().unwrap_or(0);
    let broadcasts = family == Family::Elementwise;
    let mut all: SmallVec<[Access; 4]> = key.operands.iter().map(|o| access(o, broadcasts, largest)).collect();
    if all.iter().all(|a| *a == all[0]) {
        all.truncate(1);
    }
    all
}

fn access(operand: &KeyOperand, broadcasts: bool, largest: usize) -> Access {
    let shape = &operand.ty.shape;
    if shape.is_empty() {
        return Access::Number;
    }
    if broadcasts && operand.ty.numel() < largest {
        return if shape.last() == Some(&1) { Access::Column } else { Access::Repeated };
    }
    match &operand.layout {
        LayoutClass::Contiguous => Access::Dense,
        LayoutClass::Order(order) => {
            if order.last().is_some_and(|&d| d + 1 == shape.len()) {
                Access::Runs
            } else {
                Access::Jumps
            }
        }
        LayoutClass::Strides(strides) => {
            let mut used = strides.iter().zip(shape).filter(|(_, n)| **n > 1).map(|(stride, _)| *stride);
            if used.clone().any(|stride| stride == 0) {
                Access::Repeated
            } else if used.next_back() == Some(1) {
                Access::Runs
            } else {
                Access::Jumps
            }
        }
    }
}

/// How alike the errors of two kernels are: 1 for one place, 0 far apart.
pub(super) fn correlation(a: &Features, b: &Features) -> f64 {
    (-a.distance(b)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(key: &str) -> Features {
        Features::of_key(&key.parse().unwrap()).unwrap()
    }

    #[test]
    fn kernels_are_the_nearer_the_more_they_have_in_common() {
        let of = features("add(f32[1048576], f32[1048576])");
        let others = [
            "add(f32[1048576], f32[1048576])",
            "add(f32[1200000], f32[1200000])",
            "sub(f32[1200000], f32[1200000])",
            "sub(bf16[1200000], bf16[1200000])",
            "sub(bf16[1024, 1200], bf16[1024, 1])",
        ];
        let distances = others.map(|other| of.distance(&features(other)));
        assert!(distances.is_sorted_by(|a, b| a < b) && distances[0] == 0.0, "{distances:?}");
        assert!(of.is_same_kernel(&features(others[1])) && !of.is_same_kernel(&features(others[2])));
    }

    #[test]
    fn calls_of_one_operator_may_run_kernels_of_several_classes() {
        use KernelClass::{ColumnScan, Columns, Convolution, Depthwise, Grouped, Pointwise, Rows, Scan};
        let filters = "stride=[1, 1], padding=[0, 0], dilation=[1, 1]";
        for (key, class) in [
            (format!("conv2d(f32[2, 8, 4, 4], f32[8, 8, 1, 1]; {filters})"), Pointwise),
            (
                "conv2d(f32[2, 8, 4, 4], f32[8, 8, 1, 1]; stride=[2, 2], padding=[0, 0], dilation=[1, 1])".into(),
                Convolution,
            ),
            (format!("conv2d(f32[2, 8, 4, 4], f32[8, 8, 3, 3]; {filters})"), Convolution),
            (format!("conv2d(f32[2, 8, 4, 4], f32[8, 1, 3, 3]; {filters}, groups=8)"), Depthwise),
            (format!("conv2d(f32[2, 8, 4, 4], f32[8, 4, 3, 3]; {filters}, groups=2)"), Grouped),
            ("softmax(f32[8, 4]; dim=1)".into(), Rows),
            ("log_softmax(f32[8, 4]; dim=0)".into(), Columns),
            ("cumsum(f32[8, 4]; dim=1)".into(), Scan),
            ("cumsum(f32[8, 4]; dim=0)".into(), ColumnScan),
        ] {
            assert_eq!(features(&key).class, class, "{key}");
        }
    }

    /// What a profiler saw on an H200: a fused kernel, or one kernel for each step.
    #[test]
    fn attention_that_no_fused_kernel_takes_runs_in_steps() {
        use KernelClass::{Attention, AttentionInSteps, MaskedAttention};
        let of = |q: &str, kv: &str, rest: &str| features(&format!("sdpa({q}, {kv}, {kv}{rest})"));
        let same = |ty: &str, rest: &str| of(ty, ty, rest);
        for (features, class) in [
            (same("bf16[2, 4, 8, 16]", ""), Attention),
            (same("bf16[2, 4, 8, 16]", ", bool[8, 8]"), MaskedAttention),
            (same("bf16[2, 8, 16]", ""), AttentionInSteps),
            // Vectors of 36 numbers are padded where there is no mask.
            (same("bf16[2, 4, 8, 36]", ""), Attention),
            (same("bf16[2, 4, 8, 36]", ", bool[1, 1, 8, 8]"), AttentionInSteps),
            (same("bf16[2, 4, 8, 40]", ", bool[1, 1, 8, 8]"), MaskedAttention),
            (same("bf16[2, 4, 8, 320]", ""), Attention),
            (same("f32[2, 4, 8, 52]", ""), Attention),
            (same("f32[2, 4, 8, 50]", ""), AttentionInSteps),
            (same("f64[2, 4, 8, 16]", ""), AttentionInSteps),
            // A mask whose numbers do not lie side by side along the keys.
            (same("bf16[2, 4, 8, 16]", ", bool[2, 1, 8, 8] @strides[0, 0, 1, 0]"), AttentionInSteps),
            (of("bf16[2, 4, 8, 16] @order[0, 1, 3, 2]", "bf16[2, 4, 8, 16]", ""), AttentionInSteps),
            (of("bf16[1, 4, 8, 16]", "bf16[2, 4, 8, 16]", ""), AttentionInSteps),
            (of("bf16[2, 4, 8, 16]", "bf16[2, 2, 8, 16]", "; grouped=true"), Attention),
            (of("f32[2, 4, 8, 16]", "f32[2, 2, 8, 16]", "; grouped=true"), AttentionInSteps),
        ] {
            assert_eq!(features.class, class, "{features:?}");
            assert_eq!(features.work.launches > 6, class == AttentionInSteps, "{features:?}");
        }
    }

    #[test]
    fn rows_are_what_norms_and_reductions_compute_independently() {
        for (key, rows) in [
            ("layer_norm(f32[64, 256]; normalized_shape=[256])", 64.0_f64),
            ("softmax(f32[64, 256]; dim=1)", 64.0),
            ("sum(f32[64, 256]; dim=[1])", 64.0),
            ("add(f32[64, 256], f32[64, 1])", 64.0 * 256.0),
        ] {
            assert!((features(key).size[2] - rows.ln()).abs() < 1e-9, "{key}");
        }
    }
}
