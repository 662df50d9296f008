//! What `check` found, as plain data: the JSON object that scripts read, and all that the other formats show.
//!
//! Keys are a promise (`schema`): add freely, rename nothing. Energies are in millijoules, times in microseconds, both per
//! execution. A figure that is not known is null, never 0.

use std::collections::BTreeSet;

use serde::Serialize;

use super::figure::{Figure, LeftOut};
use super::finding::Finding;
use super::region::{Form, Region};
use super::{Details, Difference, Launched, LaunchedBest, Precomputed};
pub use crate::energy::{BasisShares, Source};
use crate::ir::{Number, Settings};

/// The version of the JSON form.
pub const SCHEMA: &str = "magneton-ir/check/1";

/// Everything that is known of two workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// What the comparison comes to.
    pub verdict: ReportedVerdict,
    /// The weakest tier that the proof uses: `exact`, `real`, `rounding`, `approx(e)`. None unless equivalent.
    pub tier: Option<String>,
    /// At tier `approx`: how far the outputs are apart at most, in the norm of the step that each comes from. None where no bound
    /// reaches all of them.
    pub output_error: Option<f64>,
    /// The first workload.
    pub a: Side,
    /// The second workload.
    pub b: Side,
    /// The cheapest equivalent that is known for the whole.
    pub best: Best,
    /// What sets the energies of A and of B apart as they are run; none where a price is not known, and where nothing does.
    pub difference: Option<Difference>,
    /// What lies between consecutive proven cuts. Every operator of a file is in at most one.
    pub regions: Vec<Region>,
    /// Cheaper forms that span several regions, or parts of one.
    pub rewrites: Vec<Rewrite>,
    /// An input on which the sides part. Given exactly when they are different.
    pub witness: Option<Witness>,
    /// Pairs that should be equal and are not proven so.
    pub unproven: Vec<Unproven>,
    /// What the processes that the two files come from had set differently, math flags aside; empty where a file does not say.
    pub settings: Vec<Setting>,
    /// What rules assumed, input bindings that were guessed, opaque operators.
    pub assumptions: Vec<String>,
    /// What of the search did not hold: mistakes in this program. Nothing in the report rests on it.
    pub rejected: Vec<Rejected>,
    /// Where measured figures come from: device and software. None where the profile is empty.
    pub profile: Option<String>,
    /// Time spent, in milliseconds.
    pub timing_ms: Timing,
    /// Both graphs operator by operator, which only pages show; none where nobody asked for them.
    #[serde(skip)]
    pub details: Option<Box<Details>>,
}

/// A cheaper form that takes longer than this many times the present one is a trade-off, not waste.
const SLOWER: f64 = 1.01;

impl Comparison {
    /// Whether the energy of a side leaves an operator out, so that waste may be there that nobody sees.
    pub fn is_incomplete(&self) -> bool {
        [&self.a, &self.b].iter().any(|side| side.energy_mj.source == Source::Unknown)
    }

    /// What the kernels of a side could save as a fraction of its energy as it is run, less what `known` findings say; 0 where
    /// none is certain, and where the cheaper form is slower.
    pub fn waste(&self, of: Form, known: &[Finding]) -> f64 {
        let [as_run_a, as_run_b] = self.best.saves_as_run();
        let (side, of_kernels, as_run) = match of {
            Form::A => (&self.a, self.best.saves_vs_a, as_run_a),
            _ => (&self.b, self.best.saves_vs_b, as_run_b),
        };
        let Some((kernels, whole)) = side.energy_mj.value.zip(side.as_run().0.value).filter(|&(_, whole)| whole > 0.0)
        else {
            return 0.0;
        };
        // What less waiting saves is no operator's, so that no finding could name it.
        let saves = of_kernels.zip(as_run).map(|(of_kernels, as_run)| as_run.min(of_kernels * kernels / whole));
        let slower = self.best.time_us.zip(side.time_us).is_some_and(|(best, now)| best > now * SLOWER);
        let Some(saves) = saves.filter(|_| !slower) else { return 0.0 };
        let of_side = known.iter().filter_map(|f| f.saving).filter(|s| s.side.is_none_or(|side| side == of));
        (saves - of_side.map(|s| s.energy_mj).sum::<f64>() / whole).max(0.0)
    }
}

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportedVerdict {
    /// Proven equal.
    Equivalent,
    /// Refuted by a witness.
    Different,
    /// Neither.
    Unknown,
}

/// Something that two processes had set differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// What it is called, such as `cudnn.benchmark`, `variables.OMP_NUM_THREADS`, `versions.torch`.
    pub name: String,
    /// In A; none where it was not set.
    pub a: Option<String>,
    /// In B.
    pub b: Option<String>,
}

impl Setting {
    /// What differs between the settings of A and of B.
    pub(crate) fn apart([a, b]: [&Settings; 2]) -> Vec<Setting> {
        if a.is_empty() || b.is_empty() {
            return Vec::new();
        }
        let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        let setting = |name: &String| Setting { name: name.clone(), a: a.get(name).cloned(), b: b.get(name).cloned() };
        names.into_iter().map(setting).filter(|s| s.a != s.b && !s.name.ends_with("allow_tf32")).collect()
    }
}

