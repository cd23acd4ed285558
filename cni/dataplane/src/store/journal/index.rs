//! Finds records by their contents without reading all others.
//!
//! Each key of a record is an empty file, `index/<bucket>/<hash of the key>.<attachment>`. There is
//! one folder for each of 256 buckets, so that a lookup lists a few names on a node with ten
//! thousand attachments.
//!
//! A record is written before its keys and deleted after them: a killed process leaves no key
//! without a record, only a record with missing keys, which has changed nothing yet or is about to
//! be deleted. After a loss of power both are possible: no sandbox is left then that another one
//! could be in conflict with, and the agent repairs the index when it starts.

use crate::model::attachment::{AttachmentId, ContainerId, PodUid, Record};
use crate::store::atomic_file::{self, Error};
use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use usnet_crds::NetworkName;
use usnet_crds::names::fnv1a;

/// Bytes for some names at a time.
const NAMES_SIZE: usize = 2 << 10;

/// What records can be found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key<'a> {
    Pod(&'a PodUid),
    /// Their sandbox, if a call of the runtime attached several interfaces of it.
    Sandbox(&'a ContainerId),
    /// The folder of the node that backs the pod's directory.
    Folder(&'a Path),
    /// A MAC address on a network.
    Mac(&'a NetworkName, &'a str),
    /// An address on a network.
    Ip(&'a NetworkName, IpAddr),
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(uid) => write!(formatter, "pod {uid}"),
            Self::Sandbox(container) => write!(formatter, "sandbox {container}"),
            Self::Folder(folder) => write!(formatter, "folder {}", folder.display()),
            Self::Mac(network, mac) => write!(formatter, "mac {network} {mac}"),
            Self::Ip(network, ip) => write!(formatter, "ip {network} {ip}"),
        }
    }
}

impl Key<'_> {
    /// All keys of a record.
    pub(super) fn all(record: &Record) -> Vec<Key<'_>> {
        let Record { id, pod, network, .. } = record;
        let mut all = vec![Key::Pod(&pod.uid), Key::Mac(network, &record.mac)];
        all.extend(record.addresses.iter().map(|address| Key::Ip(network, address.ip)));
        all.extend(record.directory_source.as_deref().map(Key::Folder));
        all.extend(record.invoked_ifname.as_ref().map(|_| Key::Sandbox(&id.container)));
        all
    }

    fn hash(self) -> u64 {
        fnv1a(self.to_string().as_bytes())
    }
}

/// The index of a journal. It is changed under the lock of the attachment.
#[derive(Debug, Clone)]
pub(super) struct Index {
    folder: PathBuf,
}

impl Index {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The attachments that may have a key, sorted.
    pub(super) fn find(&self, key: Key<'_>) -> Result<Vec<AttachmentId>, Error> {
        let hash = key.hash();
        let start = format!("{hash:016x}.");
        let bucket = self.bucket(hash);
        let names = few_names(&bucket).map_err(|error| Error::file("list", &bucket, error))?;
        Ok(names.iter().filter_map(|name| name.strip_prefix(&start)?.parse().ok()).collect())
    }

    /// Adds keys of an attachment, by their hashes.
    pub(super) fn add(&self, id: &AttachmentId, mut hashes: impl Iterator<Item = u64>) -> Result<(), Error> {
        hashes.try_for_each(|hash| self.add_key(hash, id))
    }

    /// Removes keys of an attachment, by their hashes.
    pub(super) fn remove(&self, id: &AttachmentId, mut hashes: impl Iterator<Item = u64>) -> Result<(), Error> {
        hashes.try_for_each(|hash| remove_file(&self.path(hash, id)))
    }

    /// The files of all attachments that have some.
    pub(super) fn entries(&self) -> Result<BTreeMap<AttachmentId, Vec<PathBuf>>, Error> {
        let mut entries: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for bucket in atomic_file::names(&self.folder)? {
            let bucket = self.folder.join(bucket);
            for path in atomic_file::names(&bucket)?.iter().map(|name| bucket.join(name)) {
                if let Some(id) = attachment_of(&path) {
                    entries.entry(id).or_default().push(path);
                }
            }
        }
        Ok(entries)
    }

    /// Makes the `entries` of an attachment those of its record, or none.
    pub(super) fn repair(&self, entries: &[PathBuf], record: Option<&Record>) -> Result<(), Error> {
        let hashes = record.map(hashes).unwrap_or_default();
        let kept: BTreeSet<PathBuf> =
            record.iter().flat_map(|record| hashes.iter().map(move |hash| self.path(*hash, &record.id))).collect();
        entries.iter().filter(|path| !kept.contains(*path)).try_for_each(|path| remove_file(path))?;
        record.map_or(Ok(()), |record| self.add(&record.id, hashes.into_iter()))
    }

    fn add_key(&self, hash: u64, id: &AttachmentId) -> Result<(), Error> {
        let path = self.path(hash, id);
        let created = match atomic_file::create_empty(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                atomic_file::create_folder(&self.bucket(hash), 0o700)?;
                atomic_file::create_empty(&path)
            }
            created => created,
        };
        created.map_err(|error| Error::file("create", &path, error))
    }

    fn path(&self, hash: u64, id: &AttachmentId) -> PathBuf {
        self.bucket(hash).join(format!("{hash:016x}.{id}"))
    }

    fn bucket(&self, hash: u64) -> PathBuf {
        self.folder.join(format!("{:02x}", hash & 0xff))
    }
}

/// The hashes of all keys of a record.
pub(super) fn hashes(record: &Record) -> Vec<u64> {
    Key::all(record).into_iter().map(Key::hash).collect()
}

/// The sorted names in a folder that has few; none if there is no folder. The standard library
/// makes one more system call, and has a buffer for many.
fn few_names(folder: &Path) -> io::Result<BTreeSet<String>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = match rustix::fs::open(folder, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(BTreeSet::new()),
        opened => opened?,
    };
    let mut buffer = [const { MaybeUninit::uninit() }; NAMES_SIZE];
    let mut entries = RawDir::new(opened, &mut buffer);
    let mut names = BTreeSet::new();
    while let Some(entry) = entries.next() {
        names.extend(entry?.file_name().to_str().ok().map(str::to_owned));
    }
    Ok(names)
}

fn attachment_of(path: &Path) -> Option<AttachmentId> {
    path.file_name()?.to_str()?.split_once('.')?.1.parse().ok()
}

fn remove_file(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file("remove", path, error)),
        _ => Ok(()),
    }
}
