//! Cheaper forms of one workload, as plain data. Keys are a promise, as those of a comparison are.

use serde::Serialize;

use super::{Definition, Figure, Launched, LeftOut, Precomputed, Step};
use crate::energy::{self, Objective};

/// What the rules find for one workload. Energies are in millijoules, times in microseconds, both per execution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Optimization {
    /// Always [`Optimization::SCHEMA`].
    pub schema: &'static str,
    /// What forms were chosen by.
    pub objective: Objective,
    /// The path as it was given.
    pub file: String,
    /// Operators of the file.
    pub ops: usize,
    /// Of its kernels. So it is with `time_us`, and with the same figures of what is best.
    pub energy_mj: Figure,
    /// Operators that nothing is known of, which the energy leaves out.
    pub left_out: Vec<LeftOut>,
    /// Time of one execution on the GPU, in microseconds.
    pub time_us: Option<f64>,
    /// As it is run, with what the GPU waits for the host. None where it is recorded as a CUDA graph, and where it is not known.
    pub launched: Option<Launched>,
    /// With all cheaper forms in place.
    pub best_energy_mj: Figure,
    /// Time of the cheapest known equivalent, in microseconds.
    pub best_time_us: Option<f64>,
    /// The same as the host launches it.
    pub best_launched: Option<Launched>,
    /// What the cheaper forms save as it is run, in millijoules: what kernels save, and what waiting takes less, or more, with
    /// any host that there may be. None where it is recorded, and where it is not known.
    pub launched_saves_mj: Option<f64>,
    /// The same of its time, in microseconds; below 0 where it may take longer.
    pub launched_saves_us: Option<f64>,
    /// Those that save most come first.
    pub cheaper: Vec<Cheaper>,
    /// What the best form reads that is computed once, before the first execution.
    pub precompute: Vec<Precomputed>,
    /// What it saves, in millijoules, to compute once what the workload computes of parameters and constants at every execution.
    /// The cheaper forms save what they do beside.
    pub precompute_saves_mj: Option<f64>,
    /// How much more time than now, as a fraction, the best form was allowed to take, if slower forms may be in place at all.
    pub max_slowdown: Option<f64>,
    /// Forms that take less energy and more time. They are not in place, and not part of what is saved.
    pub trade_offs: Vec<Cheaper>,
    /// The best form, and what the workload would take with ever more of the trade-offs beside: less energy, more time.
    pub frontier: Vec<Point>,
    /// What the rules of the proofs assume.
    pub assumptions: Vec<String>,
    /// Where measured figures come from: device and software. None where the profile is empty.
    pub profile: Option<String>,
}

/// What the kernels of a form of the workload take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Energy, in millijoules.
    pub energy_mj: Option<f64>,
    /// Time, in microseconds.
    pub time_us: Option<f64>,
    /// How many of the trade-offs it has, from the first on.
    pub trade_offs: usize,
}

impl Point {
    /// Of what costs `total` and has this many trade-offs.
    pub fn new(total: &energy::Cost, trade_offs: usize) -> Point {
        let [energy_mj, time_us] = [total.energy_mj, total.time_us].map(|figure| Figure::from(figure).value);
        Point { energy_mj, time_us, trade_offs }
    }
}

/// A cheaper form of some operators, wherever they stand alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cheaper {
    /// Names of the operators that it replaces, once for every place.
    pub ops: Vec<Vec<String>>,
    /// Operators of the IR: `matmul`, `add`.
    pub from: Vec<String>,
    /// Operators of the cheaper form, each after those that it reads from.
    pub into: Vec<String>,
    /// The cheaper form in the first place, over the names of the values that it reads.
    pub to: String,
    /// Names for parts of `call`.
    pub definitions: Vec<Definition>,
    /// What to call in the first place instead: `to`, with names for its parts.
    pub call: String,
    /// The same over letters.
    pub pattern: String,
    /// What it saves in one place, beyond doubt.
    pub saves_mj: f64,
    /// Time saved in one execution, in microseconds.
    pub saves_us: f64,
    /// It takes less energy and more than 1 % more time, where forms are chosen by energy.
    pub trade_off: bool,
    /// The proof that both forms are equal, over the letters of `pattern`.
    pub steps: Vec<Step>,
    /// How equal the rewrite is.
    pub tier: String,
    /// The source line of the first place, as `file:line code`.
    pub source: Option<String>,
}

impl Cheaper {
    /// What it saves in all places, in millijoules.
    pub fn total_mj(&self) -> f64 {
        self.saves_mj * self.ops.len() as f64
    }

    /// Time saved in all places, in microseconds; below 0 where it takes longer.
    pub fn total_us(&self) -> f64 {
        self.saves_us * self.ops.len() as f64
    }

    /// The rules of the proof, each run of one once.
    pub fn rules(&self) -> Vec<&str> {
        let mut rules: Vec<&str> = self.steps.iter().map(|s| s.rule.as_str()).collect();
        rules.dedup();
        rules
    }

    /// How many things its proof assumes.
    pub fn assumptions(&self) -> usize {
        let mut all: Vec<&String> = self.steps.iter().flat_map(|s| &s.assumes).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    }
}

impl Optimization {
    /// The version of the JSON form.
    pub const SCHEMA: &'static str = "magneton-ir/optimize/1";

    /// The fraction of the energy that the cheaper forms save, of the workload as it is run; none where it is not known.
    pub fn saves(&self) -> Option<f64> {
        let now = self.now_as_run().0.value.filter(|&now| now > 0.0)?;
        let of_kernels = || Some(self.energy_mj.value? - self.best_energy_mj.value?);
        Some(self.launched_saves_mj.or_else(of_kernels)? / now)
    }

    /// The fraction of the time that they save, of the workload as it is run; below 0 where it takes longer, none where it is not known.
    pub fn saves_time(&self) -> Option<f64> {
        let now = self.now_as_run().1.filter(|&now| now > 0.0)?;
        let of_kernels = || Some(self.time_us? - self.best_time_us?);
        Some(self.launched_saves_us.or_else(of_kernels)? / now)
    }

    /// What a cheaper form saves of what forms were chosen by, as a fraction of what the kernels of the workload take; of the product of energy
    /// and time, to first order. None where it is not known what they take.
    pub fn share(&self, c: &Cheaper) -> Option<f64> {
        let energy = || Some(c.total_mj() / self.energy_mj.value.filter(|&mj| mj > 0.0)?);
        let time = || Some(c.total_us() / self.time_us.filter(|&us| us > 0.0)?);
        match self.objective {
            Objective::Energy => energy(),
            Objective::Time => time(),
            Objective::Edp => Some(energy()? + time()?),
        }
    }

    /// Energy and time of it as it is run.
    pub fn now_as_run(&self) -> (&Figure, Option<f64>) {
        as_run(&self.launched, &self.energy_mj, self.time_us)
    }

    /// The same with all cheaper forms in place.
    pub fn best_as_run(&self) -> (&Figure, Option<f64>) {
        as_run(&self.best_launched, &self.best_energy_mj, self.best_time_us)
    }
}

fn as_run<'f>(launched: &'f Option<Launched>, mj: &'f Figure, us: Option<f64>) -> (&'f Figure, Option<f64>) {
    launched.as_ref().map_or((mj, us), |l| (&l.energy_mj, l.time_us))
}
