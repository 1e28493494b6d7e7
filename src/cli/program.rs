//! The program that runs the command line, and the way to start it in another process.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The command's name.
pub(super) const NAME: &str = "streamlog";

/// The program that runs the command line.
#[derive(Clone, Debug)]
pub struct Program {
    executable: PathBuf,
    /// The arguments before the arguments of the command line.
    arguments: Vec<OsString>,
}

impl Program {
    /// The executable of this process, even if its file has been replaced meanwhile.
    pub fn this() -> Self {
        Self { executable: PathBuf::from("/proc/self/exe"), arguments: Vec::new() }
    }

    /// A program that the interpreter `executable` runs if it is given these `arguments`.
    pub fn hosted(executable: PathBuf, arguments: Vec<OsString>) -> Self {
        Self { executable, arguments }
    }

    /// The command that runs the program with this argument.
    pub(crate) fn command(&self, argument: &str) -> Command {
        let mut command = Command::new(&self.executable);
        if self.arguments.is_empty() {
            command.arg0(NAME);
        }
        command.args(&self.arguments).arg(argument);
        command
    }
}
