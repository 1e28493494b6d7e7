//! The search itself: it expands one state after the other until it may end.

use std::ops::ControlFlow;

use super::queue::Queue;
use super::reached::Reached;
use super::{Invariant, Model};

/// A finished search.
#[derive(Debug)]
pub struct Report {
    /// The number of states that were reached, those that differ by the names of brokers once.
    pub states: u32,
    /// The number of steps to the last of them.
    pub depth: usize,
    /// The way in which the search ended.
    pub outcome: Outcome,
}

/// The way in which a search ended.
#[derive(Debug)]
pub enum Outcome {
    /// Every state was reached, and the invariants hold in all of them.
    Exhausted,
    /// The invariants hold in as many states as were asked for; there are more.
    Bounded,
    /// An invariant does not hold; the steps are a shortest path there.
    Violated(Invariant, Vec<String>),
}

/// Explores at most `states_max` states, and ends at the first violation.
pub fn search<M: Model>(model: &M, states_max: u32) -> Report {
    let mut search = Search {
        model,
        states_max,
        reached: Reached::new(model),
        parents: Queue::default(),
        steps: Vec::new(),
        depth: Depth::default(),
    };
    let outcome = search.run().break_value().unwrap_or(Outcome::Exhausted);
    let depth = match &outcome {
        Outcome::Exhausted => search.depth.steps,
        Outcome::Bounded => search.depth.steps + 1,
        Outcome::Violated(_, path) => path.len(),
    };
    Report { states: search.reached.count(), depth, outcome }
}

/// A search under way.
struct Search<'a, M: Model> {
    model: &'a M,
    states_max: u32,
    reached: Reached<'a, M>,
    parents: Queue<Parent<M::State>>,
    /// Emptied and filled again for each state, so that its memory is allocated once.
    steps: Vec<(M::Action, M::State)>,
    depth: Depth,
}

/// An expanded state with children that wait to be expanded.
struct Parent<S> {
    number: u32,
    state: S,
}

impl<M: Model> Search<'_, M> {
    /// Expands the states in the order of their numbers, until none is left or the search ends.
    fn run(&mut self) -> ControlFlow<Outcome> {
        let initial = self.model.initial();
        self.reached.insert(&initial, 0, 0);
        self.expand(0, &initial)?;
        let mut number = 1;
        let mut siblings = Vec::new();
        while let Some(parent) = self.parents.pop() {
            siblings.clear();
            self.model.successors(&parent.state, &mut siblings);
            // The children of a parent have consecutive numbers.
            while let Some(ordinal) = self.reached.step_from(parent.number, number) {
                self.expand(number, &siblings[ordinal].1)?;
                number += 1;
            }
        }
        ControlFlow::Continue(())
    }

    /// Takes every step from a state.
    fn expand(&mut self, number: u32, state: &M::State) -> ControlFlow<Outcome> {
        let reached_before = self.reached.count();
        self.depth.enter(number, reached_before);
        self.steps.clear();
        self.model.successors(state, &mut self.steps);
        for (ordinal, (_, next)) in (0_u16..).zip(&self.steps) {
            if !self.reached.insert(next, number, ordinal) {
                continue;
            }
            if let Some(invariant) = self.model.violation(next) {
                let path = self.reached.path_to(self.reached.count() - 1);
                return ControlFlow::Break(Outcome::Violated(invariant, path));
            }
            if self.reached.count() >= self.states_max {
                return ControlFlow::Break(Outcome::Bounded);
            }
        }
        if self.reached.count() > reached_before {
            self.parents.push(Parent { number, state: *state });
        }
        ControlFlow::Continue(())
    }
}

/// The distance of the state being expanded from the initial state.
#[derive(Default)]
struct Depth {
    steps: usize,
    /// The number of the first state that is one step further away.
    next_level: u32,
}

impl Depth {
    /// Notes that a state is expanded, by its number, while so many are reached.
    fn enter(&mut self, number: u32, reached: u32) {
        if number == 0 {
            self.next_level = 1;
        } else if number == self.next_level {
            self.steps += 1;
            self.next_level = reached;
        }
    }
}
