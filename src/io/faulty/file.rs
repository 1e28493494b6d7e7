//! An open file of a faulty disk.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard};
use std::time::SystemTime;

use nix::errno::Errno;

use super::fault::{Failure, Operation};
use super::machine::{Machine, Shared};
use crate::io::memory::{Child, FileId};
use crate::io::{
    DirectBuffer, File, Inode, SeededRandom, extend_to, failed_sync, is_failed_sync, read_exact_at,
    send_copied,
};

/// An open file. Its calls fail once the power has failed or the process has ended.
#[derive(Debug)]
pub(super) struct FaultyFile {
    pub(super) shared: Arc<Shared>,
    pub(super) incarnation: u64,
    pub(super) id: FileId,
    /// The path at which the file was opened; a fault can be restricted to a path.
    pub(super) path: PathBuf,
    pub(super) writable: bool,
}

impl FaultyFile {
    fn begin(
        &self,
        operation: Operation,
    ) -> io::Result<(MutexGuard<'_, Machine>, Option<Failure>)> {
        self.shared.begin(self.incarnation, operation, &self.path)
    }

    fn begin_read(
        &self,
        operation: Operation,
        length: usize,
    ) -> io::Result<(MutexGuard<'_, Machine>, Option<Failure>)> {
        let (machine, failure) = self.begin(operation)?;
        if !machine.holds_read(length) {
            return Ok((machine, failure));
        }
        let machine = self.shared.wait_for_read(machine, length);
        machine.check(self.incarnation)?;
        Ok((machine, failure))
    }

    fn require_writable(&self) -> io::Result<()> {
        if self.writable { Ok(()) } else { Err(Errno::EBADF.into()) }
    }
}

impl File for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let (mut machine, failure) = self.begin_read(Operation::Read, buffer.len())?;
        fail(failure)?;
        let cached = machine.names.cached(self.id)?;
        let count = cached.read(buffer, position)?;
        cached.bring_in(position, count as u64);
        flip(failure, &mut buffer[..count]);
        Ok(count)
    }

    fn read_ahead(&self, position: u64, length: u64) {
        let mut machine = self.shared.machine();
        if machine.check(self.incarnation).is_ok()
            && let Ok(cached) = machine.names.cached(self.id)
        {
            cached.bring_in(position, length);
        }
    }

    fn is_cached(&self, position: u64, length: u64) -> bool {
        let mut machine = self.shared.machine();
        if machine.holds_read(usize::try_from(length).unwrap_or(usize::MAX)) {
            return false;
        }
        let cached = machine.names.cached(self.id);
        cached.is_ok_and(|cached| cached.is_cached(position, length))
    }

    fn read_checked(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        read_exact_at(self, buffer, position)
    }

    fn read_medium_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let (mut machine, failure) = self.begin(Operation::ReadMedium)?;
        fail(failure)?;
        let count = machine.names.cached(self.id)?.read_medium(buffer, position)?;
        flip(failure, &mut buffer[..count]);
        Ok(count)
    }

    fn read_direct(
        &self,
        buffer: &mut DirectBuffer,
        position: u64,
        length: usize,
    ) -> io::Result<()> {
        let (mut machine, failure) = self.begin_read(Operation::ReadDirect, length)?;
        fail(failure)?;
        let cached = machine.names.cached(self.id)?;
        buffer.fill(length, |part, before| {
            let count = cached.read_medium(part, position + before as u64)?;
            flip(failure, &mut part[..count]);
            Ok(count)
        })
    }

    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        self.require_writable()?;
        let (mut guard, failure) = self.begin(Operation::Write)?;
        let machine = &mut *guard;
        let mut bytes: Vec<u8> = buffers.iter().flat_map(|buffer| buffer.iter()).copied().collect();
        bytes.truncate(taken(failure, bytes.len(), &mut machine.random));
        flip(failure, &mut bytes);
        machine.names.cached(self.id)?.write(&bytes, position)?;
        fail(failure)?;
        Ok(bytes.len())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.require_writable()?;
        let (mut machine, failure) = self.begin(Operation::SetLen)?;
        fail(failure)?;
        machine.names.cached(self.id)?.set_len(length);
        Ok(())
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        extend_to(self, length)
    }

    fn len(&self) -> io::Result<u64> {
        let mut machine = self.shared.machine();
        machine.check(self.incarnation)?;
        Ok(machine.names.cached(self.id)?.len())
    }

    /// Changes take no time: what a fault does to the medium is no change.
    fn modified(&self) -> io::Result<SystemTime> {
        self.shared.machine().check(self.incarnation)?;
        Ok(SystemTime::UNIX_EPOCH)
    }

    fn inode(&self) -> io::Result<Inode> {
        self.shared.machine().check(self.incarnation)?;
        Ok(Child::File(self.id).inode())
    }

    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, length: usize) -> io::Result<usize> {
        send_copied(self, socket, position, length)
    }

    fn sync_data(&self) -> io::Result<()> {
        let (mut guard, failure) =
            self.shared.begin_sync(self.incarnation, Operation::SyncData, &self.path)?;
        let machine = &mut *guard;
        let cached = machine.names.cached(self.id)?;
        if let Err(error) = fail_sync(failure) {
            if is_failed_sync(&error) {
                cached.lose_dirty_pages();
            }
            return Err(error);
        }
        match failure {
            Some(Failure::Ignored) => Ok(()),
            Some(Failure::Unnoticed) => {
                cached.lose_dirty_pages();
                Ok(())
            }
            _ => cached.sync(&mut machine.random),
        }
    }
}

impl Drop for FaultyFile {
    fn drop(&mut self) {
        let mut machine = self.shared.machine();
        if machine.check(self.incarnation).is_ok() {
            machine.names.close(self.id);
        }
    }
}

/// The error of a call that has to fail.
pub(super) fn fail(failure: Option<Failure>) -> io::Result<()> {
    failure.and_then(Failure::error).map_or(Ok(()), Err)
}

/// The error of a sync that has to fail. Without a descriptor the sync is not tried, so the error
/// does not count as a failed sync.
pub(super) fn fail_sync(failure: Option<Failure>) -> io::Result<()> {
    let was_tried = failure != Some(Failure::TooManyOpenFiles);
    fail(failure).map_err(|error| if was_tried { failed_sync(error) } else { error })
}

/// The number of bytes of `offered` that a write takes, even if it then fails.
fn taken(failure: Option<Failure>, offered: usize, random: &mut SeededRandom) -> usize {
    match failure {
        None | Some(Failure::Ignored | Failure::Unnoticed | Failure::FlipBit { .. }) => offered,
        Some(Failure::ShortWrite(limit)) => offered.min(limit),
        Some(Failure::InputOutput) => random.index(offered + 1),
        Some(
            Failure::NoSpace
            | Failure::NotPermitted
            | Failure::Busy
            | Failure::CrossesDevices
            | Failure::TooManyOpenFiles,
        ) => 0,
    }
}

fn flip(failure: Option<Failure>, bytes: &mut [u8]) {
    let Some(Failure::FlipBit { byte, bit }) = failure else { return };
    let last = bytes.len().saturating_sub(1);
    if let Some(byte) = bytes.get_mut(byte.min(last)) {
        *byte ^= 1 << (bit % 8);
    }
}
