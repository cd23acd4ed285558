//! The folder of an engine's socket. A service manager deletes it when the engine stops and makes another when it starts; a mount goes on showing the deleted
//! one, in which no socket will ever come back. Only who makes the mount anew sees the other.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use usnet_crds::Engine;

/// An engine's socket cannot come back where the agent looks for it.
#[derive(Debug, thiserror::Error)]
#[error(
    "the folder {} of the socket of {engine} was deleted on the node, and the agent's mount shows only what was deleted; it ends so that its restart mounts the folder of the same name that is there now",
    folder.display()
)]
pub struct FolderGone {
    engine: Engine,
    folder: PathBuf,
}

/// Checks that the folder of a socket still is on its file system.
///
/// # Errors
/// When it was deleted and is only held by a mount. A folder that is not there at all may still come.
pub(in crate::agent) fn check(engine: Engine, socket: &Path) -> Result<(), FolderGone> {
    let Some(folder) = socket.parent() else { return Ok(()) };
    // A folder has at least one link while it has a name.
    let is_deleted = fs::metadata(folder).is_ok_and(|folder| folder.nlink() == 0);
    if is_deleted { Err(FolderGone { engine, folder: folder.to_owned() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    #[test]
    fn only_a_folder_that_was_deleted_under_us_is_given_up() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("vpp");
        assert!(check(Engine::Vpp, &path.join("api.sock")).is_ok(), "it may still come");
        fs::create_dir(&path).unwrap();
        // Another way to the folder that outlives its name, as a mount is.
        let held = File::open(&path).unwrap();
        let seen = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd())).join("api.sock");
        assert!(check(Engine::Vpp, &seen).is_ok());
        fs::remove_dir(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let gone = check(Engine::Vpp, &seen).unwrap_err();
        assert!(gone.to_string().contains("of the socket of VPP was deleted"), "{gone}");
        assert!(check(Engine::Vpp, &path.join("api.sock")).is_ok());
    }
}
