//! Steps of proofs in files. Reading builds every term anew and takes nothing for granted; whoever uses the steps has to have
//! them verified by the [kernel](super::kernel). Like the kernel, this module uses nothing of the search.

pub(super) mod format;
mod read;
mod write;

pub(super) use format::{Log, Side, Type};
pub(super) use read::{Leaves, LogError};
pub(super) use write::Writer;
