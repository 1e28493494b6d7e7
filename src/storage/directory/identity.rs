//! The owner of a data directory: `meta.properties`.
//!
//! | line | meaning |
//! |---|---|
//! | `streamlog.format=1` | version of everything in the directory |
//! | `cluster.id=…` | the cluster whose data this is |
//! | `broker.id=…` | the broker that writes to the directory |
//! | `directory.id=…` | random: it distinguishes a replaced disk from the old one |
//! | `metadata=zookeeper` | only if the metadata is in ZooKeeper and not in the directory |
//! | `registration.tokens=…,…` | random: those of the last registrations, if there are any |
//! | `crc=…` | CRC32C of all bytes before this line, 8 hexadecimal digits |
//!
//! Earlier releases wrote no checksum; their files are accepted. `meta.properties` is the first
//! file written to a new directory. A broker changes it only when it moves to ZooKeeper, before it
//! registers there, or when the directory proves to be an older copy and gets a new id. If the
//! directory has a metadata journal, `streamlog log rebuild-metadata` creates a lost or damaged
//! file again. Apache Kafka has a file of the same name, without `streamlog.format`, and its
//! directories are refused.
//!
//! The tokens are in this file and not in a checkpoint of their own: a damaged checkpoint is
//! rebuilt, but a directory that has lost its tokens counts as another disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::io::Disk;
use crate::storage::directory::names;
use crate::storage::{StorageError, small_file};
use crate::types::BrokerId;

/// The owner of a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The cluster whose data this is.
    pub cluster_id: String,
    /// The broker that writes to the directory.
    pub broker_id: BrokerId,
    /// A random id, which distinguishes a replaced disk from the old one.
    pub directory_id: String,
    /// True if the metadata is in ZooKeeper, and not in the directory.
    pub is_on_zookeeper: bool,
    /// The tokens of the last registrations with the directory, oldest first. The metadata decides
    /// which are kept.
    pub tokens: Vec<String>,
}

/// The broker that opens a data directory.
#[derive(Clone, Debug)]
pub struct Opener {
    /// The cluster, if it is known beforehand; `None` accepts the directory's, or creates a new
    /// one.
    pub cluster_id: Option<String>,
    /// The broker.
    pub broker_id: BrokerId,
}

const FORMAT: &str = "1";
const FORMAT_KEY: &str = "streamlog.format";
const CRC_KEY: &str = "crc";
const METADATA_KEY: &str = "metadata";
const ZOOKEEPER: &str = "zookeeper";
const TOKENS_KEY: &str = "registration.tokens";
const KEYS: [&str; 7] =
    [FORMAT_KEY, "cluster.id", "broker.id", "directory.id", METADATA_KEY, TOKENS_KEY, CRC_KEY];

impl Identity {
    /// Reads the identity; `None` if there is no file.
    ///
    /// # Errors
    /// If the file is a later release's or Kafka's, or is damaged.
    pub(super) fn read(disk: &dyn Disk, path: &Path) -> Result<Option<Self>, StorageError> {
        let bytes = small_file::read(disk, path)
            .map_err(|source| StorageError::io("read", path, source))?;
        bytes.map(|bytes| Self::decode(path, &bytes)).transpose()
    }

    /// Creates the file for a new directory; durable on return.
    pub(super) fn create(
        disk: &dyn Disk,
        path: &Path,
        opener: &Opener,
    ) -> Result<Self, StorageError> {
        let random = || Uuid::new_v4().to_string();
        let identity = Self {
            cluster_id: opener.cluster_id.clone().unwrap_or_else(random),
            broker_id: opener.broker_id,
            directory_id: random(),
            is_on_zookeeper: false,
            tokens: Vec::new(),
        };
        identity.write(disk, path)?;
        Ok(identity)
    }

    /// Records that the metadata is in ZooKeeper, and returns the new identity; durable on return.
    pub(super) fn move_to_zookeeper(
        &self,
        disk: &dyn Disk,
        path: &Path,
    ) -> Result<Self, StorageError> {
        let moved = Self { is_on_zookeeper: true, ..self.clone() };
        moved.write(disk, path)?;
        Ok(moved)
    }

    /// Gives the directory a new id, without tokens, and returns the new identity; durable on
    /// return.
    pub(super) fn renew(&self, disk: &dyn Disk, path: &Path) -> Result<Self, StorageError> {
        let directory_id = Uuid::new_v4().to_string();
        let renewed = Self { directory_id, tokens: Vec::new(), ..self.clone() };
        renewed.write(disk, path)?;
        Ok(renewed)
    }

    /// Replaces the tokens, and returns the new identity; durable on return.
    pub(super) fn replace_tokens(
        &self,
        disk: &dyn Disk,
        path: &Path,
        tokens: Vec<String>,
    ) -> Result<Self, StorageError> {
        let changed = Self { tokens, ..self.clone() };
        changed.write(disk, path)?;
        Ok(changed)
    }

    fn write(&self, disk: &dyn Disk, path: &Path) -> Result<(), StorageError> {
        small_file::replace(disk, path, self.encode().as_bytes())
            .map_err(|source| StorageError::io("write", path, source))
    }

