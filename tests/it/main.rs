//! Integration tests: whole brokers in this process, spoken to over loopback.

mod durability;
mod power_cuts;
mod support;
