//! Counting what was delivered, by topic and window of time, and telling it to a topic.
//!
//! Off, it costs a comparison for each record. On, a record adds to a number of its batch; a batch
//! that was delivered adds its numbers to the producer's, and every ten seconds, and when somebody
//! flushes, these go to the topic `streamlog.audit` as records of JSON:
//!
//! | key | meaning |
//! |---|---|
//! | `tier` | what the producer was told it belongs to |
//! | `producer` | which one it is; no other has this name |
//! | `number` | 0, 1, 2, … of its records, so that none is counted twice or missed unseen |
//! | `topic`, `from_ms`, `window_ms` | what was counted, by the time of the records |
//! | `count` | how many more were delivered than it has told before |

mod tally;
#[cfg(test)]
mod tally_tests;
mod telling;
mod windows;

pub(crate) use tally::{Audit, TOPIC};
pub(crate) use telling::TELL_EVERY;
pub(crate) use windows::Windows;
