//! The `streamlog` command without Python.

use std::env::args_os;
use std::process::ExitCode;

fn main() -> ExitCode {
    streamlog::cli::main(args_os().skip(1)).into()
}