/// One workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The path as it was given.
    pub file: String,
    /// Operators of the file; inputs, constants and asserts left out.
    pub ops: usize,
    /// Those in a proven region.
    pub covered_ops: usize,
    /// Of its kernels, as regions add up to it. So it is with `time_us` and `energy_basis_mj`.
    pub energy_mj: Figure,
    /// Millijoules of it by what they rest on.
    pub energy_basis_mj: BasisShares,
    /// Operators that nothing is known of, which the energy leaves out.
    pub left_out: Vec<LeftOut>,
    /// Time of one execution on the GPU, in microseconds.
    pub time_us: Option<f64>,
    /// As it is run, with what the GPU waits for the host. None where it is recorded as a CUDA graph, and where it is not known.
    pub launched: Option<Launched>,
    /// Math flags that differ from PyTorch's defaults, such as `allow_tf32=true`.
    pub flags: Vec<String>,
}

impl Side {
    /// Energy and time of it as it is run.
    pub fn as_run(&self) -> (&Figure, Option<f64>) {
        match &self.launched {
            Some(launched) => (&launched.energy_mj, launched.time_us),
            None => (&self.energy_mj, self.time_us),
        }
    }
}

/// The cheapest known equivalent of the whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Energy of one execution, in millijoules.
    pub energy_mj: Option<f64>,
    /// Time of one execution, in microseconds.
    pub time_us: Option<f64>,
    /// What it saves as a fraction of the energy of A's kernels. None where a figure is unknown or the intervals meet.
    pub saves_vs_a: Option<f64>,
    /// The same, of B's.
    pub saves_vs_b: Option<f64>,
    /// All of this for work that is launched one by one; None as for the sides.
    pub launched: Option<LaunchedBest>,
    /// What it reads that is computed once, before the first execution.
    pub precompute: Vec<Precomputed>,
}

impl Best {
    /// Energy and time of it as it is run.
    pub fn as_run(&self) -> (Option<f64>, Option<f64>) {
        match &self.launched {
            Some(launched) => (Some(launched.energy_mj), Some(launched.time_us)),
            None => (self.energy_mj, self.time_us),
        }
    }

    /// What it saves of A's energy and of B's, as they are run.
    pub fn saves_as_run(&self) -> [Option<f64>; 2] {
        match &self.launched {
            Some(launched) => [launched.saves_vs_a, launched.saves_vs_b],
            None => [self.saves_vs_a, self.saves_vs_b],
        }
    }
}

/// A cheaper form of operators that several regions hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rewrite {
    /// The side whose operators it replaces; the other side's may be replaced alike.
    pub side: Form,
    /// Operators of A that it replaces.
    pub a_ops: Vec<String>,
    /// Operators of B that it replaces.
    pub b_ops: Vec<String>,
    /// The present form in words of the IR.
    pub from: String,
    /// The cheaper form over the names of the values that it reads.
    pub to: String,
    /// The same form over letters: alike for parts that are alike.
    pub pattern: String,
    /// Energy saved in one execution, in millijoules.
    pub saves_mj: f64,
    /// Time saved in one execution, in microseconds.
    pub saves_us: f64,
    /// Rules that prove it, by name.
    pub rules: Vec<String>,
    /// How equal it is.
    pub tier: String,
    /// `file:line` of the operator that costs most.
    pub at: Option<String>,
}

/// An input on which the sides part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Witness {
    /// Seed of the random inputs.
    pub seed: u64,
    /// The first region whose outputs part, if the difference could be placed. It is the last of `regions`, and the
    /// only one that is not proven.
    pub region: Option<usize>,
    /// The first operator of A whose result has no counterpart in B, although all that it reads has: most likely
    /// responsible.
    pub first_a: Option<SourcedOperator>,
    /// The same, of B.
    pub first_b: Option<SourcedOperator>,
    /// Name of the output, as A calls it.
    pub output: String,
    /// The element of the output that differs.
    pub index: Vec<usize>,
    /// The element in A; null where it is no number.
    pub a: Number,
    /// What B gives there.
    pub b: Number,
    /// What both sides return whatever the inputs are, if that is what differs.
    pub constants: Option<[String; 2]>,
    /// The largest difference among the elements that were looked at.
    pub max_abs_error: f64,
}

/// An operator, and where it was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourcedOperator {
    /// The name in the input file.
    pub op: String,
    /// `file:line code`.
    pub source: Option<String>,
    /// `file:line`.
    pub at: Option<String>,
}

/// Operators that should be equal and could not be proven so, although everything before them is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unproven {
    /// Operators of A, by name.
    pub a_ops: Vec<String>,
    /// Operators of B, by name.
    pub b_ops: Vec<String>,
    /// `file:line` of the last of them.
    pub a_at: Option<String>,
    /// The source line of the last of B's.
    pub b_at: Option<String>,
    /// Whether sampled elements agree; null where they cannot be evaluated.
    pub agrees_numerically: Option<bool>,
    /// Either side over proven values, as a graph in `.mir` text; null where no two values of one type were found.
    pub a_mir: Option<String>,
    /// B's side as a graph of its own, in text form.
    pub b_mir: Option<String>,
    /// The rule that would close the gap, to be judged before it is used.
    pub rule: Option<String>,
}

/// What the proof checker did not accept, or where the search broke off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rejected {
    /// The rule of the step, or the operator of the constant. Null where it is no single step.
    pub step: Option<String>,
    /// Why the step was refused.
    pub reason: String,
}

/// Where the time of the comparison went, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Timing {
    /// Reading both files.
    pub read: f64,
    /// Proving.
    pub prove: f64,
    /// Pricing and the search for cheaper forms.
    pub cost: f64,
    /// Everything.
    pub total: f64,
}
