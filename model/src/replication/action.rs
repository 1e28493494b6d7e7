//! The steps of the model, and their descriptions.

use super::state::{Change, State};
use crate::brokers::BrokerId;

/// A step.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A leader appends a record.
    Append(BrokerId),
    /// A replica flushes its log.
    Flush(BrokerId),
    /// A replica begins a flush.
    BeginFlush(BrokerId),
    /// A flush ends.
    FinishFlush(BrokerId),
    /// A leader moves the watermark over a record.
    AdvanceWatermark(BrokerId),
    /// A follower fetches from a leader.
    Fetch(BrokerId, BrokerId),
    /// A follower fetches from a leader, and the answer is lost.
    FetchUnanswered(BrokerId, BrokerId),
    /// A broker reads the state node of a new epoch.
    Learn(BrokerId),
    /// A broker reads that it leads a new epoch, and sees the setting `write.caching` as on.
    LearnCaching(BrokerId),
    /// A leader reads the state node of its epoch again.
    ReadAgain(BrokerId),
    /// A leader asks the store to remove a member.
    Shrink(BrokerId, BrokerId),
    /// A leader asks the store to add a member.
    Grow(BrokerId, BrokerId),
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
    /// The controller leaves the partition without a leader until replicas have reported.
    AskForReports,
    /// The controller elects a replica by the reports.
    ElectReported(BrokerId),
    /// The controller elects a member that returned after the wait.
    ElectReturned(BrokerId),
    /// The controller believes a leader that was elected after the wait, by what members that
    /// returned report.
    Vouch(BrokerId),
    /// A person accepts the loss of what a replica lacks.
    AcceptLoss(BrokerId),
    /// The controller creates a state node that is missing.
    BeginAnew(BrokerId),
    /// A person switches the setting `write.caching`.
    Switch(bool),
    /// The controller sets the flag of caching.
    SetFlag,
    /// A leader sees the setting `write.caching`.
    SeeSetting(BrokerId, bool),
    /// A follower reads the flag of caching in the epoch that it knows.
    ReadFlag(BrokerId),
    /// A leader asks the store to clear the flag of caching.
    AskToClear(BrokerId),
    /// The controller changes the minimum.
    ChangeMinimum(u8),
    /// A process ends; the log keeps its records up to the end given.
    Stop(BrokerId, u8),
    /// All processes end, perhaps by a loss of power, and perhaps before watermarks were recorded.
    Outage {
        /// True if the machines lose power.
        power: bool,
        /// True if the disks have recorded the watermark of the moment.
        recorded: bool,
    },
    /// A disk is replaced by an empty one.
    Wipe(BrokerId),
    /// A disk loses records, and perhaps what it recorded.
    Cut(BrokerId),
    /// A disk is copied.
    Copy(BrokerId),
    /// A disk is replaced by an older copy.
    Restore(BrokerId),
    /// The state node is deleted.
    DeleteState,
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
        match self {
            Self::Append(id) => {
                let replica = &after.replicas[id];
                let number = replica.log.record(replica.log.end - 1).number();
                let offset = replica.log.end - 1;
                format!("{id}, leader of epoch {}, appends r{number} at {offset}", replica.epoch)
            }
            Self::AdvanceWatermark(id) => {
                let replica = &after.replicas[id];
                let set = replica.leading.in_sync;
                let told = if before.told.acknowledged == after.told.acknowledged {
                    ""
                } else {
                    ": acknowledged"
                };
                let end = replica.watermark;
                format!("{id} moves its watermark to {end} with in-sync set {set}{told}")
            }
            Self::Fetch(id, leader) => fetched(before, after, id, leader),
            Self::FetchUnanswered(id, leader) => {
                let reported = after.replicas[leader].leading.progress[id].reported;
                format!("{id} fetches from {leader}, and reports {reported}; the answer is lost")
            }
            Self::Learn(id) => learned(before, after, id),
            Self::LearnCaching(id) => {
                format!("{}; it sees the setting as on", learned(before, after, id))
            }
            Self::Switch(on) => format!("the setting is switched {}", word(on)),
            Self::SeeSetting(id, on) => format!("{id} sees that the setting is {}", word(on)),
            Self::SetFlag => "the controller sets the flag of caching".into(),
            Self::ReadFlag(id) => format!("{id} reads the flag of caching: {}", after.node.caches),
            Self::AskToClear(id) => format!("{id} asks the store to clear the flag of caching"),
            Self::ReadAgain(id) => {
                let set = after.node.in_sync;
                format!("{id} reads again: in-sync set {set}, minimum {}", after.node.minimum)
            }
            Self::Flush(id) => format!("{id} flushes its log to {}", after.replicas[id].log.end),
            Self::BeginFlush(id) => format!("{id} begins to flush"),
            Self::FinishFlush(id) => {
                format!("{id}'s flush ends: flushed to {}", after.replicas[id].log.flushed)
            }
            Self::Shrink(id, member) => format!("{id} asks the store to remove {member}"),
            Self::Grow(id, member) => format!("{id} asks the store to add {member}"),
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

    /// A decision of the controller or of a person.
    fn describe_decision(self, before: &State, after: &State) -> String {
        let node = &after.node;
        let (epoch, set, eligible) = (node.epoch, node.in_sync, node.eligible);
        match self {
            Self::Remove(id) => {
                format!("the controller removes {id}: in-sync set {set}, eligible {eligible}")
            }
            Self::Elect(id) => format!("the controller elects {id} from {set}, epoch {epoch}"),
            Self::ElectEligible(id) => {
                format!("the controller elects {id}, an eligible replica, epoch {epoch}")
            }
            Self::ElectOther(id) => {
                format!("the controller elects {id}, in no set, epoch {epoch}")
            }
            Self::AskForReports => {
                format!("nobody leads epoch {epoch}: {set} and {eligible} are to report")
            }
            Self::ElectReported(id) => {
                let waited = after.spent.waits > before.spent.waits;
                let early = if waited { "the wait is over: " } else { "" };
                let sets = format!("in-sync set {set}, eligible {eligible}");
                format!("{early}the controller elects {id}, epoch {epoch}; {sets}")
            }
            Self::ElectReturned(id) => {
                format!("the controller elects {id}, which has returned with more, epoch {epoch}")
            }
            Self::Vouch(id) => {
                format!("{id} is believed, epoch {epoch}: in-sync set {set}, eligible {eligible}")
            }
            Self::AcceptLoss(id) => {
                format!("a person accepts the loss of what {id} lacks: it leads epoch {epoch}")
            }
            Self::BeginAnew(id) => {
                format!("the state node is created again: {id} leads, in-sync set {set}")
            }
            Self::ChangeMinimum(minimum) => {
                format!("the minimum becomes {minimum}; eligible {eligible}")
            }
            _ => self.describe_fault(before, after),
        }
    }

    /// A fault, or the return of a broker.
    fn describe_fault(self, before: &State, after: &State) -> String {
        match self {
            Self::Stop(id, end) if end == before.replicas[id].log.end => format!("{id} is killed"),
            Self::Stop(id, end) => format!("{id} loses power; its log is left up to {end}"),
            Self::Outage { power, recorded } => {
                let end = if power { "lose power" } else { "are killed" };
                let floors = if recorded { "" } else { ", before watermarks are recorded" };
                format!("all brokers {end}{floors}, and all sessions end")
            }
            Self::Wipe(id) => format!("{id} ends, and its disk is replaced by an empty one"),
            Self::Cut(id) => {
                let (end, floor) = (after.replicas[id].log.end, after.replicas[id].floor.end);
                format!("{id}'s log is cut to {end}; its disk has recorded watermark {floor}")
            }
            Self::Copy(id) => format!("{id}'s disk is copied"),
            Self::Restore(id) => format!("{id}'s disk is replaced by the copy"),
            Self::DeleteState => "the state node is deleted".into(),
            Self::Start(id) => {
                let lost = if after.registered[id].lost { ", with lost records" } else { "" };
                format!("{id} starts as incarnation {}{lost}", after.replicas[id].incarnation)
            }
            Self::Expire(id) if before.replicas[id].running => {
                format!("{id}'s session expires; {id} lives and does not know")
            }
            Self::Expire(id) => format!("{id}'s session expires"),
            Self::RegisterAgain(id) => {
                format!("{id} registers again, incarnation {}", after.replicas[id].incarnation)
            }
            other => format!("{other:?}"),
        }
    }
}

