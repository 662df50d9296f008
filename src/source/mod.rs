//! Python sources of the workloads: what decides which way a call path goes, read off the code without running it.

mod files;
mod follow;
mod python;
mod switch;

pub use files::Sources;
