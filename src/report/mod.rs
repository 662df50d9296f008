//! What the user sees: one model for each command, and one renderer for each format.

mod finding;
mod html;
mod human;
mod junit;
mod markdown;
mod model;
mod sarif;
mod wording;

#[cfg(test)]
mod samples;

use serde::Serialize;

pub use human::HumanOptions;
pub use junit::junit;
pub use model::{
    Baseline, BasisShares, Best, BestForm, Call, CallPaths, Cause, Chain, Cheaper, Comparison, Cost, Definition,
    Details, Difference, Explanation, Figure, Finding, FindingKind, Form, Launched, LaunchedBest, LeftOut, MadeTensor,
    Operator, Optimization, Part, PartKind, PlacedOperator, Point, Precomputed, Region, Rejected, ReportedVerdict,
    Rewrite, SCHEMA, Saving, Setting, Side, Source, SourceLine, SourceText, SourcedOperator, Step, Switch, SwitchKind,
    Timing, Unproven, Variable, Witness,
};
pub use sarif::{BaselineError, sarif};
pub(crate) use wording::{amount, energy, percent, time};

/// What a command found. Every format shows the same facts.
pub trait Report: Serialize {
    /// As text with terminal styles; whoever prints it strips them where they are not wanted.
    fn human(&self, options: &HumanOptions) -> String;

    /// As Markdown, for issues and pull requests.
    fn markdown(&self) -> String;

    /// As one HTML file that needs nothing else.
    fn html(&self) -> String;

    /// What it is about: the names of the files.
    fn subject(&self) -> String;

    /// What asks for a change.
    fn findings(&self) -> Vec<Finding>;

    /// As one JSON object. Numbers that are not finite become null.
    ///
    /// # Errors
    /// What cannot be written as JSON; none of the models in this module.
    fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

impl Report for Comparison {
    fn human(&self, options: &HumanOptions) -> String {
        human::comparison(self, options)
    }

    fn markdown(&self) -> String {
        markdown::comparison(self)
    }

    fn html(&self) -> String {
        html::comparison(self)
    }

    fn subject(&self) -> String {
        format!("{} and {}", self.a.file, self.b.file)
    }

    fn findings(&self) -> Vec<Finding> {
        finding::of_comparison(self)
    }
}

impl Report for Explanation {
    fn human(&self, options: &HumanOptions) -> String {
        human::explanation(self, options)
    }

    fn markdown(&self) -> String {
        markdown::explanation(self)
    }

    fn html(&self) -> String {
        html::explanation(self)
    }

    fn subject(&self) -> String {
        format!("region {} of {} and {}", self.region.id, self.a_file, self.b_file)
    }

    fn findings(&self) -> Vec<Finding> {
        finding::of_explanation(self)
    }
}

impl Optimization {
    /// Time against energy as a picture, in SVG: the workload now, its best form, and slower forms that take less energy.
    pub fn frontier_svg(&self) -> String {
        html::frontier_svg(self)
    }
}

impl Report for Optimization {
    fn human(&self, options: &HumanOptions) -> String {
        human::optimization(self, options)
    }

    fn markdown(&self) -> String {
        markdown::optimization(self)
    }

    fn html(&self) -> String {
        html::optimization(self)
    }

    fn subject(&self) -> String {
        self.file.clone()
    }

    fn findings(&self) -> Vec<Finding> {
        finding::of_optimization(self)
    }
}
