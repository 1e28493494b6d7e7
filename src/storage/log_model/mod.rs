//! The log against a plain list of batches, on a disk that fails and a machine that crashes.
//!
//! Every seed is one life of a log that counts its offsets in records or in bytes: appends, reads,
//! rolls, flushes, cuts, failed calls, crashes of the process and of the power, and recoveries,
//! themselves interrupted. Checked throughout: I1 to I8 of the reliability rules.

mod checks_tests;
mod faults_tests;
mod plain_tests;
mod world_tests;
