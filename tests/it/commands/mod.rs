//! The command line as a process.

mod behind_a_gate;
mod contexts;
mod interrupted_producers;
mod interrupting;
mod mistakes;
mod on_a_cluster;
mod on_log_files;
mod records;
mod terminals;
mod topics;
mod unreachable;
