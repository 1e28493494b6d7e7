//! A model test of the log against a plain list of batches, on a failing disk and a crashing
//! machine.
//!
//! Every seed gives the history of a log with offsets by record or by byte: appends, reads, rolls,
//! flushes, truncations, failed calls, crashes of the process and of the machine, and recoveries,
//! which are interrupted themselves. All the while the invariants I1 to I8 of the reliability rules
//! are checked.

mod checks_tests;
mod faults_tests;
mod plain_tests;
mod world_tests;
