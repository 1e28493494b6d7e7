//! `Fetch`: records up to the high watermark, as places in their files.

mod answer;
mod session;

pub(crate) use answer::answer;
pub(crate) use session::FetchSessions;
