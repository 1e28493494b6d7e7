//! The memory that this process may use: the machine's, or less if its control group is limited.
//!
//! Control groups are nested, and the smallest limit on the path to the root applies. Version 2 has
//! one hierarchy with `memory.max`, version 1 has one for memory with `memory.limit_in_bytes`. In a
//! container the path of the group is often that of the host while the group is mounted at the
//! root, so missing levels are skipped.

use std::path::{Path, PathBuf};

/// The mount point of control groups.
const CGROUPS: &str = "/sys/fs/cgroup";

/// The memory that this process may use, in bytes; `None` if the system does not report it.
pub fn usable_memory() -> Option<u64> {
    let machine = machine_memory(&read("/proc/meminfo".as_ref())?);
    let groups = read("/proc/self/cgroup".as_ref()).unwrap_or_default();
    limits(&groups, &|path| read(path)).chain(machine).min()
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn machine_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The limits of the groups that `/proc/self/cgroup` names, and of their ancestors.
fn limits(groups: &str, read: &impl Fn(&Path) -> Option<String>) -> impl Iterator<Item = u64> {
    let files = groups.lines().filter_map(limit_files).flatten();
    files.filter_map(|file| read(&file)?.trim().parse().ok())
}

/// The files that may hold a limit for the group of a line `ID:CONTROLLERS:PATH`.
fn limit_files(line: &str) -> Option<Vec<PathBuf>> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    let (mount, file) = match controllers {
        "" => (PathBuf::from(CGROUPS), "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => {
            (Path::new(CGROUPS).join("memory"), "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let levels = Path::new(path.trim_start_matches('/')).ancestors();
    Some(levels.map(|level| mount.join(level).join(file)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits_of(groups: &str, files: &[(&str, &str)]) -> Vec<u64> {
        let read = |path: &Path| {
            let file = files.iter().find(|(name, _)| Path::new(name) == path)?;
            Some(file.1.to_owned())
        };
        limits(groups, &read).collect()
    }

    #[test]
    fn this_machine_has_some_memory() {
        assert!(usable_memory().unwrap() >= 1 << 20);
    }

    #[test]
    fn the_memory_of_the_machine_is_read_in_kibibytes() {
        let meminfo = "MemTotal:        2048 kB\nMemFree:          512 kB\n";
        assert_eq!(machine_memory(meminfo), Some(2 << 20));
        assert_eq!(machine_memory("MemFree: 512 kB\n"), None);
    }

    #[test]
    fn a_group_and_those_around_it_may_have_limits() {
        let files = [
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/memory.max", "1048576\n"),
            ("/sys/fs/cgroup/memory.max", "2097152\n"),
        ];
        assert_eq!(limits_of("0::/a/b\n", &files), [1 << 20, 2 << 20]);
        // The path of the host, as seen in a container.
        assert_eq!(limits_of("0::/docker/4f2c\n", &files), [2 << 20]);
    }

    #[test]
    fn the_memory_hierarchy_of_version_1_is_found_among_others() {
        let groups = "5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n";
        let files = [
            ("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "4096\n"),
            ("/sys/fs/cgroup/cpu/x/memory.limit_in_bytes", "1\n"),
        ];
        assert_eq!(limits_of(groups, &files), [4096]);
    }
}
