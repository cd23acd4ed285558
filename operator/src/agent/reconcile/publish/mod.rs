//! Step four of a reconcile, and part of step seven: the network files, which say what the plugin
//! may attach to. A file is withdrawn before its bridge is recreated or removed, and says that a
//! network is programmed only after the engine was observed again: pods are
//! attached on its word. The content of the files is computed without IO; [`Publisher`] writes
//! what differs.

use crate::agent::model::health::NetworkHealth;
use crate::agent::model::spec::RefusedNetwork;
use crate::display::ErrorChain;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;
use usnet_crds::conditions::message::node::BRIDGE_RECREATED;
use usnet_crds::conditions::reason::WAITING;
use usnet_crds::{NetworkName, NodeNetwork, Phase};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::network_file::{Error, FileStamp, NetworkFile, NetworkFiles, ProgrammedNetwork};
use usnet_dataplane::plan::Op;

/// How long the first of several changes of the folder waits for the others. Checking a thousand
/// files takes 2 ms, and most changes are the agent's own.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// Network files by their network.
pub(crate) type Files = BTreeMap<NetworkName, NetworkFile>;

/// How the plugin reaches an engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access<'a> {
    /// Its control socket.
    pub engine_socket: &'a Path,
    /// Its restarts that were seen on this node.
    pub epoch: u64,
    /// The memif socket ids that belong to usnet, for VPP.
    pub memif_socket_ids: MemifSocketIds,
}

/// What the files of these networks may still say while `operations` are carried out: less than
/// `published`, never more.
pub(crate) fn files_during_apply(
    published: &Files,
    networks: &BTreeMap<NetworkName, Arc<NodeNetwork>>,
    operations: &[Op],
) -> Files {
    let recreated: BTreeSet<&NetworkName> = operations
        .iter()
        .filter_map(|operation| match operation {
            Op::CreateBridge { network, .. } => Some(network),
            _ => None,
        })
        .collect();
    let file_during_apply = |name: &NetworkName, file: &NetworkFile| {
        let network = networks.get(name)?;
        Some(match network.phase {
            Phase::Draining => NetworkFile::Draining { name: name.clone() },
            Phase::Active if recreated.contains(name) || is_of_another_engine(file, network) => {
                NetworkFile::Unavailable {
                    name: name.clone(),
                    reason: WAITING.to_owned(),
                    message: BRIDGE_RECREATED.to_owned(),
                }
            }
            Phase::Active => file.clone(),
        })
    };
    published.iter().filter_map(|(name, file)| Some((name.clone(), file_during_apply(name, file)?))).collect()
}

/// A network may have been deleted and recreated with another engine.
fn is_of_another_engine(file: &NetworkFile, network: &NodeNetwork) -> bool {
    matches!(file, NetworkFile::Programmed(programmed) if programmed.network.engine != network.engine)
}

/// What the files of these networks should say now that their engine was observed.
pub(crate) fn files_after_observe<'a>(
    networks: impl IntoIterator<Item = &'a Arc<NodeNetwork>>,
    network_health: &BTreeMap<NetworkName, NetworkHealth>,
    access: Access<'_>,
) -> Files {
    let file = |network: &Arc<NodeNetwork>| {
        let name = network.name.clone();
        let health = network_health.get(&name)?;
        Some(match (network.phase, &health.why) {
            (Phase::Draining, _) => NetworkFile::Draining { name },
            (Phase::Active, Some(why)) if !health.attachable => {
                NetworkFile::Unavailable { name, reason: why.reason.to_owned(), message: why.message.clone() }
            }
            (Phase::Active, _) => NetworkFile::Programmed(ProgrammedNetwork {
                version: ProgrammedNetwork::VERSION,
                network: match (&network.overlay, &network.uplink) {
                    (None, None) => Arc::clone(network),
                    _ => Arc::new(network.for_plugin()),
                },
                engine_socket: access.engine_socket.to_owned(),
                epoch: access.epoch,
                memif_socket_ids: access.memif_socket_ids,
            }),
        })
    };
    networks.into_iter().filter_map(|network| Some((network.name.clone(), file(network)?))).collect()
}

/// The files of networks that cannot be applied on the node.
pub(crate) fn refusals(refused: &[RefusedNetwork]) -> impl Iterator<Item = (NetworkName, NetworkFile)> {
    refused.iter().map(|refused| {
        let RefusedNetwork { name, reason, message, .. } = refused.clone();
        (name.clone(), NetworkFile::Unavailable { name, reason, message })
    })
}

