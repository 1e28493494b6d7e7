//! The address of an ensemble: its servers, and the node below which the broker keeps all nodes.

use std::fmt;
use std::str::FromStr;

use crate::metadata::store::validate_path;

const PORT: u16 = 2181;

/// `HOST[:PORT],HOST[:PORT],...[/CHROOT]`, as Kafka writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZooKeeperAddress {
    /// The servers, each as `HOST:PORT`.
    pub servers: Vec<String>,
    /// The path that is put before each path; empty for the root of the ensemble.
    pub chroot: String,
}

impl FromStr for ZooKeeperAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (servers, chroot) = match text.find('/') {
            Some(slash) => text.split_at(slash),
            None => (text, ""),
        };
        let chroot = chroot.trim_end_matches('/');
        if !chroot.is_empty() {
            validate_path(chroot).map_err(|error| error.to_string())?;
        }
        let servers = servers.split(',').map(|server| with_port(server.trim()));
        let servers = servers.collect::<Option<Vec<_>>>();
        let servers = servers.ok_or("HOST:PORT, ..., optionally with /CHROOT at the end")?;
        Ok(Self { servers, chroot: chroot.to_owned() })
    }
}

fn with_port(server: &str) -> Option<String> {
    let (host, port) = match server.rsplit_once(':') {
        // The colons of a bracketed address are not followed by a port.
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (server, PORT),
    };
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    let is_valid = !host.is_empty() && (is_bracketed || !host.contains([':', '[', ']', ' ']));
    is_valid.then(|| format!("{host}:{port}"))
}

impl fmt::Display for ZooKeeperAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.servers.join(","), self.chroot)
    }
}

impl ZooKeeperAddress {
    /// Converts a path in this tree to the path in the ensemble.
    pub(super) fn full_path(&self, path: &str) -> String {
        match path {
            "/" if self.chroot.is_empty() => "/".to_owned(),
            "/" => self.chroot.clone(),
            path => format!("{}{path}", self.chroot),
        }
    }

    /// Converts a path in the ensemble to the path in this tree.
    pub(super) fn own_path(&self, full: &str) -> String {
        match full.strip_prefix(&self.chroot) {
            Some("") => "/".to_owned(),
            Some(path) => path.to_owned(),
            None => full.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_kafka_writes_it() {
        for (text, servers, chroot) in [
            ("zk1", &["zk1:2181"][..], ""),
            ("zk1:2182,zk2, zk3:1/log", &["zk1:2182", "zk2:2181", "zk3:1"], "/log"),
            ("127.0.0.1:1/a/b/", &["127.0.0.1:1"], "/a/b"),
            ("[::1],[::2]:9/", &["[::1]:2181", "[::2]:9"], ""),
        ] {
            let address: ZooKeeperAddress = text.parse().unwrap();
            assert_eq!(address.servers, servers, "{text}");
            assert_eq!(address.chroot, chroot, "{text}");
            assert_eq!(address.to_string().parse(), Ok(address));
        }
        for text in ["", "/log", "zk1,,zk2", "zk1:", "zk1:70000", "a b", "::1", "zk1/a//b"] {
            assert!(text.parse::<ZooKeeperAddress>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_chroot_is_put_before_each_path_and_taken_off_again() {
        for (text, path, full) in [
            ("zk", "/", "/"),
            ("zk", "/a", "/a"),
            ("zk/log", "/", "/log"),
            ("zk/log", "/a/b", "/log/a/b"),
        ] {
            let address: ZooKeeperAddress = text.parse().unwrap();
            assert_eq!(address.full_path(path), full);
            assert_eq!(address.own_path(full), path);
        }
    }
}
