//! Formatting of an error and its causes on one line.

use std::error::Error;
use std::fmt;

/// Formats an error followed by its causes, each after a colon. A cause that ends the text so far
/// is not repeated: some errors show their causes themselves.
#[derive(Clone, Copy, Debug)]
pub struct WithCauses<'a>(pub &'a dyn Error);

impl fmt::Display for WithCauses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        let causes = std::iter::successors(self.0.source(), |cause: &&dyn Error| (*cause).source());
        for cause in causes.map(ToString::to_string) {
            if !text.ends_with(&cause) {
                text.push_str(": ");
                text.push_str(&cause);
            }
        }
        f.write_str(&text)
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

    #[test]
    fn a_cause_that_the_error_shows_itself_is_not_repeated() {
        let root = Layered("refused", None);
        let error = Layered("not done: no broker: refused", Some(root.into()));
        assert_eq!(WithCauses(&error).to_string(), "not done: no broker: refused");
    }
}
