//! The states that a search has reached, each in six bytes and an entry of a hash table.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use super::Model;
use crate::brokers::{BrokerId, PerBroker, Renaming};

/// The states that were reached, by number, with the step that led to each.
pub(super) struct Reached<'a, M> {
    model: &'a M,
    hash: foldhash::quality::FixedState,
    fingerprints: HashSet<u64, BuildHasherDefault<Fingerprint>>,
    parents: Vec<u32>,
    ordinals: Vec<u16>,
}

impl<'a, M: Model> Reached<'a, M> {
    pub(super) fn new(model: &'a M) -> Self {
        Self {
            model,
            hash: foldhash::quality::FixedState::default(),
            fingerprints: HashSet::default(),
            parents: Vec::new(),
            ordinals: Vec::new(),
        }
    }

    /// Adds a state; returns whether it, under any names of the brokers, is new.
    pub(super) fn insert(&mut self, state: &M::State, parent: u32, ordinal: u16) -> bool {
        let new = self.fingerprints.insert(self.fingerprint(state));
        if new {
            self.parents.push(parent);
            self.ordinals.push(ordinal);
        }
        new
    }

    /// The ordinal of the step from a parent to a numbered state, if it is a child of that parent.
    pub(super) fn step_from(&self, parent: u32, number: u32) -> Option<usize> {
        let number = number as usize;
        let is_child = self.parents.get(number) == Some(&parent);
        is_child.then(|| usize::from(self.ordinals[number]))
    }

    #[expect(clippy::cast_possible_truncation, reason = "a search ends at a bound that is a u32")]
    pub(super) fn count(&self) -> u32 {
        self.parents.len() as u32
    }

    /// A number that is the same for a state under all names of the brokers.
    fn fingerprint(&self, state: &M::State) -> u64 {
        let ranks = PerBroker(BrokerId::ALL.map(|id| M::rank(state, id)));
        let under = |renaming| self.hash.hash_one(M::renamed(state, renaming));
        let sorting = Renaming::ALL.iter().filter(|renaming| renaming.sorts(&ranks));
        sorting.map(under).min().unwrap_or_default()
    }

    /// The steps from the initial state to a numbered one, in words.
    pub(super) fn path_to(&self, number: u32) -> Vec<String> {
        let mut ordinals = Vec::new();
        let mut number = number as usize;
        while number != 0 {
            ordinals.push(usize::from(self.ordinals[number]));
            number = self.parents[number] as usize;
        }
        let mut state = self.model.initial();
        let mut steps = Vec::new();
        let mut words = Vec::new();
        for ordinal in ordinals.into_iter().rev() {
            steps.clear();
            self.model.successors(&state, &mut steps);
            let (action, next) = steps[ordinal];
            words.push(self.model.describe(action, &state, &next));
            state = next;
        }
        words
    }
}

/// A hasher that returns a fingerprint as its own hash.
#[derive(Default)]
struct Fingerprint(u64);

impl Hasher for Fingerprint {
    fn write(&mut self, _: &[u8]) {
        unreachable!("a fingerprint is written as one number");
    }

    fn write_u64(&mut self, fingerprint: u64) {
        self.0 = fingerprint;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
