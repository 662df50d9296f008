//! Tests of the library through its public interface; a file per subject.
#![allow(clippy::unwrap_used, reason = "whoever runs it sees the panic")]

mod binding;
mod bugs;
mod complex;
mod conformance_onnx;
mod conformance_stablehlo;
mod defined_operators;
mod draws;
mod editor;
#[path = "../edits/mod.rs"]
mod edits;
mod effects;
mod examples;
mod exchanged;
mod exports;
mod frozen;
mod hostile_pt2;
mod hostile_stablehlo;
mod hostile_weights;
mod jax;
mod joint_forms;
mod launches;
mod loops;
mod lost_numbers;
mod mutated_pt2;
mod mutations;
mod numbers;
mod objective;
mod onnx;
mod operators;
mod order_of_equals;
mod outputs;
mod pairs;
mod prices;
mod programs;
mod rules_hostile;
mod rules_library;
mod rules_prove;
mod rules_refused;
mod short_forms;
mod slowdown;
mod switches;
mod tiers;
mod triton;
mod waste;
mod witness;
