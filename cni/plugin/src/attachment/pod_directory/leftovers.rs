//! Mounts and folders that belong to no attachment, because a record was lost or a call was killed.
//! IO.

use super::directory::PodDirectory;
use super::error::{PodDirectoryError, file_error};
use super::lock::lock_mounts;
use super::mount;
use crate::attachment::node::Node;
use crate::attachment::request::device_allocation::{self, DeviceAllocationError};
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use usnet_crds::DeviceId;
use usnet_dataplane::attachment::{PodUid, Record};
use usnet_dataplane::claim_records::{ClaimRecords, claim_of_folder};
use usnet_dataplane::journal::{self, Key};
use usnet_dataplane::paths::NodePaths;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Folder(#[from] PodDirectoryError),
    #[error(transparent)]
    Claims(#[from] usnet_dataplane::atomic_file::Error),
    #[error(transparent)]
    Devices(#[from] DeviceAllocationError),
}

/// A folder, with its mounts, that belongs to no attachment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leftover {
    /// The mount of a pod's directory for the engine.
    PodDirectory(PathBuf),
    /// The folder of a device that neither kubelet nor a resource claim has allocated.
    Device(PathBuf),
}

impl fmt::Display for Leftover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PodDirectory(path) => write!(formatter, "pod directory {}", path.display()),
            Self::Device(path) => write!(formatter, "device folder {}", path.display()),
        }
    }
}

/// Finds all leftovers of the node. A folder that may belong to a record that cannot be read is
/// none.
pub fn find(node: &Node) -> Result<BTreeSet<Leftover>, Error> {
    let all = node.journal.records()?;
    let is_complete = all.unreadable.is_empty();
    let (ports, devices) = (node.paths.ports(), node.paths.devices());
    let used = paths_in_use(&node.paths, &all.records);
    let mut found = BTreeSet::new();
    let unused = |path: &PathBuf| !used.contains(path);
    for path in folders(&ports)?.into_iter().filter(unused) {
        if is_complete || !may_be_of_unreadable(node, pod(&path).as_ref().map(Key::Pod))? {
            found.insert(Leftover::PodDirectory(path));
        }
    }
    let claims = ClaimRecords::new(&node.paths);
    for path in folders(&node.paths.claim_folders())?.into_iter().filter(unused) {
        let is_prepared = claim_of_folder(&path).map_or(Ok(true), |claim| claims.contains(&claim))?;
        if !is_prepared && (is_complete || !may_be_of_unreadable(node, Some(Key::Folder(&path)))?) {
            found.insert(Leftover::Device(path));
        }
    }
    let mut of_devices = Vec::new();
    for path in folders(&devices)?.into_iter().filter(unused) {
        if is_complete || !may_be_of_unreadable(node, Some(Key::Folder(&path)))? {
            of_devices.push(path);
        }
    }
    if !of_devices.is_empty() {
        let allocated = device_allocation::all_allocated(&node.paths)?;
        let is_free = |path: &PathBuf| device(path).is_some_and(|id| !allocated.contains(&id));
        found.extend(of_devices.into_iter().filter(is_free).map(Leftover::Device));
    }
    Ok(found)
}

/// Removes a leftover. Returns false if it belongs to an attachment by now. A pod's directory that
/// has files although it is not mounted cannot be removed.
pub fn remove(node: &Node, leftover: &Leftover) -> Result<bool, Error> {
    let mounts = node.paths.ports();
    if !mounts.exists() {
        return Ok(false);
    }
    // The record is written before the mount, and mounts need this lock, so that no new user of the
    // folder can be missed.
    let _lock = match leftover {
        Leftover::PodDirectory(path) => lock_mounts(&mounts, pod(path).as_ref(), None)?,
        Leftover::Device(path) => lock_mounts(&mounts, None, Some(path))?,
    };
    if !find(node)?.contains(leftover) {
        return Ok(false);
    }
    let (Leftover::PodDirectory(path) | Leftover::Device(path)) = leftover;
    mount::unmount(path)?;
    let removed = match leftover {
        // A pod may have left files in a folder that was not mounted.
        Leftover::Device(_) => fs::remove_dir_all(path),
        Leftover::PodDirectory(_) => fs::remove_dir(path),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(file_error("remove", path, error).into()),
        _ => Ok(true),
    }
}

/// Whether a record that cannot be read may have this key. A key that is not known may be that of
/// any record.
fn may_be_of_unreadable(node: &Node, key: Option<Key<'_>>) -> Result<bool, journal::Error> {
    key.map_or(Ok(true), |key| Ok(!node.journal.find(key)?.unreadable.is_empty()))
}

/// The pod whose directory has this path: the name of the directory is the uid, or begins with it.
fn pod(path: &Path) -> Option<PodUid> {
    path.file_name()?.to_str()?.trim_start_matches('.').split('.').next()?.parse().ok()
}

fn paths_in_use(paths: &NodePaths, records: &[Record]) -> BTreeSet<PathBuf> {
    let of_record = |record: &Record| {
        let directory = PodDirectory::from_record(paths, record);
        [Some(directory.path()), Some(directory.staging()), record.directory_source.clone()].into_iter().flatten()
    };
    records.iter().flat_map(of_record).collect()
}

fn device(path: &Path) -> Option<DeviceId> {
    path.file_name()?.to_str()?.parse().ok()
}

fn folders(parent: &Path) -> Result<Vec<PathBuf>, PodDirectoryError> {
    let failed = |error| file_error("list", parent, error);
    let entries = match fs::read_dir(parent) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.push(entry.path());
        }
    }
    Ok(found)
}
