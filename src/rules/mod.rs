//! The rule language: rules say which operator expressions are equal, and how equal.

mod applied_once;
pub(crate) mod arena;
mod assumption;
mod ast;
mod bounds;
pub mod check;
mod computed_number;
mod definition;
mod error;
mod evaluated;
pub(crate) mod expr;
mod filter;
pub mod format;
mod function;
mod functions;
mod inlined;
mod instantiate;
mod library;
mod load;
mod masks;
mod matcher;
mod parser;
mod resolve;
mod rule;
mod scope;
mod set;
mod tensor_functions;
mod terms;
mod tier;
mod vars;

pub use error::{Problem, RuleError, RuleFile};
pub use functions::{FunctionInfo, describe as describe_functions};
pub use library::{Sources, read_files};
pub use set::{RuleInfo, RuleSet};
pub use tier::Tier;

// What matching, the prover and the emission of programs need beside.
pub(crate) use applied_once::AppliedOnce;
pub(crate) use assumption::{Piece, Sentence};
pub(crate) use inlined::InlinedDefinitions;
pub(crate) use masks::every_row_has;
pub(crate) use rule::{Associativity, Outcome, Rule};
pub(crate) use terms::{Build, Terms, Visitor};
pub(crate) use vars::Bindings;
