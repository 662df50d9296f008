//! Commands and options.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use ordered_float::OrderedFloat;

use crate::energy::{Launch, Objective};
use crate::rules::Tier;

/// Proves which parts of two ML operator graphs are equal, and which of them spends less GPU energy.
#[derive(Debug, Parser)]
#[command(name = "magneton-ir", version, arg_required_else_help = true)]
pub(super) struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Are A and B equal, where does the energy go, what is the cheapest equivalent, and why.
    ///
    /// Exit status: 0 proven equivalent, 1 not proven, 2 bad input or bad usage.
    Check(Check),
    /// One region of the comparison in full: operators, types, costs, and the proof step by step.
    Explain {
        #[command(flatten)]
        compare: Compare,
        /// The region's number in the report of `check`, the name of an operator in it, or a source line such as model.py:12.
        region: String,
        /// Leave nothing out: all operators with all of their types, all steps.
        #[arg(long)]
        full: bool,
        #[command(flatten)]
        shown: Shown,
    },
    /// Cheaper equivalents of one workload that the rules can prove.
    Optimize(Optimize),
    /// Replay a proof that `check --proof` wrote, without searching for one.
    ///
    /// Exit status: 0 the proof shows what it claims, 1 it does not show that A and B are equivalent, 2 the file is
    /// no proof, has a step that is not valid, or belongs to other graphs.
    VerifyProof(VerifyProof),
    /// Print the operator graph of a file as `.mir` text.
    Lower {
        /// A `.pt2` archive, an `.onnx` model or a `.mir` file.
        file: PathBuf,
        #[command(flatten)]
        sizes: Sizes,
    },
    /// Compute the outputs of a graph for given inputs with the reference evaluator.
    ///
    /// Every operator's result is rounded to its type. Weights are taken from the file.
    Run(Run),
    /// The rules that proofs are made of.
    #[command(subcommand)]
    Rules(Rules),
    /// Published cases of wasted energy.
    #[command(subcommand)]
    Corpus(Corpus),
    /// Measured energies.
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// Measure the operators of graphs on this machine's GPU, as far as the profile does not hold them yet.
    ///
    /// Every finished figure is on disk at once; a campaign that is stopped goes on where it was.
    Measure(Measure),
}

/// Sizes that a file leaves open.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Sizes {
    /// The value of a symbolic size of an ONNX model. May be given several times.
    #[arg(long, value_name = "NAME=SIZE", value_parser = size)]
    pub shape: Vec<(String, usize)>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Run {
    /// A `.pt2` archive, an `.onnx` model or a `.mir` file.
    pub file: PathBuf,
    /// The elements of an input, as NumPy's `save` writes them. May be given several times.
    #[arg(long, value_name = "NAME=FILE.npy", value_parser = input)]
    pub input: Vec<(String, PathBuf)>,
    /// The folder for one `.npy` file per output.
    #[arg(long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub sizes: Sizes,
}

/// Two workloads and what is stated about them.
#[derive(Debug, clap::Args)]
pub(super) struct Pair {
    /// The first workload: a `.pt2` archive, an `.onnx` model or a `.mir` file.
    pub a: PathBuf,
    /// The second workload.
    pub b: PathBuf,
    /// Which inputs are the same, or made of others, where names do not tell: a file of lines such as
    /// `qkv.weight = concat(q.weight, k.weight, v.weight; dim=0)`.
    #[arg(long, value_name = "FILE")]
    pub bind: Option<PathBuf>,
    /// Write the binding that was inferred to this file, in the form that `--bind` reads.
    #[arg(long, value_name = "FILE")]
    pub write_bind: Option<PathBuf>,
    #[command(flatten)]
    pub sizes: Sizes,
    /// Set a math flag of A, such as allow_tf32=true. May be given several times.
    #[arg(long, value_name = "FLAG=VALUE", value_parser = flag)]
    pub config_a: Vec<(String, serde_json::Value)>,
    /// Set a math flag of B.
    #[arg(long, value_name = "FLAG=VALUE", value_parser = flag)]
    pub config_b: Vec<(String, serde_json::Value)>,
}

/// What is compared, and under which rules and prices.
#[derive(Debug, clap::Args)]
pub(super) struct Compare {
    #[command(flatten)]
    pub pair: Pair,
    #[command(flatten)]
    pub search: SearchOptions,
    /// Chooses the inputs on which a difference is looked for where the two are not proven equal.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Look below this folder for the Python sources of the workloads: the report names the switch that makes their calls part.
    /// Without it, in the environment that `VIRTUAL_ENV` names, and at the paths that the files record.
    #[arg(long, value_name = "DIR")]
    pub source: Vec<PathBuf>,
}

