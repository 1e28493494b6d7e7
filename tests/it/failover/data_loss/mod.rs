//! Disks that have lost records: who leads then, and what an operator has to accept.

mod losses;
mod outages;
