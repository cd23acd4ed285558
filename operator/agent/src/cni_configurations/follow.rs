//! Follows the folders (IO).

use super::configurations::{Configurations, Found};
use super::files;
use crate::model::file_networks::FileNetworks;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::Sender;
use tokio::time::sleep;
use usnet_common::channels::send_if_changed;
use usnet_common::display::ErrorChain;

/// How often the folders are read. Watching them would take an instance of inotify, of which all
/// programs of root on a node share 128; a pod that needs a new bridge is tried again meanwhile.
const INTERVAL: Duration = Duration::from_secs(2);
/// How long a writer may take that does not replace its file atomically. What differs is read until
/// two readings are equal.
const SETTLE: Duration = Duration::from_millis(50);

/// Sends the networks that files in these folders define, indefinitely. `report` gets what is wrong
/// with the files, or none.
pub async fn follow(folders: &[PathBuf], networks: Sender<Option<Arc<FileNetworks>>>, report: impl Fn(Option<String>)) {
    let (mut configurations, mut logged, mut unread) = (Configurations::default(), Vec::new(), None);
    let mut known = None;
    loop {
        match read(folders, known.as_ref()).await {
            Ok(texts) if known.as_ref() == Some(&texts) => {}
            Ok(texts) => {
                known = Some(texts.clone());
                let Found { networks: found, problems } = configurations.update(texts);
                let new = problems.iter().filter(|problem| !logged.contains(*problem));
                new.for_each(|problem| tracing::warn!("{problem}"));
                report((!problems.is_empty()).then(|| problems.join("; ")));
                (logged, unread) = (problems, None);
                send_if_changed(&networks, Some(Arc::new(FileNetworks { networks: found, is_unread: false })));
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
                let unread = || Arc::new(FileNetworks { is_unread: true, ..FileNetworks::default() });
                networks.send_if_modified(|known| known.is_none() && known.replace(unread()).is_none());
            }
        }
        sleep(INTERVAL).await;
    }
}

/// Reads the folders, again and again while they differ from what is known.
async fn read(folders: &[PathBuf], known: Option<&files::Texts>) -> io::Result<files::Texts> {
    let mut texts = files::read(folders)?;
    while Some(&texts) != known {
        sleep(SETTLE).await;
        let again = files::read(folders)?;
        if texts == again {
            return Ok(texts);
        }
        texts = again;
    }
    Ok(texts)
}
