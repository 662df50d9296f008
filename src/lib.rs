//! Proves which parts of two operator graphs are equal, and which of them spends less GPU energy.

pub mod arrays;
pub mod check;
pub mod cli;
pub mod diagnose;
mod elements;
pub mod emit;
pub mod energy;
pub mod eval;
pub mod explain;
pub mod extract;
mod files;
pub mod frontend;
mod guard;
pub mod ir;
pub mod measure;
pub mod mutate;
pub mod ops;
pub mod optimize;
mod printable;
pub mod progress;
pub mod prove;
pub mod report;
mod result_cache;
pub mod rules;
pub mod run;