    /// Fails unless the opener is the owner.
    pub(super) fn admit(&self, path: &Path, opener: &Opener) -> Result<(), StorageError> {
        let foreign = |expected: String, found: String| {
            Err(StorageError::Foreign { path: path.to_owned(), expected, found })
        };
        if let Some(cluster_id) = opener.cluster_id.as_ref()
            && *cluster_id != self.cluster_id
        {
            return foreign(
                format!("cluster {cluster_id}"),
                format!("cluster {}", self.cluster_id),
            );
        }
        if opener.broker_id != self.broker_id {
            let (wanted, found) = (opener.broker_id, self.broker_id);
            return foreign(format!("broker {wanted}"), format!("broker {found}"));
        }
        Ok(())
    }

    fn encode(&self) -> String {
        let Self { cluster_id, broker_id, directory_id, is_on_zookeeper, tokens } = self;
        let metadata = is_on_zookeeper.then(|| format!("{METADATA_KEY}={ZOOKEEPER}\n"));
        let tokens = (!tokens.is_empty()).then(|| format!("{TOKENS_KEY}={}\n", tokens.join(",")));
        let text = format!(
            "{FORMAT_KEY}={FORMAT}\ncluster.id={cluster_id}\nbroker.id={broker_id}\n\
             directory.id={directory_id}\n{}{}",
            metadata.unwrap_or_default(),
            tokens.unwrap_or_default()
        );
        let crc = crc32c::crc32c(text.as_bytes());
        format!("{text}{CRC_KEY}={crc:08x}\n")
    }

    fn decode(path: &Path, bytes: &[u8]) -> Result<Self, StorageError> {
        let damaged = |reason: String| StorageError::Damaged { path: path.to_owned(), reason };
        let text = str::from_utf8(bytes).map_err(|error| damaged(format!("no text: {error}")))?;
        let values: BTreeMap<&str, &str> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.trim(), value.trim()))
            .collect();
        let value = |key: &str| {
            let found = values.get(key).filter(|value| !value.is_empty());
            found.copied().ok_or_else(|| damaged(format!("'{key}' is missing")))
        };
        if !values.contains_key(FORMAT_KEY) && values.contains_key("version") {
            return Err(StorageError::Foreign {
                path: path.to_owned(),
                expected: "streamlog".to_owned(),
                found: "Apache Kafka".to_owned(),
            });
        }
        check_format(path, value(FORMAT_KEY)?)?;
        check_lines(text).map_err(damaged)?;
        let broker_id = value("broker.id")?;
        let is_on_zookeeper = match values.get(METADATA_KEY).copied() {
            None => false,
            Some(ZOOKEEPER) => true,
            Some(other) => return Err(damaged(format!("'{other}' is no place of metadata"))),
        };
        let tokens = values.get(TOKENS_KEY).into_iter().flat_map(|tokens| tokens.split(','));
        Ok(Self {
            cluster_id: value("cluster.id")?.to_owned(),
            broker_id: broker_id
                .parse()
                .map(BrokerId)
                .map_err(|_| damaged(format!("'{broker_id}' is no broker id")))?,
            directory_id: value("directory.id")?.to_owned(),
            is_on_zookeeper,
            tokens: tokens.map(|token| token.trim().to_owned()).collect(),
        })
    }
}

/// Returns true if `dir` is a data directory, even one with a damaged identity or only metadata.
///
/// # Errors
/// If it is Kafka's or a later release's.
pub(crate) fn is_data_dir(disk: &dyn Disk, dir: &Path) -> Result<bool, StorageError> {
    match Identity::read(disk, &dir.join(names::IDENTITY)) {
        Err(StorageError::Damaged { .. }) => Ok(true),
        read => Ok(read?.is_some() || has_metadata(disk, dir)?),
    }
}

/// Returns true if `dir` does not exist, or has no identity, no metadata and no log of a broker.
///
/// # Errors
/// If it is Kafka's or a later release's.
pub(crate) fn is_new(disk: &dyn Disk, dir: &Path) -> Result<bool, StorageError> {
    if is_data_dir(disk, dir)? {
        return Ok(false);
    }
    let failed = |source| StorageError::io("list", dir, source);
    if !disk.exists(dir).map_err(failed)? {
        return Ok(true);
    }
    let entries = disk.list(dir).map_err(failed)?;
    Ok(!entries.iter().any(|entry| names::partition_of(&entry.name).is_some()))
}

/// The damage of the identity of a data directory, with the path of its file.
///
/// # Errors
/// If it is Kafka's or a later release's.
pub(crate) fn identity_flaw(
    disk: &dyn Disk,
    dir: &Path,
) -> Result<Option<(PathBuf, String)>, StorageError> {
    let path = dir.join(names::IDENTITY);
    match Identity::read(disk, &path) {
        Err(StorageError::Damaged { reason, .. }) => Ok(Some((path, reason))),
        read => {
            let is_lost = read?.is_none() && has_metadata(disk, dir)?;
            Ok(is_lost.then(|| (path, "it is missing".to_owned())))
        }
    }
}

