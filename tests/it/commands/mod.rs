//! The command line as a process.

mod on_a_cluster;
mod on_log_files;
