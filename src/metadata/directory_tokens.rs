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
const TOKENS_MAX: usize = 8;

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
/// Keeps the tokens after `last` too: the node may have been read on a server that lags behind. Of
/// many attempts with unknown outcomes the newest are kept.
pub(super) fn with_next(held: &[String], last: Option<&str>, next: &str) -> Vec<String> {
    let first = last.and_then(|last| held.iter().position(|token| token == last)).unwrap_or(0);
    let others = held.iter().skip(first).filter(|token| *token != next);
    let mut tokens: Vec<String> = others.cloned().collect();
    let surplus = (tokens.len() + 1).saturating_sub(TOKENS_MAX);
    if surplus > 0 {
        // The first one is that of the node.
        tokens.drain(1..=surplus);
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
        assert_eq!(with_next(&tokens("AB"), Some("B"), "C"), tokens("BC"));
        assert_eq!(with_next(&tokens("AB"), Some("A"), "C"), tokens("ABC"), "the server may lag");
        assert_eq!(with_next(&tokens("AB"), Some("A"), "B"), tokens("AB"), "another attempt");
    }

    #[test]
    fn the_token_of_the_node_stays_through_any_number_of_attempts() {
        let mut held = tokens("A");
        for attempt in 0..20 {
            held = with_next(&held, Some("A"), &attempt.to_string());
            assert!(held.len() <= TOKENS_MAX && held[0] == "A", "{held:?}");
            assert_eq!(*held.last().unwrap(), attempt.to_string());
        }
    }
}
