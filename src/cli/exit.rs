//! Exit codes.

use std::process::ExitCode;

/// The exit codes of all commands. Scripts rely on them, so their meaning never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command succeeded.
    Done,
    /// The command failed, as explained on standard error; or a check found problems, which its
    /// output lists.
    Failed,
    /// The command line was wrong, and nothing was done. For `cluster status --check`: critical.
    Usage,
    /// No broker of the cluster could be reached.
    Unreachable,
    /// The cluster denied the request.
    Denied,
    /// A named resource does not exist, or exists already.
    Missing,
    /// Records are damaged or missing.
    Damaged,
    /// A timeout passed.
    TimedOut,
    /// The command was interrupted by Ctrl-C.
    Interrupted,
}

impl Exit {
    /// The process's exit code.
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
