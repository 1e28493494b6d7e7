//! State machines that can be explored, and the statements that have to hold in them.

use std::hash::Hash;

use crate::brokers::{BrokerId, Renaming};

/// A state machine whose states can be explored.
pub trait Model {
    /// Everything that has an influence on what can happen next.
    type State: Copy + Hash;
    /// A step, with all that its description needs.
    type Action: Copy;

    /// The state before anything happened.
    fn initial(&self) -> Self::State;

    /// Adds every step that can come next, with the state it leads to, in a fixed order.
    fn successors(&self, state: &Self::State, steps: &mut Vec<(Self::Action, Self::State)>);

    /// The state with other names for the brokers.
    fn renamed(state: &Self::State, renaming: &Renaming) -> Self::State;

    /// A number computed from a broker's part in a state, but not from its name.
    ///
    /// A fingerprint is taken of the brokers in the order of these numbers; only brokers with equal
    /// numbers have to be tried in every order.
    fn rank(state: &Self::State, id: BrokerId) -> u64;

    /// The invariant that does not hold in a state.
    fn violation(&self, state: &Self::State) -> Option<Invariant>;

    /// A step in plain words.
    fn describe(&self, action: Self::Action, before: &Self::State, after: &Self::State) -> String;
}

/// A statement that holds in every state: its number in the list of invariants, and its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invariant {
    /// The number, such as "I12".
    pub code: &'static str,
    /// The statement.
    pub text: &'static str,
}
