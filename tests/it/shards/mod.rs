//! Requests of one connection that take long, and the other connections of its shard.

mod cold_reads;
mod slow_work;
