//! The folder of an engine's socket (IO). A service manager deletes it when the engine stops and
//! creates another when it starts. A bind mount keeps showing the deleted one, in which no socket
//! will ever appear again; only a new mount shows the new folder.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use usnet_crds::EngineKind;

/// The socket of an engine cannot come back where the agent expects it.
#[derive(Debug, thiserror::Error)]
#[error(
    "the folder {} of the socket of {engine} was deleted on the node; the agent's mount still shows the deleted folder, so the agent exits: its restart mounts the current one",
    folder.display()
)]
pub struct SocketFolderDeleted {
    engine: EngineKind,
    folder: PathBuf,
}

/// Checks that the folder of a socket was not deleted and is only held by a mount. A folder that
/// does not exist is no error: it may still be created.
pub(crate) fn check(engine: EngineKind, socket: &Path) -> Result<(), SocketFolderDeleted> {
    let Some(folder) = socket.parent() else { return Ok(()) };
    // A folder has at least one link while it has a name.
    let is_deleted = fs::metadata(folder).is_ok_and(|folder| folder.nlink() == 0);
    if is_deleted { Err(SocketFolderDeleted { engine, folder: folder.to_owned() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    #[test]
    fn only_a_folder_that_was_deleted_under_a_mount_is_an_error() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("vpp");
        assert!(check(EngineKind::Vpp, &path.join("api.sock")).is_ok(), "it may still come");
        fs::create_dir(&path).unwrap();
        // A reference to the folder that outlives its name, as a mount does.
        let held = File::open(&path).unwrap();
        let seen = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd())).join("api.sock");
        assert!(check(EngineKind::Vpp, &seen).is_ok());
        fs::remove_dir(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let gone = check(EngineKind::Vpp, &seen).unwrap_err();
        assert!(gone.to_string().contains("of the socket of VPP was deleted"), "{gone}");
        assert!(check(EngineKind::Vpp, &path.join("api.sock")).is_ok());
    }
}
