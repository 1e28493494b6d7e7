//! A model test of the log against a plain list of batches, on a failing disk and a crashing
//! machine.
//!
//! Every seed gives the history of a log whose offsets count records or bytes: appends, reads,
//! rolls, flushes, checkpoints, truncations, advances of the log start, new epochs, clean restarts
//! and failed calls. The process or the machine crashes at times, also during a recovery. These
//! invariants are checked throughout:
//!
//! | | invariant |
//! |---|---|
//! | I1 | offsets rise strictly, and epochs never fall along the log |
//! | I2 | log start ≤ flushed offset ≤ log end |
//! | I3 | bytes below the flushed offset change only by truncation, and disappear by retention |
//! | I4 | a recovered log is a prefix of what was written, with everything that was flushed |
//! | I5 | indexes, epochs and producer states follow from the batches |
//! | I6 | another recovery changes nothing |
//! | I7 | a read returns no bytes whose checksum or offsets are wrong |
//! | I8 | a failed append leaves no trace after the next append |
//!
//! A test of its own beside the simulation, because both repay an optimising compiler.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod checks;
mod faults;
mod plain;
mod world;
