//! A broken invariant.

/// An invariant that a run has broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The name of the invariant.
    pub(crate) invariant: &'static str,
    /// The facts that contradict it.
    pub(crate) facts: String,
}

impl Violation {
    pub(crate) fn new(invariant: &'static str, facts: String) -> Self {
        Self { invariant, facts }
    }
}
