//! The delivery audit: counts delivered records by topic and time window, and publishes the counts.
//!
//! Disabled, it costs a comparison per record. Enabled, each record increments a counter of its
//! batch, and a delivered batch adds its counters to the producer's. Every ten seconds, and on
//! every flush, the producer's counters are sent to the topic `streamlog.audit` as JSON records:
//!
//! | key | meaning |
//! |---|---|
//! | `tier` | the tier configured for the producer |
//! | `producer` | the unique name of the producer |
//! | `number` | 0, 1, 2, … within the producer, to detect lost and repeated records |
//! | `topic`, `from_ms`, `window_ms` | the topic, and the window of record timestamps |
//! | `count` | records delivered since the producer's previous count for the window |

mod tally;
#[cfg(test)]
mod tally_tests;
mod windows;

pub(crate) use tally::{Audit, TOPIC};
pub(crate) use windows::Windows;
