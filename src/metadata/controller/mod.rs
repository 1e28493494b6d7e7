//! The controller: the one broker that decides who leads what.
//!
//! [`plan`] is a pure function from an image to the operations that would put it right; an
//! [`Office`] executes them, each transaction with a check that the office is still its own. So a
//! controller that was deposed without knowing cannot write. Planning looks at the whole image
//! and not at what happened: a controller that takes over in the middle needs to know no more.

mod election;
mod office;
mod plan;
#[cfg(test)]
mod plan_tests;

pub(super) use office::Office;
pub(super) use plan::{Group, plan};
