//! Tells of changes in a folder of manifests, however they are made: a file written in place, one renamed over another, or the links of a mounted ConfigMap that are
//! turned to another folder.

use crate::error_chain::ErrorChain;
use futures::StreamExt;
use inotify::{Inotify, WatchMask};
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::sync::watch::Sender;
use tokio::time::{sleep, timeout};

/// How often the folder is read although the kernel said nothing: it does not tell of files behind links, nor that the folder itself is another one.
const LOOK: Duration = Duration::from_secs(5);
/// Room for a few events with names of full length; more of them wait in the kernel.
const BUFFER_BYTES: usize = 4096;

/// Tells for ever.
pub(super) async fn follow(folder: &Path, changes: &Sender<()>) {
    let mut is_failing = false;
    loop {
        match follow_for_a_while(folder, changes).await {
            Ok(()) => is_failing = false,
            Err(error) if !is_failing => {
                is_failing = true;
                tracing::warn!(folder = %folder.display(), error = %ErrorChain(&error), "the folder of manifests cannot be watched; looking into it now and then");
            }
            Err(_) => sleep(LOOK).await,
        }
        changes.send_replace(());
    }
}

/// Returns after [`LOOK`] without a change, so that the next watch is one of the folder that is there then.
async fn follow_for_a_while(folder: &Path, changes: &Sender<()>) -> io::Result<()> {
    let inotify = Inotify::init()?;
    let mask = WatchMask::CREATE
        | WatchMask::CLOSE_WRITE
        | WatchMask::MOVE
        | WatchMask::DELETE
        | WatchMask::DELETE_SELF
        | WatchMask::MOVE_SELF
        | WatchMask::ONLYDIR;
    inotify.watches().add(folder, mask)?;
    // What happened before the watch began was not seen.
    changes.send_replace(());
    let mut events = inotify.into_event_stream(vec![0; BUFFER_BYTES])?;
    while let Ok(event) = timeout(LOOK, events.next()).await {
        let Some(event) = event else { break };
        event?;
        changes.send_replace(());
    }
    Ok(())
}
