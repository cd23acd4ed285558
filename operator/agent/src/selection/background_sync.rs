//! Writes a file to disk in the background (IO).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;
use usnet_common::display::ErrorChain;

/// A thread that syncs a file, once for all requests that arrive while it is busy. It ends when
/// this is dropped.
#[derive(Debug)]
pub(super) struct BackgroundSync(SyncSender<()>);

impl BackgroundSync {
    /// Starts the thread for the file at `path`.
    pub(super) fn start(path: PathBuf) -> Self {
        let (requests, requests_in_thread) = sync_channel(1);
        let thread = Builder::new().name("sync".to_owned()).spawn(move || sync(&path, &requests_in_thread));
        if let Err(error) = thread {
            tracing::warn!(error = %ErrorChain(&error), "cannot start a thread; the node file is written to disk by the kernel, within half a minute");
        }
        Self(requests)
    }

    /// Requests that everything written to the file so far is synced to disk.
    pub(super) fn request(&self) {
        // A request that is waiting already covers this one.
        let _is_waiting = self.0.try_send(());
    }
}

fn sync(path: &Path, requests: &Receiver<()>) {
    while requests.recv().is_ok() {
        // The file may have been replaced since then. The new file was synced when it was written.
        if let Err(error) = File::open(path).and_then(|file| file.sync_data()) {
            tracing::warn!(error = %ErrorChain(&error), "cannot write the node file to disk");
        }
    }
}
