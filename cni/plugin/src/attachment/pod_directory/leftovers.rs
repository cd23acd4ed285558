//! Mounts and folders that no attachment has: a record was lost, or a call was killed.

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

/// Why leftovers cannot be listed or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The records.
    #[error(transparent)]
    Journal(#[from] journal::Error),
    /// The folders.
    #[error(transparent)]
    Folder(#[from] PodDirectoryError),
    /// The records of resource claims.
    #[error(transparent)]
    Claims(#[from] usnet_dataplane::atomic_file::Error),
    /// The devices that kubelet allocated to pods are not known.
    #[error(transparent)]
    Devices(#[from] DeviceAllocationError),
}

/// A folder that no attachment has, with its mounts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leftover {
    /// The directory of a pod as the engine sees it.
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

/// All leftovers of the node. What may be of a record that cannot be read is none.
///
/// # Errors
/// When journal, folders or kubelet's allocations cannot be read.
pub fn find(node: &Node) -> Result<BTreeSet<Leftover>, Error> {
    let all = node.journal.records()?;
    let is_complete = all.unreadable.is_empty();
    let (ports, devices) = (node.roots.ports(), node.roots.devices());
    let used = paths_in_use(&node.roots, &all.records);
    let mut found = BTreeSet::new();
    let unused = |path: &PathBuf| !used.contains(path);
    for path in folders(&ports)?.into_iter().filter(unused) {
        if is_complete || !may_be_of_unreadable(node, pod(&path).as_ref().map(Key::Pod))? {
            found.insert(Leftover::PodDirectory(path));
        }
    }
    let claims = ClaimRecords::new(&node.roots);
    for path in folders(&node.roots.claim_folders())?.into_iter().filter(unused) {
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
        let allocated = device_allocation::all_allocated(&node.roots)?;
        let is_free = |path: &PathBuf| device(path).is_some_and(|id| !allocated.contains(&id));
        found.extend(of_devices.into_iter().filter(is_free).map(Leftover::Device));
    }
    Ok(found)
}

/// Removes a leftover. Returns false if an attachment has it by now.
///
/// # Errors
/// When it cannot be removed, as a pod's directory that has files of its own.
pub fn remove(node: &Node, leftover: &Leftover) -> Result<bool, Error> {
    let mounts = node.roots.ports();
    if !mounts.exists() {
        return Ok(false);
    }
    // The record is written before the mount, and mounts need this lock: none can be missed.
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
        // What a pod left in a folder that was not mounted.
        Leftover::Device(_) => fs::remove_dir_all(path),
        Leftover::PodDirectory(_) => fs::remove_dir(path),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(file_error("remove", path, error).into()),
        _ => Ok(true),
    }
}

/// Whether a record that cannot be read has this key; so it is if the key is not known.
fn may_be_of_unreadable(node: &Node, key: Option<Key<'_>>) -> Result<bool, journal::Error> {
    key.map_or(Ok(true), |key| Ok(!node.journal.find(key)?.unreadable.is_empty()))
}

/// The pod whose directory has this path: its name is the uid, or begins with it.
fn pod(path: &Path) -> Option<PodUid> {
    path.file_name()?.to_str()?.trim_start_matches('.').split('.').next()?.parse().ok()
}

fn paths_in_use(roots: &NodePaths, records: &[Record]) -> BTreeSet<PathBuf> {
    let of_record = |record: &Record| {
        let directory = PodDirectory::from_record(roots, record);
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
