//! The guarantees of our own client, against brokers in this process.

mod administering;
mod consuming;
mod memberships;
mod producing;
mod restored;
