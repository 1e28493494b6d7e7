//! Tests of standard output that is read late, or by nobody, when Ctrl-C is pressed.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::PollFlags;
use nix::pty::{OpenptyResult, openpty};
use nix::unistd::{read, write};

use super::{StandardOutput, TERMINAL_CHUNK, is_ready};
use crate::cli::CtrlC;
use crate::cli::error::Pressed;

/// More bytes than a terminal keeps for its reader.
const MORE_THAN_ROOM: usize = 1 << 20;

/// The longest time for a write that has to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// A terminal that is writable, but has room for a few bytes only.
fn nearly_full_terminal() -> OpenptyResult {
    let pty = openpty(None, None).unwrap();
    let terminal = pty.slave.as_fd();
    let set = |flags| fcntl(terminal, FcntlArg::F_SETFL(flags)).unwrap();
    let is_writable = |within: u8| is_ready(terminal, PollFlags::POLLOUT, within.into()).unwrap();
    set(OFlag::O_NONBLOCK);
    // The kernel moves bytes on to the reader's side, which makes room again.
    while is_writable(100) {
        while write(terminal, &[b'x'; 64]).is_ok() {}
    }
    set(OFlag::empty());
    while !is_writable(1) {
        assert_eq!(read(&pty.master, &mut [0]), Ok(1));
    }
    pty
}

#[test]
fn ctrl_c_ends_a_write_that_a_terminal_blocks_although_it_is_writable() {
    let pty = nearly_full_terminal();
    let (ctrl_c, press) = CtrlC::of_a_test();
    press();
    let mut output = StandardOutput::to(Arc::new(pty.slave), ctrl_c);
    let flushed = in_thread(move || {
        output.write_all(&vec![b'y'; MORE_THAN_ROOM]).unwrap();
        output.flush()
    });
    let error = flushed.recv_timeout(PATIENCE).unwrap().unwrap_err();
    assert!(error.get_ref().unwrap().is::<Pressed>(), "{error}");
}

#[test]
fn a_row_that_a_terminal_takes_late_is_whole_with_ctrl_c_and_without() {
    for is_pressed in [false, true] {
        let pty = nearly_full_terminal();
        let (ctrl_c, press) = CtrlC::of_a_test();
        let mut output = StandardOutput::to(Arc::new(pty.slave), ctrl_c);
        if is_pressed {
            press();
        }
        let row = [vec![b'y'; 3 * TERMINAL_CHUNK], vec![b'\n']].concat();
        let written = row.clone();
        let flushed = in_thread(move || {
            output.write_all(&written).unwrap();
            output.flush()
        });
        let mut master = File::from(pty.master);
        let mut read = Vec::new();
        while !read.ends_with(b"y\r\n") {
            let mut part = [0; 4096];
            let count = master.read(&mut part).unwrap();
            read.extend_from_slice(&part[..count]);
        }
        flushed.recv_timeout(PATIENCE).unwrap().unwrap();
        let row = [&row[..row.len() - 1], b"\r\n"].concat();
        assert!(read.ends_with(&row), "pressed: {is_pressed}");
    }
}

#[test]
fn ctrl_c_during_a_write_that_succeeds_is_reported_by_the_next_check() {
    let pty = openpty(None, None).unwrap();
    let (_reader, pipe) = std::io::pipe().unwrap();
    let outputs: [Arc<dyn AsFd + Send + Sync>; 2] = [Arc::new(pty.slave), Arc::new(pipe)];
    for output in outputs {
        let ctrl_c = CtrlC::pressed_before_a_wait();
        let mut output = StandardOutput::to(output, ctrl_c);
        output.write_all(b"a row\n").unwrap();
        output.flush().unwrap();
        ctrl_c.check().unwrap_err();
        ctrl_c.check().unwrap();
    }
}

/// The result of work in a thread of its own, so that a test of it can end if it hangs.
fn in_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (ended, result) = sync_channel(1);
    thread::spawn(move || ended.send(work()));
    result
}
