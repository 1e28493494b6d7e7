//! The kernel's statistics of the server under load.

use std::fs;
use std::io;
use std::time::Duration;

/// Returns the processor time that all threads of a process have used since its start.
pub fn cpu_time(pid: u32) -> io::Result<Duration> {
    let mut total = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let statistics = fs::read_to_string(task?.path().join("schedstat"))?;
        let on_cpu = statistics.split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
        total += on_cpu.ok_or(io::ErrorKind::InvalidData)?;
    }
    Ok(Duration::from_nanos(total))
}
