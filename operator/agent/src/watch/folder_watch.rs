//! Watches folders (IO): the plugin writes and removes records in the journal, other programs may
//! remove network files, and kubelet recreates its socket.

use futures::StreamExt;
use inotify::{EventMask, Inotify, WatchMask};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;
use usnet_common::display::ErrorChain;

/// Access for root only, as for all folders of usnet.
const MODE: u32 = 0o700;
/// Delay before a watch that ended or failed is started again. The agent recreates a deleted
/// folder; an exhausted limit of inotify is not resolved within milliseconds. Until then, changes
/// in the folder are noticed only when something else wakes the agent.
const RETRY: Duration = Duration::from_secs(1);
/// Room for a few events with names of full length; more of them wait in the kernel.
const BUFFER_BYTES: usize = 4096;

/// Events of files that are replaced by a rename: writes to temporary files are ignored.
pub(crate) const RENAMED: WatchMask = WatchMask::MOVED_TO.union(WatchMask::DELETE);
/// Events of [`RENAMED`], and of files that are written in place: records, and changes by other
/// programs.
pub(crate) const WRITTEN: WatchMask = RENAMED.union(WatchMask::CLOSE_WRITE);
/// Events of sockets and folders.
pub(crate) const CREATED: WatchMask = WatchMask::CREATE.union(WatchMask::DELETE);

/// Sends a value for every event in a folder that matches `mask`, except for hidden files,
/// indefinitely. A missing folder is created.
pub(crate) async fn follow(folder: PathBuf, mask: WatchMask, changes: watch::Sender<()>) {
    let mut is_failing = false;
    loop {
        match follow_until_deleted(&folder, mask, &changes).await {
            Ok(()) => is_failing = false,
            Err(error) if !is_failing => {
                is_failing = true;
                tracing::warn!(folder = %folder.display(), error = %ErrorChain(&error), "cannot watch a folder; retrying");
            }
            Err(_) => {}
        }
        sleep(RETRY).await;
    }
}

/// Returns when the folder itself was removed.
async fn follow_until_deleted(folder: &Path, mask: WatchMask, changes: &watch::Sender<()>) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(MODE).create(folder)?;
    let inotify = Inotify::init()?;
    inotify.watches().add(folder, mask | WatchMask::DELETE_SELF | WatchMask::ONLYDIR)?;
    // Changes before the watch was added are not reported by it.
    changes.send_replace(());
    let mut events = inotify.into_event_stream(vec![0; BUFFER_BYTES])?;
    while let Some(event) = events.next().await {
        let event = event?;
        // Hidden files are locks and unfinished writes.
        let is_hidden = event.name.as_ref().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden {
            changes.send_replace(());
        }
        if event.mask.intersects(EventMask::DELETE_SELF | EventMask::IGNORED) {
            break;
        }
    }
    Ok(())
}
