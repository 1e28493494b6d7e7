//! Formatting of an error and its causes on one line.

use std::error::Error;
use std::fmt;

/// Formats an error followed by its causes, each after a colon.
#[derive(Clone, Copy, Debug)]
pub struct WithCauses<'a>(pub &'a dyn Error);

impl fmt::Display for WithCauses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut causes =
            std::iter::successors(self.0.source(), |cause: &&dyn Error| (*cause).source());
        causes.try_for_each(|cause| write!(f, ": {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Layered(&'static str, #[source] Option<Box<Layered>>);

    #[test]
    fn every_cause_is_shown_in_its_order() {
        let root = Layered("no such file", None);
        let error = Layered("cannot start", Some(Layered("cannot open", Some(root.into())).into()));
        assert_eq!(WithCauses(&error).to_string(), "cannot start: cannot open: no such file");
    }
}
