//! The three brokers, sets of them, and tables with a row for each.
//!
//! No rule prefers a broker for its name, so two states that differ only by names have the same
//! future. Everything in a state can therefore be renamed, and the search keeps one state of six.

use std::fmt::{self, Display, Formatter};
use std::ops::{BitOr, Index, IndexMut};

/// One of the brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BrokerId {
    /// The leader of the first epoch.
    A,
    /// A follower at the beginning.
    B,
    /// The other follower.
    C,
}

use BrokerId::{A, B, C};

impl BrokerId {
    /// All brokers of the model.
    pub const ALL: [Self; 3] = [A, B, C];

    /// The brokers other than this one.
    pub fn others(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |&other| other != self)
    }

    fn index(self) -> usize {
        usize::from(self as u8)
    }
}

impl Display for BrokerId {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self:?}")
    }
}

/// A set of brokers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct BrokerSet(u8);

impl BrokerSet {
    /// The set without a member.
    pub const EMPTY: Self = Self(0);

    /// The set of one broker.
    pub const fn only(id: BrokerId) -> Self {
        Self(1 << id as u8)
    }

    /// The set of all brokers.
    pub fn all() -> Self {
        BrokerId::ALL.into_iter().fold(Self::EMPTY, Self::with)
    }

    /// Returns whether the broker is a member.
    pub const fn contains(self, id: BrokerId) -> bool {
        self.0 >> id as u8 & 1 == 1
    }

    /// This set and the broker.
    #[must_use]
    pub const fn with(self, id: BrokerId) -> Self {
        Self(self.0 | 1 << id as u8)
    }

    /// This set without the broker.
    #[must_use]
    pub const fn without(self, id: BrokerId) -> Self {
        Self(self.0 & !(1 << id as u8))
    }

    /// The number of members.
    #[expect(clippy::cast_possible_truncation, reason = "a set has at most three members")]
    pub const fn len(self) -> u8 {
        self.0.count_ones() as u8
    }

    /// Returns whether the set has no member.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members.
    pub fn iter(self) -> impl Iterator<Item = BrokerId> {
        BrokerId::ALL.into_iter().filter(move |&id| self.contains(id))
    }
}

impl BitOr for BrokerSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Display for BrokerSet {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.iter().map(|id| id.to_string()).collect();
        write!(formatter, "{{{}}}", names.join(", "))
    }
}

/// A table with a row for each broker.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PerBroker<T>(pub [T; 3]);

impl<T> Index<BrokerId> for PerBroker<T> {
    type Output = T;

    fn index(&self, id: BrokerId) -> &T {
        &self.0[id.index()]
    }
}

impl<T> IndexMut<BrokerId> for PerBroker<T> {
    fn index_mut(&mut self, id: BrokerId) -> &mut T {
        &mut self.0[id.index()]
    }
}

/// Other names for the brokers.
#[derive(Clone, Copy)]
pub struct Renaming([BrokerId; 3]);

impl Renaming {
    /// All renamings; the first changes nothing.
    pub const ALL: [Self; 6] = [
        Self([A, B, C]),
        Self([A, C, B]),
        Self([B, A, C]),
        Self([B, C, A]),
        Self([C, A, B]),
        Self([C, B, A]),
    ];

    /// The new name of a broker.
    pub fn id(&self, id: BrokerId) -> BrokerId {
        self.0[id.index()]
    }

    /// The new name, if there is a broker to name.
    pub fn option(&self, id: Option<BrokerId>) -> Option<BrokerId> {
        id.map(|id| self.id(id))
    }

    /// Returns whether the new names are in the order of a number that each broker has.
    pub fn sorts(&self, numbers: &PerBroker<u64>) -> bool {
        let sorted = self.table(numbers, |number| *number);
        sorted.0.is_sorted()
    }

    /// The set of the new names.
    pub fn set(&self, set: BrokerSet) -> BrokerSet {
        set.iter().fold(BrokerSet::EMPTY, |renamed, id| renamed.with(self.id(id)))
    }

    /// The table with its rows under the new names; `row` renames what a row mentions.
    pub fn table<T: Copy>(&self, table: &PerBroker<T>, row: impl Fn(&T) -> T) -> PerBroker<T> {
        let mut renamed = *table;
        for id in BrokerId::ALL {
            renamed[self.id(id)] = row(&table[id]);
        }
        renamed
    }
}
