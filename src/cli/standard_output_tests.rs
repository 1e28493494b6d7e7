//! Tests of standard output on terminals that nobody reads.

use std::io::Write;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFlags, PollTimeout};
use nix::pty::{OpenptyResult, openpty};
use nix::unistd::write;

use super::{StandardOutput, is_ready};
use crate::cli::CtrlC;
use crate::cli::error::Pressed;

/// How long a write may take that has to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal that has room for one more byte, but not for a line end, which takes two.
fn terminal_with_room_for_one_byte() -> OpenptyResult {
    let full = |begin: &[u8]| {
        let pty = openpty(None, None).unwrap();
        let terminal = pty.slave.as_fd();
        let set = |flags| fcntl(terminal, FcntlArg::F_SETFL(flags)).unwrap();
        set(OFlag::O_NONBLOCK);
        write(terminal, begin).unwrap();
        while write(terminal, b"\n").is_ok() {}
        set(OFlag::empty());
        pty
    };
    let is_writable = |pty: &OpenptyResult| {
        is_ready(pty.slave.as_fd(), PollFlags::POLLOUT, PollTimeout::ZERO).unwrap()
    };
    // One of them leaves a single byte, whether the room is even or odd.
    [full(b""), full(b"x")].into_iter().find(is_writable).unwrap()
}

#[test]
fn ctrl_c_ends_a_write_that_a_terminal_blocks_although_it_is_writable() {
    let pty = terminal_with_room_for_one_byte();
    let (ctrl_c, press) = CtrlC::of_a_test();
    let mut output = StandardOutput::to(Arc::new(pty.slave), ctrl_c);
    press();
    let (ended, result) = channel();
    thread::spawn(move || {
        output.write_all(b"\n").unwrap();
        ended.send(output.flush()).unwrap();
    });
    let error = result.recv_timeout(PATIENCE).unwrap().unwrap_err();
    assert!(error.get_ref().is_some_and(|error| error.is::<Pressed>()), "{error}");
}
