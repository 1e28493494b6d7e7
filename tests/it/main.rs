//! Integration tests: whole brokers in this process, spoken to over loopback.

mod cluster;
mod consuming;
mod durability;
mod groups;
mod power_cuts;
mod producing;
mod support;
