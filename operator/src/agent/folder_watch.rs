//! Folders as sources: the plugin writes and removes records in the journal, nobody but us may remove network files, and kubelet makes its socket anew.

use crate::error_chain::ErrorChain;
use futures::StreamExt;
use inotify::{EventMask, Inotify, WatchMask};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// For root alone, as all folders of ours.
const MODE: u32 = 0o700;
const RETRY: Duration = Duration::from_secs(1);
/// Room for a few events with names of full length; more of them wait in the kernel.
const BUFFER_BYTES: usize = 4096;

/// What is seen of files that come by a rename: writes to temporary files need not wake anybody.
pub(super) const RENAMED: WatchMask = WatchMask::MOVED_TO.union(WatchMask::DELETE);
/// What is seen of sockets and folders.
pub(super) const CREATED: WatchMask = WatchMask::CREATE.union(WatchMask::DELETE);

/// Tells, for ever, of everything in a folder that `mask` is for. The folder is made when it is missing.
pub(super) async fn follow(folder: PathBuf, mask: WatchMask, changes: watch::Sender<()>) {
    let mut is_failing = false;
    loop {
        match follow_until_gone(&folder, mask, &changes).await {
            Ok(()) => is_failing = false,
            Err(error) if !is_failing => {
                is_failing = true;
                tracing::warn!(folder = %folder.display(), error = %ErrorChain(&error), "a folder cannot be watched; trying again until it can");
            }
            Err(_) => {}
        }
        sleep(RETRY).await;
    }
}

/// Returns when the folder itself went away.
async fn follow_until_gone(folder: &Path, mask: WatchMask, changes: &watch::Sender<()>) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(MODE).create(folder)?;
    let inotify = Inotify::init()?;
    inotify.watches().add(folder, mask | WatchMask::DELETE_SELF | WatchMask::ONLYDIR)?;
    // What happened before the watch began was not seen.
    changes.send_replace(());
    let mut events = inotify.into_event_stream(vec![0; BUFFER_BYTES])?;
    while let Some(event) = events.next().await {
        changes.send_replace(());
        if event?.mask.intersects(EventMask::DELETE_SELF | EventMask::IGNORED) {
            break;
        }
    }
    Ok(())
}
