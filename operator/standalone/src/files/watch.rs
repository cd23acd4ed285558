//! Watches a folder of manifests for any kind of change (IO): a file that is written in place, one
//! that is renamed over another, or the links of a mounted ConfigMap that are set to another
//! folder.

use futures::StreamExt;
use inotify::{Inotify, WatchMask};
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::sync::watch::Sender;
use tokio::time::{sleep, timeout};
use usnet_common::display::ErrorChain;

/// How often the folder is read without an event of the kernel, which sends none for files behind
/// symbolic links, nor when the folder itself is replaced.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Room for a few events with names of full length; more of them wait in the kernel.
const BUFFER_BYTES: usize = 4096;

/// Sends a value for every possible change, indefinitely.
pub(crate) async fn follow(folder: &Path, changes: &Sender<()>) {
    let mut is_failing = false;
    loop {
        match follow_until_quiet(folder, changes).await {
            Ok(()) => is_failing = false,
            Err(error) if !is_failing => {
                is_failing = true;
                tracing::warn!(folder = %folder.display(), error = %ErrorChain(&error), "cannot watch the folder of manifests; it is read every 5 s instead");
            }
            Err(_) => sleep(POLL_INTERVAL).await,
        }
        changes.send_replace(());
    }
}

/// Returns after [`POLL_INTERVAL`] without a change, so that the next watch is of the folder that
/// exists then.
async fn follow_until_quiet(folder: &Path, changes: &Sender<()>) -> io::Result<()> {
    let inotify = Inotify::init()?;
    let mask = WatchMask::CREATE
        | WatchMask::CLOSE_WRITE
        | WatchMask::MOVE
        | WatchMask::DELETE
        | WatchMask::DELETE_SELF
        | WatchMask::MOVE_SELF
        | WatchMask::ONLYDIR;
    inotify.watches().add(folder, mask)?;
    // Changes before the watch began were not reported.
    changes.send_replace(());
    let mut events = inotify.into_event_stream(vec![0; BUFFER_BYTES])?;
    while let Ok(event) = timeout(POLL_INTERVAL, events.next()).await {
        let Some(event) = event else { break };
        event?;
        changes.send_replace(());
    }
    Ok(())
}
