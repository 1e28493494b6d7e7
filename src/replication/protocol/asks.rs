//! The leaders that a replica has asked for records. Once elected, the replica is silent as long as
//! they may rely on its fetches (rule R6f).
//!
//! A fetch proves to its leader that this replica has not been elected in the leader's place. So
//! once this replica has been elected, it answers no client until its fetches prove nothing any
//! more.

use std::time::Duration;

use crate::metadata::IsrMember;
use crate::replication::protocol::Rules;

/// The leaders that may still take a fetch of this replica for a proof.
#[derive(Clone, Debug, Default)]
pub struct Asks {
    /// The time from which on all fetches are noted. An earlier process may have sent fetches
    /// before.
    since: Option<Duration>,
    asked: Vec<Ask>,
    /// The incarnation of the leader, if another broker leads.
    followed: Option<IsrMember>,
}

/// The last fetch from an incarnation of a leader.
#[derive(Clone, Copy, Debug)]
struct Ask {
    leader: IsrMember,
    at: Duration,
}

impl Asks {
    /// Begins to note fetches at `now`, unless it has begun before.
    pub fn begin(&mut self, now: Duration) {
        self.since.get_or_insert(now);
    }

    /// Sets the leader that is followed from now on; `None` if no other broker leads.
    pub fn follow(&mut self, leader: Option<IsrMember>) {
        self.followed = leader;
    }

    /// Notes a fetch from the followed leader, as `note` does. Returns false if there is none.
    pub fn note_next(&mut self, now: Duration, rules: Rules) -> bool {
        if let Some(leader) = self.followed {
            self.note(leader, now, rules);
        }
        self.followed.is_some()
    }

    /// Notes a fetch that is about to be sent at `now`, after the previous answer has arrived.
    pub fn note(&mut self, leader: IsrMember, now: Duration, rules: Rules) {
        self.asked.retain(|ask| ask.leader != leader && now < rules.silent_after_asking(ask.at));
        self.asked.push(Ask { leader, at: now });
    }

    /// The time until which this replica, as a new leader, answers no client. A leader that has
    /// ended needs no silence.
    pub fn silent_until(&self, rules: Rules, has_ended: impl Fn(&IsrMember) -> bool) -> Duration {
        let counting = self.asked.iter().filter(|ask| !has_ended(&ask.leader));
        let ends = counting.map(|ask| rules.silent_after_asking(ask.at));
        let start = self.since.map_or(Duration::ZERO, |since| rules.silent_after_start(since));
        ends.fold(start, Duration::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Incarnation;
    use crate::types::BrokerId;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_new_leader_is_silent_until_no_leader_that_lives_can_count_on_its_fetches() {
        let member =
            |id, number| IsrMember { broker: BrokerId(id), incarnation: Incarnation(number) };
        let mut asks = Asks::default();
        asks.begin(at(10));
        asks.begin(at(11));
        let until = |asks: &Asks, ended: i64| {
            asks.silent_until(Rules::ALL, |leader| leader.incarnation.0 <= ended)
        };
        assert_eq!(until(&asks, 0), at(12), "an earlier process may have asked");
        asks.note(member(1, 5), at(20), Rules::ALL);
        asks.note(member(2, 6), at(21), Rules::ALL);
        assert_eq!(until(&asks, 0), at(23));
        assert_eq!(until(&asks, 5), at(23), "not only the last leader counts");
        asks.note(member(1, 5), at(22), Rules::ALL);
        assert_eq!(until(&asks, 0), at(24));
        assert_eq!(until(&asks, 5), at(23));
        assert_eq!(until(&asks, 6), at(12), "all of them have ended");
    }
}
