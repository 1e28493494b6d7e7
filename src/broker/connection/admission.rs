//! The limits of connections, in total and per address.
//!
//! Whatever the settings say, some of the process's descriptors are reserved for files: without a
//! free descriptor, no segment could be created, no checkpoint written and no log opened.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::io::OpenFiles;

/// Counts connections, and tells the cache of open files how many descriptors they use.
#[derive(Debug)]
pub(crate) struct Admission {
    counts: Mutex<Counts>,
    files: OpenFiles,
}

/// The maximum number of connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    /// The maximum in total.
    pub(crate) total: usize,
    /// The maximum per address.
    pub(crate) per_ip: usize,
}

/// The minimum number of descriptors reserved for files, unless the process has very few.
const RESERVE_MIN: u64 = 64;

/// The number of descriptors that connections may use out of `limit`, the maximum of the process.
/// The rest, usually an eighth, is for files.
pub(crate) fn descriptors_for_connections(limit: u64) -> u64 {
    limit - (limit / 8).max(RESERVE_MIN).min(limit / 2)
}

#[derive(Debug, Default)]
struct Counts {
    total: usize,
    by_ip: HashMap<IpAddr, usize>,
}

/// An admitted connection, which counts towards the limits until it is dropped.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// The address of the peer.
    pub(crate) peer: SocketAddr,
    admission: Arc<Admission>,
}

impl Admission {
    /// Creates an admission without connections, which shares the descriptors with `files`.
    pub(crate) fn new(files: OpenFiles) -> Self {
        Self { counts: Mutex::default(), files }
    }

    /// Admits a connection of `peer`, or returns the name of the setting that forbids it.
    pub(crate) fn admit(
        self: &Arc<Self>,
        peer: SocketAddr,
        limits: ConnectionLimits,
    ) -> Result<Admitted, &'static str> {
        let mut counts = self.lock();
        if counts.total >= limits.total {
            return Err("max.connections");
        }
        let from_ip = counts.by_ip.entry(peer.ip()).or_default();
        if *from_ip >= limits.per_ip {
            return Err("max.connections.per.ip");
        }
        *from_ip += 1;
        counts.total += 1;
        let total = counts.total;
        drop(counts);
        self.files.leave_to_others(total);
        Ok(Admitted { peer, admission: Arc::clone(self) })
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut counts = self.admission.lock();
        counts.total -= 1;
        let total = counts.total;
        let left = counts.by_ip.get_mut(&self.peer.ip()).map(|count| {
            *count -= 1;
            *count
        });
        if left == Some(0) {
            counts.by_ip.remove(&self.peer.ip());
        }
        drop(counts);
        self.admission.files.leave_to_others(total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{MemoryDisk, Share};

    #[test]
    fn descriptors_are_left_to_files() {
        let limits = [0, 100, 256, 1024, 4096, 1 << 20];
        assert_eq!(limits.map(descriptors_for_connections), [0, 50, 192, 896, 3584, 917_504]);
    }

    #[test]
    fn connections_are_counted_in_total_and_by_address_until_they_close() {
        let files = OpenFiles::new(Arc::new(MemoryDisk::default()), Share::OfProcess);
        let admission = Arc::new(Admission::new(files));
        let limits = ConnectionLimits { total: 3, per_ip: 2 };
        let peer = |ip: &str| SocketAddr::new(ip.parse().unwrap(), 1);
        let first = admission.admit(peer("127.0.0.1"), limits).unwrap();
        let _second = admission.admit(peer("127.0.0.1"), limits).unwrap();
        assert_eq!(
            admission.admit(peer("127.0.0.1"), limits).err(),
            Some("max.connections.per.ip")
        );
        let _third = admission.admit(peer("127.0.0.2"), limits).unwrap();
        assert_eq!(admission.admit(peer("127.0.0.3"), limits).err(), Some("max.connections"));
        drop(first);
        assert!(admission.admit(peer("127.0.0.1"), limits).is_ok());
    }
}