/// Returns true if a data directory says that its metadata is in ZooKeeper.
///
/// # Errors
/// If it is Kafka's or a later release's.
pub(crate) fn is_on_zookeeper(disk: &dyn Disk, dir: &Path) -> Result<bool, StorageError> {
    match Identity::read(disk, &dir.join(names::IDENTITY)) {
        Err(StorageError::Damaged { .. }) => Ok(false),
        read => Ok(read?.is_some_and(|identity| identity.is_on_zookeeper)),
    }
}

/// Returns true if the directory has a metadata journal, as every data directory whose metadata is
/// not in ZooKeeper has.
pub(super) fn has_metadata(disk: &dyn Disk, dir: &Path) -> Result<bool, StorageError> {
    let metadata = dir.join(names::METADATA);
    disk.exists(&metadata).map_err(|source| StorageError::io("look for", &metadata, source))
}

/// Checks that all lines are known to this release, and the checksum if there is one.
fn check_lines(text: &str) -> Result<(), String> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    for line in lines {
        let key = line.split_once('=').map(|(key, _)| key.trim());
        if !key.is_some_and(|key| KEYS.contains(&key)) {
            return Err(format!("'{line}' means nothing"));
        }
    }
    let Some((body, crc)) = text.rsplit_once("crc=") else { return Ok(()) };
    let actual = crc32c::crc32c(body.as_bytes());
    if crc == format!("{actual:08x}\n") {
        Ok(())
    } else {
        Err(format!("CRC {} is written, the bytes give {actual:08x}", crc.trim_end()))
    }
}

fn check_format(path: &Path, format: &str) -> Result<(), StorageError> {
    if format == FORMAT {
        return Ok(());
    }
    let path = path.to_owned();
    Err(if let Ok(version) = format.parse() {
        let source = small_file::too_new(&path, version, 1);
        StorageError::TooNew { path, source }
    } else {
        StorageError::Damaged { path, reason: format!("'{format}' is no format version") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryDisk;

    const PATH: &str = "/meta.properties";

    fn opener(cluster_id: Option<&str>, broker_id: i32) -> Opener {
        let cluster_id = cluster_id.map(str::to_owned);
        Opener { cluster_id, broker_id: BrokerId(broker_id) }
    }

    fn read(text: &str) -> Result<Option<Identity>, StorageError> {
        let disk = MemoryDisk::default();
        small_file::write_new(&disk, Path::new(PATH), text.as_bytes()).unwrap();
        Identity::read(&disk, Path::new(PATH))
    }

    #[test]
    fn a_created_identity_is_read_and_admits_its_owner_only() {
        let (disk, path) = (MemoryDisk::default(), Path::new(PATH));
        assert_eq!(Identity::read(&disk, path).unwrap(), None);
        let created = Identity::create(&disk, path, &opener(Some("c1"), 3)).unwrap();
        assert_eq!(Identity::read(&disk, path).unwrap(), Some(created.clone()));
        created.admit(path, &opener(Some("c1"), 3)).unwrap();
        created.admit(path, &opener(None, 3)).unwrap();
        for stranger in [opener(Some("c2"), 3), opener(Some("c1"), 4)] {
            let refusal = created.admit(path, &stranger).unwrap_err();
            assert!(matches!(refusal, StorageError::Foreign { .. }), "{refusal}");
        }
    }

    #[test]
    fn a_changed_bit_is_damage_or_a_comment() {
        let (disk, path) = (MemoryDisk::default(), Path::new(PATH));
        let created = Identity::create(&disk, path, &opener(Some("c1"), 3)).unwrap();
        let identity = created.move_to_zookeeper(&disk, path).unwrap();
        assert_eq!(identity, Identity { is_on_zookeeper: true, ..created });
        let tokens = vec!["one".to_owned(), "two".to_owned()];
        let identity = identity.replace_tokens(&disk, path, tokens.clone()).unwrap();
        assert_eq!(identity.tokens, tokens);
        let sound = small_file::read(&disk, path).unwrap().unwrap();
        for bit in 0..sound.len() * 8 {
            let mut bytes = sound.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            small_file::write_new(&disk, path, &bytes).unwrap();
            if let Ok(read) = Identity::read(&disk, path) {
                assert_eq!(read, Some(identity.clone()), "bit {bit}");
            }
        }
    }

    #[test]
    fn a_directory_of_apache_kafka_is_refused() {
        for text in ["version=0\nbroker.id=0\ncluster.id=x\n", "#\nversion=1\nnode.id=1\n"] {
            let refusal = read(text).unwrap_err();
            assert!(refusal.to_string().contains("Apache Kafka"), "{refusal}");
        }
    }

    #[test]
    fn a_later_format_is_refused_and_a_damaged_file_is_named() {
        let refusal = read("streamlog.format=2\nsomething=else\n").unwrap_err();
        assert!(matches!(refusal, StorageError::TooNew { .. }), "{refusal}");
        for text in ["", "streamlog.format=x\n", "streamlog.format=1\ncluster.id=\n"] {
            let refusal = read(text).unwrap_err();
            assert!(matches!(refusal, StorageError::Damaged { .. }), "{text:?}: {refusal}");
        }
    }
}
