//! How a command ends, as scripts see it.

use std::process::ExitCode;

/// The exit codes of every command: a promise to scripts, so none ever changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All that was asked for was done.
    Done,
    /// Something was not done, standard error says what; or not found sound, the answer says what.
    Failed,
    /// The command line was wrong, and nothing was tried. `cluster status --check`: critical.
    Usage,
    /// No broker of the cluster could be reached.
    Unreachable,
    /// The cluster does not allow it.
    Denied,
    /// What was named does not exist, or exists already.
    Missing,
    /// Records cannot be given out: they are damaged, or not those that come next.
    Damaged,
    /// The time was over before the work was done.
    TimedOut,
    /// A person ended it with Ctrl-C.
    Interrupted,
}

impl Exit {
    /// The number that the process returns.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::Denied => 4,
            Self::Missing => 5,
            Self::Damaged => 6,
            Self::TimedOut => 124,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
