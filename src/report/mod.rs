//! What the user sees: one model for each command, and one renderer for each format.

mod html;
mod human;
mod markdown;
mod model;
#[cfg(test)]
mod samples;
mod wording;

use serde::Serialize;

pub use human::HumanOptions;
pub use model::*;

/// What a command found. Every format shows the same facts.
pub trait Report: Serialize {
    /// As text with terminal styles; whoever prints it strips them where they are not wanted.
    fn human(&self, options: &HumanOptions) -> String;

    /// As Markdown, for issues and pull requests.
    fn markdown(&self) -> String;

    /// As one HTML file that needs nothing else.
    fn html(&self) -> String;

    /// As one JSON object. Numbers that are not finite become null.
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
}
