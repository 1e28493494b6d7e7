//! The tokens by which a data directory proves that it is the one of the last registration.
//!
//! Rule R26 in docs/replication.md: each registration has a fresh random token. It is written into
//! the data directory, flushed, and then, by the transaction that registers, into the node by which
//! the broker is known. A directory that does not bring the token that the node has for it is
//! another disk, whatever ids it carries: it is an older copy, from before the last registration.
//!
//! The directory is written first, and keeps the token of the node beside the new one, so that a
//! crash at any point leaves the token of the node in the directory:
//!
//! | crash | node | directory |
//! |---|---|---|
//! | before anything is written | A | A |
//! | after the directory was written | A | A, B |
//! | after the registration, or with its outcome unknown | A or B | A, B |
//! | after the directory was written for the next one | B | B, C |
//!
//! More tokens in the directory make no older copy acceptable, since a copy has only tokens from
//! before it was taken.

use std::fmt;

use uuid::Uuid;

use crate::metadata::store::StoreFuture;

/// The maximum number of tokens in a directory.
const TOKENS_MAX: usize = 64;

/// The tokens in the data directory of this broker.
pub trait DirectoryTokens: fmt::Debug + Send + Sync {
    /// The tokens, oldest first.
    fn held(&self) -> Vec<String>;

    /// Replaces the tokens, all at once; durable once the future completes.
    fn replace(&self, tokens: Vec<String>) -> StoreFuture<'_, ()>;
}

/// A fresh token.
pub(super) fn random() -> String {
    Uuid::new_v4().to_string()
}

/// The tokens that a directory with the tokens `held` has while the token `next` is registered, if
/// `last` is that of the node.
///
/// Keeps all earlier ones: the node may have been read on a server that lags behind, or the store
/// may have been restored from a snapshot. If there are too many, the newest are kept, and that of
/// the node.
pub(super) fn with_next(held: &[String], last: Option<&str>, next: &str) -> Vec<String> {
    let mut tokens: Vec<String> = held.iter().filter(|token| *token != next).cloned().collect();
    while tokens.len() >= TOKENS_MAX {
        let is_other = |token: &String| Some(token.as_str()) != last;
        tokens.remove(tokens.iter().position(is_other).unwrap_or(0));
    }
    tokens.push(next.to_owned());
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(names: &str) -> Vec<String> {
        names.chars().map(String::from).collect()
    }

    #[test]
    fn the_token_of_the_node_and_later_ones_stay_beside_the_next() {
        assert_eq!(with_next(&[], None, "A"), tokens("A"));
        assert_eq!(with_next(&tokens("A"), None, "B"), tokens("AB"), "it may be registered");
        assert_eq!(with_next(&tokens("A"), Some("A"), "B"), tokens("AB"));
        assert_eq!(with_next(&tokens("AB"), Some("B"), "C"), tokens("ABC"));
        assert_eq!(with_next(&tokens("AB"), Some("A"), "C"), tokens("ABC"), "the server may lag");
        assert_eq!(with_next(&tokens("AB"), Some("A"), "B"), tokens("AB"), "another attempt");
    }

    #[test]
    fn the_token_of_the_node_stays_through_any_number_of_attempts() {
        let mut held = tokens("A");
        for attempt in 0..2 * TOKENS_MAX {
            held = with_next(&held, Some("A"), &attempt.to_string());
            assert!(held.len() <= TOKENS_MAX && held[0] == "A", "{held:?}");
            assert_eq!(*held.last().unwrap(), attempt.to_string());
        }
    }
}
