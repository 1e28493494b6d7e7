//! How a command ends, as scripts see it.

use std::process::ExitCode;

/// The exit codes of every command: a promise to scripts, so none ever changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All that was asked for was done.
    Done,
    /// Something was not done, standard error says what; or not found sound, the answer says what.
    Failed,
    /// The command line was wrong, and nothing was tried.
    Usage,
}

impl Exit {
    /// The number that the process returns.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
