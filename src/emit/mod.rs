//! Graphs as files that run: `.mir` text, Python text, exported programs.
//!
//! `program` turns a graph into calls of PyTorch, by what each operator's entry states; `python` and `pt2` write those down, and
//! `write` proves what they wrote before it takes its place. What cannot be written is refused with its name and its place.

mod error;
mod kept;
mod names;
mod program;
mod pt2;
mod python;
mod values;
mod write;

pub use error::EmitError;
pub use program::{Held, Program, Source, Step};
pub use python::{python, torch_dtype};
pub use write::{Format, Workload, can_be_written, write};
