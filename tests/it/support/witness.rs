//! A well-behaved client that notices whether a hostile peer has harmed others.

use super::{Connection, LocalBroker, batch};

/// A well-behaved connection opened before, and the log end of the test's topic then.
pub(crate) struct Witness {
    connection: Connection,
    end: i64,
}

impl Witness {
    /// Connects, and writes the first record.
    pub(crate) fn of(broker: &LocalBroker) -> Self {
        let mut witness = Self { connection: broker.connect(), end: 0 };
        witness.sees_no_harm();
        witness
    }

    /// The log end offset.
    pub(crate) fn end(&self) -> i64 {
        self.end
    }

    /// Checks that the connection still works, and that no other client has written anything.
    pub(crate) fn sees_no_harm(&mut self) {
        let next = self.connection.produce(batch([7]), 1).unwrap();
        assert_eq!(next, Ok(self.end), "the next record stands where the log ended");
        self.end += 1;
    }
}
