//! The guard of a broker process: a child process that outlives the broker and ends the broker's
//! ZooKeeper session, so that other leaders are elected at once.
//!
//! The broker writes a ticket for each session to a pipe, the only descriptor that the guard
//! inherits. The guard acts only when the system reports that the broker's process has ended: a
//! paused broker, a cut network or a closed pipe does not prove that. Nor does another parent than
//! the broker, because a wrapper script may have started the guard. Without a guard, other leaders
//! are elected after the time-out of the session.

use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::io::{Clock, ProcessWatch};
use crate::metadata::{SessionObserver, SessionTicket};

/// A running guard of this process. Dropping it ends the guard, for example after an orderly stop.
#[derive(Debug)]
pub(crate) struct Guard {
    child: Child,
    pipe: Mutex<ChildStdin>,
}

impl Guard {
    /// Starts a guard by a command that calls [`await_broker`].
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // In a process group of its own, the guard does not get a terminal's Ctrl-C, on which the
        // broker ends its session itself. With `/` as its directory, the guard keeps no file system
        // in use.
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
        // Both calls fail only if the guard has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until the broker's process, which writes to `input`, has ended. Returns the ticket of its
/// last session, or `None` if it wrote no ticket.
///
/// # Errors
/// If the input breaks off, or the system cannot watch the process.
pub(crate) fn await_broker(input: impl BufRead) -> io::Result<Option<SessionTicket>> {
    let mut lines = input.lines();
    let Some(first) = lines.next() else { return Ok(None) };
    let id: u32 = first?.parse().map_err(|_| io::Error::other("no process id"))?;
    // If the broker has ended already, another process may have its id. The guard then waits too
    // long, and the session ends by its time-out; a living broker never loses its session.
    let watch = ProcessWatch::open(id)?;
    let mut last = None;
    for line in lines {
        // Skip a line that was cut off: its session has no registration yet, or an earlier line has
        // a ticket of the same session.
        last = serde_json::from_str(&line?).ok().or(last);
    }
    if let Some(broker) = watch {
        broker.wait()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn await_process(id: u32) -> io::Result<Option<SessionTicket>> {
        await_broker(format!("{id}\n").as_bytes())
    }

    #[test]
    fn a_guard_that_another_process_has_started_waits_for_the_end_of_the_broker() {
        let mut broker = Command::new("sleep").arg("0.5").spawn().unwrap();
        assert!(await_process(broker.id()).unwrap().is_none());
        assert!(broker.try_wait().unwrap().is_some(), "the broker lives");
    }

    #[test]
    fn a_guard_notices_that_the_broker_has_ended_before_it_could_watch_it() {
        let mut broker = Command::new("true").spawn().unwrap();
        broker.wait().unwrap();
        assert!(await_process(broker.id()).unwrap().is_none());
    }
}
