//! The server under load, as the kernel sees it.

use std::fs;
use std::io;
use std::time::Duration;

/// Processor time that all threads of a process have used since they began.
pub fn cpu_time(pid: u32) -> io::Result<Duration> {
    let mut total = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let statistics = fs::read_to_string(task?.path().join("schedstat"))?;
        let on_cpu = statistics.split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
        total += on_cpu.ok_or(io::ErrorKind::InvalidData)?;
    }
    Ok(Duration::from_nanos(total))
}
