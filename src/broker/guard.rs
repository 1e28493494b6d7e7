//! The guard of a broker process: another process, which outlives it and ends its session with
//! ZooKeeper, so that other leaders are elected at once.
//!
//! The broker tells its guard of each session over a pipe, the only thing that the guard inherits.
//! The guard acts only on proof that the process has ended: the system says so of the process that
//! it was started by. A pause of the broker, or a cut network, is no such proof. If the guard
//! itself is gone, others are elected after the time-out of the session.

use std::io::{self, BufRead, Write};
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::io::{Clock, ProcessWatch};
use crate::metadata::{SessionObserver, SessionTicket};

/// A running guard of this process. It is ended when this is dropped, as after an orderly stop.
#[derive(Debug)]
pub(crate) struct Guard {
    child: Child,
    pipe: Mutex<ChildStdin>,
}

impl Guard {
    /// Starts a guard by a command that calls [`await_parent`].
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A Ctrl-C in a terminal is for the broker, which ends its session itself; and the guard
        // keeps no directory busy.
        let mut child = command.process_group(0).current_dir("/").spawn()?;
        let Some(pipe) = child.stdin.take() else {
            return Err(io::Error::other("its standard input is no pipe"));
        };
        let guard = Self { child, pipe: Mutex::new(pipe) };
        guard.write(&std::process::id().to_string())?;
        Ok(guard)
    }

    fn write(&self, line: &str) -> io::Result<()> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(pipe, "{line}")
    }
}

impl SessionObserver for Guard {
    fn begun(&self, ticket: &SessionTicket) {
        let line = serde_json::to_string(ticket).map_err(io::Error::from);
        if let Err(error) = line.and_then(|line| self.write(&line)) {
            tracing::warn!(
                "the guard of this process is gone ({error}): should the broker crash, others are \
                 elected after zookeeper.session.timeout.ms"
            );
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Either fails only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until the process at the other end of `input`, which has started this one, has ended, and
/// returns the ticket of its last session; `None` if it had none, or is not the parent.
///
/// # Errors
/// If the input breaks off, or the system cannot watch the process.
pub(crate) fn await_parent(input: impl BufRead) -> io::Result<Option<SessionTicket>> {
    let mut lines = input.lines();
    let Some(first) = lines.next() else { return Ok(None) };
    let id: u32 = first?.parse().map_err(|_| io::Error::other("no process id"))?;
    let watch = ProcessWatch::open(id);
    // A parent that has ended is no parent any more; until then its id is nobody else's.
    let has_ended = parent_id() != id;
    let mut last = None;
    for line in lines {
        // A line that was cut off belongs to a session that has no registration yet.
        last = serde_json::from_str(&line?).ok().or(last);
    }
    if !has_ended {
        watch?.wait()?;
    }
    Ok(last)
}

/// Ends the session of a process that has ended.
///
/// # Errors
/// If no server answers.
pub(crate) fn end_session(ticket: &SessionTicket, clock: Arc<dyn Clock>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(ticket.end(clock)).map_err(io::Error::other)
}