impl Change {
    fn words(self) -> String {
        match self {
            Self::Remove(id) => format!("removes {id}"),
            Self::Add(id, incarnation) => format!("adds {id}, seen as incarnation {incarnation},"),
            Self::Clear => "clears the flag of caching".into(),
        }
    }
}

const fn word(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn fetched(before: &State, after: &State, id: BrokerId, leader: BrokerId) -> String {
    if before.leads(leader) && !after.leads(leader) {
        let floor = before.replicas[id].floor.end;
        let stops = format!("{leader} has lost records, and stops");
        return format!("{id} fetches from {leader} with recorded watermark {floor}: {stops}");
    }
    let (old, new) = (&before.replicas[id].log, &after.replicas[id].log);
    if new.end < old.end {
        return format!(
            "{id} fetches from {leader}, diverges, and truncates its log to {}",
            new.end
        );
    }
    let diverges = before.replicas[leader].leading == after.replicas[leader].leading;
    let watermark = after.replicas[id].watermark;
    if diverges && watermark > before.replicas[id].watermark && new.end == old.end {
        return format!("{id} fetches from {leader}, and takes its watermark, {watermark}");
    }
    let reported = after.replicas[leader].leading.progress[id].reported;
    if new.end > old.end {
        let number = new.record(old.end).number();
        return format!("{id} fetches r{number} from {leader}, and reports {reported}");
    }
    format!("{id} fetches from {leader}, and reports {reported}")
}

fn learned(before: &State, after: &State, id: BrokerId) -> String {
    let (node, end) = (&after.node, after.replicas[id].log.end);
    let Some(leader) = node.leader else {
        return format!(
            "{id} learns that nobody leads epoch {}, and reports end {end}",
            node.epoch
        );
    };
    if leader == id {
        return format!("{id} learns that it leads epoch {}, with log end {end}", node.epoch);
    }
    let truncated = if end < before.replicas[id].log.end {
        format!(", and truncates its log to {end}")
    } else {
        String::new()
    };
    format!("{id} learns that {leader} leads epoch {}{truncated}", node.epoch)
}
