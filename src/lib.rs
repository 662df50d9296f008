//! Proves which parts of two operator graphs are equal, and which of them spends less GPU energy.
//!
//! A graph is read by [`frontend::load`] from a file, or by [`ir::text::parse`] from text. [`prove::prove`] says whether two
//! graphs compute the same under a [`rules::RuleSet`], [`check::compare`] what they cost beside, and [`optimize::optimize`] looks
//! for a cheaper form of one. [`report`] has what these find as data, and renders it.
//!
//! ```
//! use magneton_ir::ir::text;
//! use magneton_ir::progress::Silent;
//! use magneton_ir::prove::{Verdict, prove};
//! use magneton_ir::rules::{RuleSet, Tier};
//!
//! let head = "graph g(x: f32[2, 3], w: param f32[3, 4], b: param f32[4])";
//! let fused = text::parse("fused.mir", &format!("{head} {{ y = addmm(b, x, w) return y }}"))?;
//! let written = text::parse("written.mir", &format!("{head} {{ y = add(matmul(x, w), b) return y }}"))?;
//! let proof = prove(&fused, &written, &*RuleSet::library()?, &Silent)?;
//! assert!(matches!(proof.verdict, Verdict::Equivalent { tier } if tier <= Tier::Rounding));
//! # Ok::<(), miette::Report>(())
//! ```
//!
//! Modules that this page does not show serve the command and the tests of this package. They change without notice.

#[doc(hidden)]
pub mod arrays;
pub mod check;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod corpus;
mod diagnose;
mod elements;
#[doc(hidden)]
pub mod emit;
pub mod energy;
#[doc(hidden)]
pub mod eval;
mod explain;
mod extract;
mod files;
pub mod frontend;
mod guard;
pub mod ir;
#[cfg(feature = "torch")]
#[doc(hidden)]
pub mod libtorch;
#[doc(hidden)]
pub mod measure;
#[doc(hidden)]
pub mod ops;
pub mod optimize;
mod printable;
pub mod progress;
pub mod prove;
pub mod report;
mod result_cache;
pub mod rules;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod source;