/// Rules and prices.
#[derive(Debug, clap::Args)]
pub(super) struct SearchOptions {
    /// Use the rules of this file too. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub rules: Vec<PathBuf>,
    /// The weakest tier that a proof may use: exact, real, rounding, approx (each step has an error of its own) or
    /// approx(ERROR) (a bound on the outputs).
    #[arg(long, value_parser = tier, default_value = "rounding")]
    pub tier: Tier,
    /// Take measured energies from this file in place of those that the program carries.
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// How kernels get onto the GPU, which may wait for them.
    #[arg(long, value_enum, default_value_t = LaunchArg::Eager)]
    pub launch: LaunchArg,
    /// Whether parameters stay as they are from one execution to the next, so that a cheaper form may read what was computed of them
    /// once. They never do in a graph that trains.
    #[arg(long, value_enum, default_value_t = FrozenArg::Yes)]
    pub frozen: FrozenArg,
    /// Neither use nor keep what searches came to in earlier runs. It is kept in your cache folder and may be deleted.
    #[arg(long)]
    pub no_cache: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LaunchArg {
    /// All at once: the workload is recorded as a CUDA graph.
    Graph,
    /// One by one by the host, as PyTorch runs a program.
    Eager,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ObjectiveArg {
    /// Energy. Forms with slower kernels are listed and not taken, nor are those that take longer to launch than they save.
    Energy,
    /// Time, whatever energy that takes.
    Time,
    /// Energy times time, the energy–delay product.
    Edp,
}

impl From<ObjectiveArg> for Objective {
    fn from(objective: ObjectiveArg) -> Objective {
        match objective {
            ObjectiveArg::Energy => Objective::Energy,
            ObjectiveArg::Time => Objective::Time,
            ObjectiveArg::Edp => Objective::Edp,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FrozenArg {
    /// Parameters, and buffers that the workload does not write, stay as they are.
    Yes,
    /// They may change.
    No,
}

impl From<LaunchArg> for Launch {
    fn from(launch: LaunchArg) -> Launch {
        match launch {
            LaunchArg::Graph => Launch::Graph,
            LaunchArg::Eager => Launch::Eager,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct Check {
    #[command(flatten)]
    pub compare: Compare,
    #[command(flatten)]
    pub shown: Shown,
    /// Write the proof to this file; `verify-proof` replays it.
    #[arg(long, value_name = "FILE")]
    pub proof: Option<PathBuf>,
    /// Write the inputs on which the two differ, and the values that differ, into this folder as `.npz` files. If that
    /// fails, standard error says so; the verdict and the exit status stay.
    #[arg(long, value_name = "DIR")]
    pub write_witness: Option<PathBuf>,
    /// What makes the exit status 1. Each includes those before it.
    #[arg(long, value_enum, default_value_t = FailOn::Unknown)]
    pub fail_on: FailOn,
    /// The saving from which on it counts as waste, of the side that spends it.
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "5%", requires = "fail_on")]
    pub threshold: f64,
    /// The side whose waste counts; without it, both.
    #[arg(long, value_enum, requires = "fail_on")]
    pub waste_of: Option<SideArg>,
    /// A SARIF report of an earlier check: waste that it names does not count, unless it has become more.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Optimize {
    /// The workload: a `.pt2` archive, an `.onnx` model or a `.mir` file.
    pub file: PathBuf,
    #[command(flatten)]
    pub search: SearchOptions,
    /// Set a math flag of the workload, such as allow_tf32=true. May be given several times.
    #[arg(long, value_name = "FLAG=VALUE", value_parser = flag)]
    pub config: Vec<(String, serde_json::Value)>,
    #[command(flatten)]
    pub sizes: Sizes,
    #[command(flatten)]
    pub shown: Shown,
    /// Write the graph with all cheaper forms in place: as PyTorch code (`.py`), as an exported program with the weights of the
    /// workload (`.pt2`), or as text of the IR (`.mir`). It is proven to be equivalent first.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What is to be as little as possible: energy, time, or the product of both.
    #[arg(long, value_enum, default_value_t = ObjectiveArg::Energy)]
    pub objective: ObjectiveArg,
    /// Take forms that are slower and need less energy, too, as long as the whole takes at most this much more time than the
    /// workload does now. Without it, they are listed and not taken.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub max_slowdown: Option<f64>,
    /// Write a picture of time against energy to this file, as SVG: the workload now, its best form, and slower forms.
    #[arg(long, value_name = "FILE")]
    pub frontier: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(super) struct VerifyProof {
    /// The proof.
    pub proof: PathBuf,
    /// What `check` was given.
    #[command(flatten)]
    pub pair: Pair,
    /// The rule files that `check` was given, in the same order.
    #[arg(long, value_name = "FILE")]
    pub rules: Vec<PathBuf>,
}

/// How a report looks, and where it goes.
#[derive(Debug, clap::Args)]
pub(super) struct Shown {
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
    /// Write the report to this file, not to standard output.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write the report to this file too, as `--format json` gives it.
    #[arg(long, value_name = "FILE")]
    pub write_json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Text for a terminal.
    Human,
    /// One JSON object, for scripts.
    Json,
    /// Text for issues and pull requests.
    Markdown,
    /// A page for a browser, in one file that needs no network.
    Html,
    /// Findings for code-scanning views, as SARIF 2.1.0.
    Sarif,
    /// Findings as tests, for CI systems.
    Junit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum FailOn {
    /// An input was found on which the outputs part.
    Different,
    /// The two are not proven equal.
    Unknown,
    /// A proven equivalent saves more than the threshold and is not slower.
    Waste,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SideArg {
    A,
    B,
}

#[derive(Debug, Subcommand)]
pub(super) enum Rules {
    /// List the rules of the library and of the given files.
    List {
        files: Vec<PathBuf>,
        /// Only those that the comparison of these two workloads applies, and how often.
        #[arg(long, num_args = 2, value_names = ["A", "B"])]
        used: Vec<PathBuf>,
    },
    /// Try the rules of the files out on many instances; without files, those of the library.
    ///
    /// Exit status: 0 all pass, 1 some are refused, 2 a file cannot be read.
    Check {
        files: Vec<PathBuf>,
        /// Print what was tried of each rule: instances, ranks, element types, sizes.
        #[arg(long)]
        table: bool,
    },
    /// Run the `test` items of the files; without files, those of the library.
    ///
    /// Exit status: 0 all pass, 1 some fail, 2 a file cannot be read.
    Test { files: Vec<PathBuf> },
    /// Print the rule that would make two workloads equal, for you to judge.
    ///
    /// Meant for the two snippets that `check` prints where it could prove nothing. Inputs of one name are one variable;
    /// attributes have the values that they have there. Nothing says yet that the rule holds: try it with `rules check`.
    New {
        a: PathBuf,
        b: PathBuf,
        /// Name of the rule.
        #[arg(long, default_value = "missing")]
        name: String,
    },
    /// Write rule files in the usual layout.
    Fmt {
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Change nothing; answer 1 if a file has another layout.
        #[arg(long)]
        check: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Corpus {
    /// List the cases.
    List {
        /// The folder that holds a folder for each case.
        #[arg(long, value_name = "DIR", default_value = "corpus/cases")]
        folder: PathBuf,
    },
    /// Compare the sides of the cases. Energies are those of the kernels alone.
    ///
    /// Exit status: 0 all is as the files of the cases say, 1 something is not, 2 a file cannot be read.
    Run {
        /// The numbers of the cases; without one, all.
        cases: Vec<String>,
        /// The folder that holds a folder for each case.
        #[arg(long, value_name = "DIR", default_value = "corpus/cases")]
        folder: PathBuf,
        #[arg(long, value_enum, default_value_t = CorpusFormat::Human)]
        format: CorpusFormat,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CorpusFormat {
    /// A table for a terminal.
    Human,
    /// The table with a section for each case, as the documentation has it.
    Markdown,
    /// One JSON array, for scripts.
    Json,
}

#[derive(Debug, Subcommand)]
pub(super) enum ProfileCommand {
    /// List the figures of a profile; without a file, of the one that the program carries.
    Show { file: Option<PathBuf> },
    /// Compare two profiles.
    Diff { left: PathBuf, right: PathBuf },
    /// Join profiles of one device and one set of libraries, and fit the estimator on all.
    ///
    /// A file of raw windows (`.windows.jsonl`, or several of them in a `.zip`) stands for the profiles that it gives.
    Merge {
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// The profile to write.
        #[arg(short, long)]
        output: PathBuf,
    },
    /// Fit the estimator on the measured figures, and show how well it predicts those left out.
    Fit {
        file: Option<PathBuf>,
        /// Keep the fitted estimator in the file.
        #[arg(long, requires = "file")]
        write: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct Measure {
    /// Graphs whose operators are measured.
    pub files: Vec<PathBuf>,
    /// A file of operator keys, one a line.
    #[arg(long, value_name = "FILE")]
    pub keys: Vec<PathBuf>,
    /// Measure the designed spread of operators, once and briefly each: a whole profile in under 20 minutes.
    #[arg(long)]
    pub quick: bool,
    /// The profile that is read, if it exists, and written.
    #[arg(long, value_name = "FILE")]
    pub profile: PathBuf,
    /// The Python whose PyTorch runs the operators; without it the libtorch that the program was built with, or else the active
    /// environment's Python.
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,
    /// Which GPU, as CUDA counts those that it sees.
    #[arg(long, default_value_t = 0)]
    pub device: u32,
    /// A profile whose figures are not measured again, but for a few that show how the cards differ.
    #[arg(long, value_name = "FILE")]
    pub known: Option<PathBuf>,
    /// Measure each operator this many times, each time elsewhere in memory and after all others, and from three on up to three
    /// times as often where they scatter; a figure is the mean.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub passes: u32,
    /// The most seconds for one measurement, warm-up left out.
    #[arg(long, value_name = "SECONDS", default_value_t = 4.0)]
    pub key_budget: f64,
    /// The most seconds in all.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600.0)]
    pub budget: f64,
    /// Leave out the forms that the rules find and that could save energy.
    #[arg(long)]
    pub no_alternatives: bool,
    /// Replay the graphs end to end too, and compare with the sum of their operators.
    #[arg(long)]
    pub whole: bool,
    /// Replay both sides of every proven region of the two graphs in one piece too.
    #[arg(long)]
    pub regions: bool,
    /// Measure the first operator this many times against itself, and what polling the meter costs.
    #[arg(long, value_name = "COUNT")]
    pub trials: Option<u32>,
}

fn tier(text: &str) -> Result<Tier, String> {
    let error = || text.strip_prefix("approx(")?.strip_suffix(')')?.parse::<f64>().ok().filter(|e| *e > 0.0);
    match text {
        "exact" => Ok(Tier::Exact),
        "real" => Ok(Tier::Real),
        "rounding" => Ok(Tier::Rounding),
        "approx" => Ok(Tier::ANY_ERROR),
        _ => error().map(|e| Tier::Approx(OrderedFloat(e))).ok_or_else(|| {
            "tiers are exact, real, rounding, approx and approx(ERROR), with a relative error such as 0.01".to_owned()
        }),
    }
}

/// `5%`, or a fraction such as `0.05`.
fn percent(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |n| (n.trim_end(), 0.01));
    let value = number.parse::<f64>().ok().map(|v| v * scale).filter(|v| (0.0..=1.0).contains(v));
    value.ok_or_else(|| "a percentage such as 5% or a fraction such as 0.05 is wanted".to_owned())
}

fn size(text: &str) -> Result<(String, usize), String> {
    let pair = text.rsplit_once('=').and_then(|(name, size)| Some((name.to_owned(), size.parse().ok()?)));
    pair.filter(|(name, _)| !name.is_empty()).ok_or_else(|| "a name and a size are wanted: batch=8".to_owned())
}

fn input(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.rsplit_once('=').ok_or("a name and a file are wanted: x=x.npy")?;
    Ok((name.to_owned(), file.into()))
}

fn flag(text: &str) -> Result<(String, serde_json::Value), String> {
    let (name, value) = text.split_once('=').ok_or("a flag and its value are wanted: allow_tf32=true")?;
    // What is no JSON is a word.
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn values_are_read_or_refused() {
        assert_eq!(tier("approx(0.01)"), Ok(Tier::Approx(OrderedFloat(0.01))));
        assert!(tier("approx(-1)").is_err() && tier("approx(nan)").is_err() && tier("close").is_err());
        assert_eq!(percent("5%"), Ok(0.05));
        assert_eq!(percent("0.2"), Ok(0.2));
        assert!(percent("120%").is_err() && percent("nan").is_err() && percent("").is_err());
        assert_eq!(flag("allow_tf32=true"), Ok(("allow_tf32".to_owned(), true.into())));
        assert!(flag("allow_tf32").is_err());
    }
}
