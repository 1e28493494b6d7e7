//! The strategies by which a group's partitions are assigned.

use std::str::FromStr;

use crate::config::SettingValue;

/// An assignment strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Contiguous ranges, topic by topic: partitions with the same index in several topics go to
    /// the same member.
    Range,
    /// One partition to each member in turn.
    RoundRobin,
}

impl Strategy {
    /// Its name in the group protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::RoundRobin => "roundrobin",
        }
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Range, Self::RoundRobin];
        let found = all.into_iter().find(|strategy| strategy.name() == text);
        found.ok_or_else(|| "range, roundrobin".to_owned())
    }
}

impl SettingValue for Vec<Strategy> {
    fn parse(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let strategies = words.map(str::parse).collect::<Result<Self, String>>()?;
        if strategies.is_empty() { Err("range, roundrobin".to_owned()) } else { Ok(strategies) }
    }

    fn show(&self) -> String {
        self.iter().map(|strategy| strategy.name()).collect::<Vec<_>>().join(",")
    }
}
