//! Breadth-first search over the states of a [`Model`].
//!
//! For each state reached, the search keeps a 64-bit fingerprint, the number of the parent state,
//! and the ordinal of the step that led from there. A violation is therefore reached by a shortest
//! path, which is reconstructed by repeating its steps. Only these are put into words.
//!
//! Most of the states reached wait to be expanded. Instead of them the search keeps their parents,
//! of which there are fewer, and takes a parent's steps again to get its children.
//!
//! Two states with the same fingerprint count as the same. Among n states the chance of one such
//! pair is about n² / 2⁶⁵: one in 4,000 for 100 million.

mod exploration;
#[cfg(test)]
mod exploration_tests;
mod model;
mod queue;
mod reached;

pub use exploration::{Outcome, Report, search};
pub use model::{Invariant, Model};