/// Writes network files. It caches their content, so that a reconcile that changes nothing does not
/// touch them. What others change is noticed by [`follow_changes`].
#[derive(Debug)]
pub(crate) struct Publisher {
    files: NetworkFiles,
    published: Files,
    /// The published files as they are on disk.
    stamps: BTreeMap<NetworkName, FileStamp>,
}

impl Publisher {
    /// Loads the files that an earlier agent left. One that cannot be read is removed: the plugin
    /// cannot use it either.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub(crate) fn load(files: NetworkFiles) -> Result<Self, Error> {
        let (mut published, mut stamps) = (Files::new(), BTreeMap::new());
        for name in files.list()? {
            // Before the content: a change in between is noticed later.
            let stamp = files.stamp(&name);
            match files.read(&name) {
                Ok(Some(file)) => {
                    stamps.extend(stamp.map(|stamp| (name.clone(), stamp)));
                    published.insert(name, file);
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(network = %name, error = %ErrorChain(&error), "removing a network file that cannot be read");
                    files.remove(&name)?;
                }
            }
        }
        Ok(Self { files, published, stamps })
    }

    /// The content of the files.
    pub(crate) fn published(&self) -> &Files {
        &self.published
    }

    /// Writes the `desired` files and removes all others, except those of
    /// `networks_of_other_engines`; what failed is retried with the next call.
    ///
    /// # Errors
    /// The first of those that could not be written or removed; the others are done all the same.
    pub(crate) fn publish(
        &mut self,
        desired: &Files,
        networks_of_other_engines: &BTreeSet<NetworkName>,
    ) -> Result<(), Error> {
        let is_surplus =
            |name: &&NetworkName| !desired.contains_key(*name) && !networks_of_other_engines.contains(*name);
        let surplus: Vec<_> = self.published.keys().filter(is_surplus).cloned().collect();
        let changed = desired.iter().filter(|(name, file)| self.published.get(name) != Some(file)).collect::<Vec<_>>();
        if surplus.is_empty() && changed.is_empty() {
            return Ok(());
        }
        let locked = self.files.lock()?;
        let removed = surplus.into_iter().map(|name| {
            locked.remove(&name)?;
            self.published.remove(&name);
            Ok(())
        });
        let removed = first_error(removed);
        let files: Vec<&NetworkFile> = changed.iter().map(|(_, file)| *file).collect();
        let written = changed.into_iter().zip(locked.write_all(&files)).map(|((name, file), stamp)| {
            self.stamps.insert(name.clone(), stamp?);
            self.published.insert(name.clone(), file.clone());
            Ok(())
        });
        removed.and(first_error(written))
    }

    /// Others may have removed or changed files: they count as not published, and are written
    /// again. Returns whether there are any. In a folder that cannot be read none is present:
    /// writing them reports why.
    pub(crate) fn forget_changed(&mut self) -> bool {
        let present: BTreeSet<NetworkName> = self.files.list().unwrap_or_default().into_iter().collect();
        let count = self.published.len();
        self.published.retain(|name, _| {
            let is_unchanged = self.files.stamp(name).as_ref() == self.stamps.get(name);
            if present.contains(name) && !is_unchanged {
                tracing::warn!(network = %name, "another program changed a network file; writing it again");
            }
            present.contains(name) && is_unchanged
        });
        self.stamps.retain(|name, _| self.published.contains_key(name));
        self.published.len() < count
    }
}

/// Whether the result of a reconcile was published. Where a directory of the node cannot be
/// written, which networks and node report as `problem`, the files stay as they were, and the
/// report has to go out all the same.
pub(crate) fn unless_reported(result: Result<(), Error>, problem: Option<&str>) -> Result<bool, Error> {
    match result {
        Err(_) if problem.is_some() => Ok(false),
        result => result.map(|()| true),
    }
}

/// Wakes the reconcilers when others have changed network files. The folder also changes whenever
/// the agent itself writes there, which is no reason to reconcile again.
pub(crate) async fn follow_changes(
    publisher: &RefCell<Publisher>,
    mut folder: watch::Receiver<()>,
    changes: &watch::Sender<()>,
) -> Infallible {
    loop {
        if folder.changed().await.is_err() {
            pending::<()>().await;
        }
        // One check for all files that are written together.
        sleep(DEBOUNCE).await;
        folder.mark_unchanged();
        if publisher.borrow_mut().forget_changed() {
            changes.send_replace(());
        }
    }
}

/// Unlike collecting into a `Result`, this continues after an error.
fn first_error(results: impl Iterator<Item = Result<(), Error>>) -> Result<(), Error> {
    results.fold(Ok(()), Result::and)
}

#[cfg(test)]
mod tests;
