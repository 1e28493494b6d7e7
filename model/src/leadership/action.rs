//! The steps of the model, and their descriptions.

use super::state::{Change, State};
use crate::brokers::BrokerId;

/// A step.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A broker reads the state node of a new epoch.
    Learn(BrokerId),
    /// A follower sends a fetch to a leader.
    Fetch(BrokerId, BrokerId),
    /// A follower's fetch reaches the leader.
    FetchArrives(BrokerId, BrokerId),
    /// Two seconds have passed since a broker last sent a fetch to another.
    TwoSecondsPass(BrokerId, BrokerId),
    /// A leader's proof by a follower is too old.
    LoseProof(BrokerId, BrokerId),
    /// A lease ends.
    LeaseEnds(BrokerId),
    /// A broker gets an answer from the store, and with it a lease.
    RenewLease(BrokerId),
    /// A leader asks the store to remove a member.
    Shrink(BrokerId, BrokerId),
    /// A leader asks the store to add a member.
    Grow(BrokerId, BrokerId),
    /// A leader asks the store to make another the leader.
    HandOver(BrokerId, BrokerId),
    /// A leader reads the state node of its epoch again.
    ReadAgain(BrokerId),
    /// A silent leader writes the state node as it is, with success, and answers again.
    ConfirmLeadership(BrokerId),
    /// A silent leader answers again without knowing the outcome.
    Resume(BrokerId),
    /// The store carries a write out and answers.
    CarryOut(BrokerId, Change),
    /// The store carries a write out, and its answer is lost.
    CarryOutUnanswered(BrokerId, Change),
    /// The store refuses a write.
    Refuse(BrokerId, Change),
    /// A write is lost on its way.
    Lose(BrokerId, Change),
    /// The controller takes a member out.
    Remove(BrokerId),
    /// The controller elects an in-sync replica.
    Elect(BrokerId),
    /// The controller elects an eligible replica.
    ElectEligible(BrokerId),
    /// The controller elects any replica.
    ElectOther(BrokerId),
    /// A process is killed.
    Kill(BrokerId),
    /// A guard proves the end of its broker.
    ProveEnd(BrokerId),
    /// A broker starts.
    Start(BrokerId),
    /// A session expires.
    Expire(BrokerId),
    /// A living broker opens a new session.
    RegisterAgain(BrokerId),
}

impl Action {
    /// The step in plain words.
    pub fn describe(self, before: &State, after: &State) -> String {
        let node = &after.node;
        let lease = |id| if before.brokers[id].lease { "a lease" } else { "no lease" };
        match self {
            Self::Learn(id) if node.leader == id => {
                format!("{id}, with {}, learns that it leads epoch {}", lease(id), node.epoch)
            }
            Self::Learn(id) => {
                format!("{id} learns that {} leads epoch {}", node.leader, node.epoch)
            }
            Self::Fetch(id, leader) => format!("{id} sends a fetch to {leader}"),
            Self::FetchArrives(id, leader) => format!("{id}'s fetch reaches {leader}: proof"),
            Self::TwoSecondsPass(id, leader) => {
                format!("it is 2 s since {id} last sent a fetch to {leader}")
            }
            Self::LoseProof(leader, id) => format!("{leader}'s proof by {id} is over"),
            Self::LeaseEnds(id) => format!("{id}'s lease ends"),
            Self::RenewLease(id) => format!("{id} gets an answer from the store: a lease"),
            Self::Shrink(id, member) => format!("{id} asks the store to remove {member}"),
            Self::Grow(id, member) => format!("{id} asks the store to add {member}"),
            Self::HandOver(id, target) => format!("{id} asks the store to hand over to {target}"),
            Self::ReadAgain(id) => format!("{id} reads again: in-sync set {}", node.in_sync),
            Self::ConfirmLeadership(id) => format!("{id} writes the state again, and answers"),
            Self::Resume(id) => format!("{id} answers again without knowing the outcome"),
            Self::CarryOut(id, change) => {
                format!("the store {} for {id} and answers", change.words())
            }
            Self::CarryOutUnanswered(id, change) => {
                format!("the store {} for {id}; the answer is lost", change.words())
            }
            Self::Refuse(id, _) => format!("the store refuses {id}'s write"),
            Self::Lose(id, _) => format!("{id}'s write is lost"),
            _ => self.describe_decision(before, after),
        }
    }

    /// A decision of the controller, or a fault.
    fn describe_decision(self, before: &State, after: &State) -> String {
        let (set, epoch) = (after.node.in_sync, after.node.epoch);
        match self {
            Self::Remove(id) => format!("the controller removes {id}: in-sync set {set}"),
            Self::Elect(id) => format!("the controller elects {id} from {set}, epoch {epoch}"),
            Self::ElectEligible(id) => {
                format!("the controller elects {id}, an eligible replica, epoch {epoch}")
            }
            Self::ElectOther(id) => {
                format!("the controller elects {id}, in no set, epoch {epoch}")
            }
            Self::Kill(id) => format!("{id} is killed"),
            Self::ProveEnd(id) => format!("{id}'s guard proves its end, and closes its session"),
            Self::Start(id) => {
                format!("{id} starts as incarnation {}", after.brokers[id].incarnation)
            }
            Self::Expire(id) if before.brokers[id].running => {
                format!("{id}'s session expires; {id} lives and does not know")
            }
            Self::Expire(id) => format!("{id}'s session expires"),
            Self::RegisterAgain(id) => {
                format!("{id} registers again, incarnation {}", after.brokers[id].incarnation)
            }
            other => format!("{other:?}"),
        }
    }
}

impl Change {
    fn words(self) -> String {
        match self {
            Self::Add(id) => format!("adds {id}"),
            Self::Remove(id) => format!("removes {id}"),
            Self::HandOver(id) => format!("makes {id} the leader"),
        }
    }
}
