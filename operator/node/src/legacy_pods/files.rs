//! The files that the legacy plugin and its caller left (IO).

use super::cached_call::{CachedCall, may_be_for};
use super::interface::{Content, LegacyInterface, StateFile};
use super::problem::Problem;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use usnet_dataplane::atomic_file;
use usnet_dataplane::paths::NodePaths;

/// The folder of the state files.
const STATE: &str = "var/lib/cni/usrspcni/data";
/// The folders in which libcni keeps calls: its default, for container runtimes, and that of
/// Multus.
const CALLS: [&str; 2] = ["var/lib/cni/results", "var/lib/cni/multus/results"];
/// Most state files that are read. A node has a few hundred pods.
const STATE_FILES_MAX: usize = 4096;
/// The longest state file, in bytes. Usual ones have less than 100.
const STATE_MAX: u64 = 4 << 10;
/// The longest call, in bytes: a configuration and a result.
const CALL_MAX: u64 = 256 << 10;

/// What was read.
#[derive(Debug, Default)]
pub struct LegacyPods {
    /// The interfaces of living pods.
    pub interfaces: Vec<LegacyInterface>,
    /// Why others are not taken over, by their state file.
    pub problems: BTreeMap<PathBuf, Problem>,
}

/// Reads the state files of this node, and the calls for their interfaces.
///
/// # Errors
/// A folder cannot be listed.
pub fn read(paths: &NodePaths) -> io::Result<LegacyPods> {
    let mut found = LegacyPods::default();
    let state = list(&paths.legacy_root.join(STATE))?;
    if state.is_empty() {
        return Ok(found);
    }
    let folders: Vec<PathBuf> = CALLS.iter().map(|folder| paths.legacy_root.join(folder)).collect();
    let calls: Vec<PathBuf> =
        folders.iter().map(|folder| list(folder)).collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect();
    for path in state.into_iter().take(STATE_FILES_MAX) {
        let read = StateFile::of(path)
            .and_then(|file| interface(&file, &calls, &folders).map_err(|problem| (file.path, problem)));
        match read {
            Ok(interface) => found.interfaces.push(interface),
            Err((path, problem)) => drop(found.problems.insert(path, problem)),
        }
    }
    Ok(found)
}

/// When files were last created in, or removed from, the folders; none for a folder that is not
/// there.
pub fn last_changes(paths: &NodePaths) -> Vec<Option<SystemTime>> {
    let folders = [STATE].into_iter().chain(CALLS).map(|folder| paths.legacy_root.join(folder));
    folders.map(|folder| fs::symlink_metadata(folder).ok()?.modified().ok()).collect()
}

/// Whether an interface still has its state file: DEL removes it.
pub fn is_there(interface: &LegacyInterface) -> bool {
    fs::symlink_metadata(&interface.file).is_ok_and(|found| found.is_file())
}

fn interface(file: &StateFile, calls: &[PathBuf], folders: &[PathBuf]) -> Result<LegacyInterface, Problem> {
    let content = match atomic_file::read::<Content>(&file.path, 0, STATE_MAX) {
        Ok(Some(content)) => content,
        Ok(None) => return Err(Problem::Content),
        Err(atomic_file::Error::Invalid { source, .. }) => return Err(Problem::Damaged(source)),
        Err(atomic_file::Error::NotAFile(_) | atomic_file::Error::TooLarge { .. }) => {
            return Err(Problem::NotAFile { max_size: STATE_MAX });
        }
        Err(error) => return Err(error.into()),
    };
    let (short_id, interface) = (&file.short_id, &file.interface);
    let mut of_containers = BTreeMap::new();
    for path in calls.iter().filter(|path| may_be_for(path, short_id, interface)) {
        // What cannot be read may be another's, and half of a file is read again later.
        let Ok(Some(call)) = atomic_file::read::<CachedCall>(path, 0, CALL_MAX) else { continue };
        if call.is_for(short_id, interface) {
            of_containers.insert(call.container_id.clone(), call);
        }
    }
    match (of_containers.pop_first(), of_containers.len()) {
        (Some((_, call)), 0) => LegacyInterface::new(file, &content, &call),
        (Some(_), others) => Err(Problem::Ambiguous(others + 1)),
        (None, _) => Err(Problem::NotCached { folders: folders.to_vec() }),
    }
}

/// The files of a folder, sorted; none of one that does not exist or is a link.
fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Ok(Vec::new()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}
