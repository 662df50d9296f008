//! Reports for a terminal, with styles; whoever prints them strips those where they are not wanted.

mod comparison;
mod explanation;
mod optimization;

pub use comparison::comparison;
pub use explanation::explanation;
pub use optimization::optimization;

/// How much of the report is shown.
#[derive(Clone, Copy, Debug)]
pub struct HumanOptions {
    /// Characters in a line.
    pub width: usize,
    /// Groups of regions in the table.
    pub regions: usize,
}

impl Default for HumanOptions {
    fn default() -> Self {
        HumanOptions { width: 100, regions: 5 }
    }
}

#[cfg(test)]
mod tests;
