//! Step four of a reconcile, and part of step seven: the network files, which tell the plugin what
//! it may attach pods to. A file is withdrawn before its bridge is recreated or removed, and says
//! that a network is programmed only after the engine was observed again, because the plugin relies
//! on it. The content of the files is computed without IO; [`Publisher`] writes what differs.

use crate::model::health::NetworkHealth;
use crate::model::spec::RefusedNetwork;
use crate::task_cell::TaskCell;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;
use usnet_common::display::ErrorChain;
use usnet_crds::conditions::message::node::BRIDGE_RECREATED;
use usnet_crds::conditions::reason::WAITING;
use usnet_crds::{ChecksumOffload, NetworkName, NodeNetwork, Ownership, Phase, PortType, UplinkName, VethDatapath};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::network_file::{Error, FileStamp, NetworkFile, NetworkFiles, ProgrammedNetwork};
use usnet_dataplane::plan::Op;

/// How long the first of several changes of the folder waits for the others. Checking a thousand
/// files takes 2 ms, and most changes are the agent's own.
const DEBOUNCE: Duration = Duration::from_millis(100);

pub(crate) type Files = BTreeMap<NetworkName, NetworkFile>;

/// How the plugin reaches an engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access<'a> {
    /// The control socket of the engine.
    pub engine_socket: &'a Path,
    /// The number of the engine's restarts that were seen on this node.
    pub epoch: u64,
    /// The memif socket ids that belong to usnet, for VPP.
    pub memif_socket_ids: MemifSocketIds,
    /// Whether the engine can have devices of pods by AF_XDP.
    pub has_af_xdp: bool,
    /// The bridges on which pods may leave checksums to the engine.
    pub finishing_bridges: &'a BTreeSet<String>,
    /// The NUMA nodes of the NICs of uplinks.
    pub numa_nodes: &'a BTreeMap<UplinkName, u32>,
}

/// Returns the files of these networks while `operations` are carried out. They offer less than the
/// `published` ones, never more.
pub(crate) fn files_during_apply(
    published: &Files,
    networks: &BTreeMap<NetworkName, Arc<NodeNetwork>>,
    operations: &[Op],
) -> Files {
    let recreated: BTreeSet<&NetworkName> = operations
        .iter()
        .filter_map(|operation| match operation {
            Op::CreateBridge { bridge } => bridge.network(),
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

/// Returns the files of these networks after their engine was observed.
pub(crate) fn files_after_observe<'a>(
    networks: impl IntoIterator<Item = &'a Arc<NodeNetwork>>,
    network_health: &BTreeMap<NetworkName, NetworkHealth>,
    access: Access<'_>,
) -> Files {
    let file = |network: &Arc<NodeNetwork>| {
        let name = network.name.clone();
        let health = network_health.get(&name)?;
        Some(match (network.phase, &health.cause) {
            (Phase::Draining, _) => NetworkFile::Draining { name },
            (Phase::Active, Some(cause)) if !health.attachable => {
                NetworkFile::Unavailable { name, reason: cause.reason.to_owned(), message: cause.message.clone() }
            }
            (Phase::Active, _) => NetworkFile::Programmed(ProgrammedNetwork {
                version: ProgrammedNetwork::VERSION,
                network: for_plugin(network, access.has_af_xdp),
                engine_socket: access.engine_socket.to_owned(),
                epoch: access.epoch,
                memif_socket_ids: access.memif_socket_ids,
                checksum_offload: leaves_checksums(network, access.finishing_bridges),
                numa_node: network.uplink.as_ref().and_then(|uplink| access.numa_nodes.get(&uplink.name)).copied(),
            }),
        })
    };
    networks.into_iter().filter_map(|network| Some((network.name.clone(), file(network)?))).collect()
}

/// The network as the plugin needs it, with the datapath that ports of pods can have.
fn for_plugin(network: &Arc<NodeNetwork>, has_af_xdp: bool) -> Arc<NodeNetwork> {
    let falls_back = !has_af_xdp && network.port.veth.datapath == VethDatapath::AfXdp;
    if network.overlay.is_none() && network.uplink.is_none() && !falls_back {
        return Arc::clone(network);
    }
    let mut published = network.for_plugin();
    if falls_back {
        published.port.veth.datapath = VethDatapath::Kernel;
    }
    Arc::new(published)
}

/// Whether the pods of a network leave checksums to the engine. On an adopted bridge others may
/// have ports at any time.
fn leaves_checksums(network: &NodeNetwork, finishing_bridges: &BTreeSet<String>) -> bool {
    let NodeNetwork { port, bridge, .. } = network;
    let is_asked_for = port.port_type == PortType::Veth && port.veth.checksum_offload == ChecksumOffload::Auto;
    is_asked_for && bridge.ownership == Ownership::Managed && finishing_bridges.contains(bridge.name.as_str())
}

/// Returns the files of networks that cannot be applied on the node.
pub(crate) fn refusals(refused: &[RefusedNetwork]) -> impl Iterator<Item = (NetworkName, NetworkFile)> {
    refused.iter().map(|refused| {
        let RefusedNetwork { name, reason, message, .. } = refused.clone();
        (name.clone(), NetworkFile::Unavailable { name, reason, message })
    })
}

/// Writes network files. It caches their content, so that a reconcile that changes nothing does not
/// touch them. [`follow_changes`] notices changes by other programs.
#[derive(Debug)]
pub(crate) struct Publisher {
    files: NetworkFiles,
    published: Files,
    /// The stamps of the published files on disk.
    stamps: BTreeMap<NetworkName, FileStamp>,
}

impl Publisher {
    /// Loads the files that an earlier agent left. Unreadable files are removed: the plugin cannot
    /// use them either.
    pub(crate) fn load(files: NetworkFiles) -> Result<Self, Error> {
        let (mut published, mut stamps) = (Files::new(), BTreeMap::new());
        for name in files.list()? {
            // The stamp is read before the content, so that a change in between is noticed later.
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
    /// `networks_of_other_engines`. What failed is retried with the next call.
    ///
    /// # Errors
    /// The first failure. The other files are written and removed nevertheless.
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

    /// Forgets files that other programs have removed or changed, so that they are written again.
    /// Returns whether there are any. All files of an unreadable folder count as removed: writing
    /// them reports why.
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

/// Whether the result of a reconcile was published. If a directory of the node cannot be written,
/// which networks and node report as `problem`, that is no error: the files stay as they are, and
/// the report still has to be sent.
pub(crate) fn unless_reported(result: Result<(), Error>, problem: Option<&str>) -> Result<bool, Error> {
    match result {
        Err(_) if problem.is_some() => Ok(false),
        result => result.map(|()| true),
    }
}

/// Wakes the reconcilers when other programs have changed network files. The folder also changes
/// whenever the agent itself writes there, which is no reason to reconcile again.
pub(crate) async fn follow_changes(
    publisher: &TaskCell<Publisher>,
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
        if publisher.update(Publisher::forget_changed) {
            changes.send_replace(());
        }
    }
}

/// Returns the first error. Unlike collecting into a `Result`, this continues after an error.
fn first_error(results: impl Iterator<Item = Result<(), Error>>) -> Result<(), Error> {
    results.fold(Ok(()), Result::and)
}

#[cfg(test)]
mod tests;
