//! Two folders as sources: the plugin writes and removes records in the journal, and nobody but us may remove network files.

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

/// Tells, for ever, of every file that comes or goes in a folder. The folder is made when it is missing.
pub(super) async fn follow(folder: PathBuf, changes: watch::Sender<()>) {
    let mut is_failing = false;
    loop {
        match follow_until_gone(&folder, &changes).await {
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
async fn follow_until_gone(folder: &Path, changes: &watch::Sender<()>) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(MODE).create(folder)?;
    let inotify = Inotify::init()?;
    // Files come by a rename, so that writes to temporary files need not wake anybody.
    inotify
        .watches()
        .add(folder, WatchMask::MOVED_TO | WatchMask::DELETE | WatchMask::DELETE_SELF | WatchMask::ONLYDIR)?;
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
