//! What sets the energies of two forms apart, taken into parts that add up. Keys are a promise, as those of a comparison are.

use serde::Serialize;

use crate::energy::{Contrast, Purpose};

/// The difference of two energies by what the energy is spent on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Millijoules of A less those of B.
    pub mj: f64,
    /// What it consists of: the differences of the parts add up to `mj`, and either side's to its energy.
    pub parts: Vec<Part>,
    /// Tensors that A writes to memory in between and B does not, the largest traffic first.
    pub only_a: Vec<MadeTensor>,
    /// The same the other way round.
    pub only_b: Vec<MadeTensor>,
}

/// A part of a difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What the energy is spent on.
    pub part: PartKind,
    /// The kind of unit that does the arithmetic, such as `matrix bf16`.
    pub unit: Option<String>,
    /// The operator whose overhead it is, by its name in the IR.
    pub op: Option<String>,
    /// Of a math mode: those of A and of B.
    pub modes: Option<[String; 2]>,
    /// Millijoules of A.
    pub a_mj: f64,
    /// Millijoules of B.
    pub b_mj: f64,
    /// Millijoules of A less those of B.
    pub mj: f64,
    /// The same as a share of the whole difference; none where that is 0.
    pub share: Option<f64>,
    /// What A does of it.
    pub a_amount: f64,
    /// What B does of it.
    pub b_amount: f64,
    /// What is counted.
    pub amount_unit: &'static str,
}

/// What energy is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Reading and writing memory.
    MemoryTraffic,
    /// Arithmetic of one kind of unit.
    Arithmetic,
    /// The same arithmetic in another math mode.
    MathMode,
    /// Starting and ending kernels.
    Launches,
    /// Power drawn while kernels run, whatever they do.
    PowerOverTime,
    /// What kernels of one operator take beyond the average of their class, as other measured kernels tell.
    Overhead,
    /// Power drawn while the GPU waits for the host.
    Waiting,
    /// What the model of the profile does not say.
    NotExplained,
}

/// A tensor that a kernel writes and another one reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MadeTensor {
    /// The operator that writes it, by its name in the file.
    pub op: String,
    /// Element type and shape, such as `bf16[1, 32, 2048, 2048]`.
    pub ty: String,
    /// Its size.
    pub bytes: f64,
    /// How many kernels read it.
    pub reads: usize,
}

impl MadeTensor {
    /// Bytes that pass to and from memory for it.
    pub fn traffic(&self) -> f64 {
        self.bytes * (1 + self.reads) as f64
    }
}

impl Difference {
    /// The difference that these parts make.
    pub(crate) fn new(contrasts: Vec<Contrast>) -> Difference {
        let mut difference = Difference { mj: 0.0, parts: Vec::new(), only_a: Vec::new(), only_b: Vec::new() };
        contrasts.into_iter().map(Part::from).for_each(|part| difference.push(part));
        difference
    }

    /// The same where the GPU also waits for the host: millijoules and microseconds of A and of B.
    pub(crate) fn with_waiting(mut self, mj: [f64; 2], us: [f64; 2]) -> Difference {
        self.push(Part::new(PartKind::Waiting, mj, us, "us"));
        self
    }

    fn push(&mut self, part: Part) {
        self.parts.push(part);
        self.mj = self.parts.iter().map(|part| part.mj).sum();
        for part in &mut self.parts {
            part.share = (self.mj != 0.0).then(|| part.mj / self.mj);
        }
    }
}

impl Part {
    fn new(part: PartKind, [a_mj, b_mj]: [f64; 2], [a_amount, b_amount]: [f64; 2], amount_unit: &'static str) -> Part {
        let mj = a_mj - b_mj;
        Part { part, unit: None, op: None, modes: None, a_mj, b_mj, mj, share: None, a_amount, b_amount, amount_unit }
    }
}

impl From<Contrast> for Part {
    fn from(Contrast { purpose, a, b }: Contrast) -> Part {
        let part = |kind, counted| Part::new(kind, [a.mj, b.mj], [a.amount, b.amount], counted);
        match purpose {
            Purpose::MemoryTraffic => part(PartKind::MemoryTraffic, "bytes"),
            Purpose::Arithmetic(unit) => Part { unit: Some(unit), ..part(PartKind::Arithmetic, "flops") },
            Purpose::MathMode(unit, modes) => {
                Part { unit: Some(unit), modes: Some(modes), ..part(PartKind::MathMode, "flops") }
            }
            Purpose::Launches => part(PartKind::Launches, "kernels"),
            Purpose::OverTime => part(PartKind::PowerOverTime, "us"),
            Purpose::Overhead(op) => Part { op: Some(op), ..part(PartKind::Overhead, "us") },
            Purpose::NotExplained => part(PartKind::NotExplained, "mj"),
        }
    }
}
