//! Follows the folders (IO).

use super::definitions::{Definitions, Found};
use super::{NodeDefinitions, files};
use crate::watch::edited_folder;
use futures::future::join_all;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::time::sleep;
use usnet_common::channels::send_if_changed;
use usnet_common::display::ErrorChain;

/// How long a writer may take that does not replace its file atomically. Files are read until two
/// readings are equal.
const SETTLE: Duration = Duration::from_millis(50);

/// Sends the networks that files in these folders define, indefinitely. `report` gets what is wrong
/// with the files, or none.
pub async fn follow(
    folders: &[PathBuf],
    networks: Sender<Option<Arc<NodeDefinitions>>>,
    report: impl Fn(Option<String>),
) {
    let (changes, changed) = channel(());
    let watches = join_all(folders.iter().map(|folder| edited_folder::follow(folder, &changes)));
    // Without a folder there is no change, and the sender stays.
    tokio::join!(watches, read_changes(folders, networks, report, changed));
}

async fn read_changes(
    folders: &[PathBuf],
    networks: Sender<Option<Arc<NodeDefinitions>>>,
    report: impl Fn(Option<String>),
    mut changed: Receiver<()>,
) {
    let (mut definitions, mut logged, mut unread) = (Definitions::default(), Vec::new(), None);
    loop {
        match read(folders).await {
            Ok(texts) => {
                let Found { networks: found, problems } = definitions.update(texts);
                let new = problems.iter().filter(|problem| !logged.contains(*problem));
                new.for_each(|problem| tracing::warn!("{problem}"));
                report((!problems.is_empty()).then(|| problems.join("; ")));
                (logged, unread) = (problems, None);
                let definitions = NodeDefinitions { networks: found, is_unread: false };
                send_if_changed(&networks, Some(Arc::new(definitions)));
            }
            Err(error) => {
                let error = ErrorChain(&error).to_string();
                if unread.as_ref() != Some(&error) {
                    tracing::warn!(
                        ?folders,
                        error,
                        "cannot read the folders of CNI configurations; the last known ones stay in effect"
                    );
                }
                unread = Some(error);
                let unread = || Arc::new(NodeDefinitions { is_unread: true, ..NodeDefinitions::default() });
                networks.send_if_modified(|known| known.is_none() && known.replace(unread()).is_none());
            }
        }
        if changed.changed().await.is_err() {
            return;
        }
    }
}

async fn read(folders: &[PathBuf]) -> io::Result<files::Texts> {
    let mut texts = files::read(folders)?;
    loop {
        sleep(SETTLE).await;
        let again = files::read(folders)?;
        if texts == again {
            return Ok(texts);
        }
        texts = again;
    }
}
