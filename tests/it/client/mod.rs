//! What our own client promises, against brokers in this process.

mod administering;
mod consuming;
mod memberships;
mod producing;
