//! Builds the spec of the node from all compiled networks and the agent's own report, and keeps the
//! state that [`selection`](crate::selection) needs.

use crate::cni_configurations::input::with_file_networks;
use crate::model::file_networks::FileNetworks;
use crate::model::input::{Compiled, Input};
use crate::model::report::Report;
use crate::model::spec::NodeSpec;
use crate::selection::per_node::PerNodeNetworks;
use crate::selection::{Facts, awaits_uplink, select};
use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch::{Receiver, Sender};
use tokio::time::{sleep, sleep_until};
use usnet_crds::conditions::engine_connected;
use usnet_crds::conditions::reason::NEVER_SEEN;
use usnet_crds::{EngineKind, NetworkName, Phase};

/// How long a network stays unchanged when its compiled network disappears without having been
/// draining: it was deleted by hand, or with its CRD. Within this time a running controller
/// recreates it, and pods stay connected; a longer time would delay a removal that is intended.
pub const LOST_GRACE: Duration = Duration::from_secs(60);
/// How long the agent waits for the addresses of nodes and for uplinks before it reports that they
/// are missing. It reads node slices after the first network that needs them, which the controller
/// writes at the same time, and uplinks come from a separate watch. Other changes wait as well.
pub const NODES_GRACE: Duration = Duration::from_secs(1);
/// How long the first change of a burst waits for the others. A selection considers all networks,
/// so that a hundred changes in one burst should cost one selection.
const DEBOUNCE: Duration = Duration::from_millis(10);

/// Builds the specs of a node, one after the other. Pure: time is passed in.
#[derive(Debug)]
pub struct SpecBuilder {
    last: Arc<NodeSpec>,
    /// Whether a spec was built in this run of the agent.
    has_built: bool,
    /// Active networks of `last` without a compiled network, and since when; none of files.
    lost: BTreeMap<NetworkName, Instant>,
    per_node: PerNodeNetworks,
    /// Since when a network waits for the addresses of nodes, or for its uplink.
    nodes_awaited_since: Option<Instant>,
    /// The revision with which each draining network of `last` began to drain.
    draining_since: BTreeMap<NetworkName, u64>,
}

impl SpecBuilder {
    /// Continues from the spec that an earlier run of the agent persisted, if there is one.
    pub fn new(previous: Option<Arc<NodeSpec>>) -> Self {
        Self {
            last: previous.unwrap_or_default(),
            has_built: false,
            lost: BTreeMap::new(),
            per_node: PerNodeNetworks::default(),
            nodes_awaited_since: None,
            draining_since: BTreeMap::new(),
        }
    }

    /// Returns the next spec; none if no change concerns the node. The first call always returns
    /// one, so that the spec of an earlier run is confirmed.
    pub fn next(&mut self, input: &Input, report: &Report, now: Instant) -> Option<Arc<NodeSpec>> {
        self.update_lost(input, now);
        self.per_node.update(input);
        let missing = missing_engines(report);
        let (in_use, lost) = (self.in_use(report), self.retained_lost(input, now));
        let last = Arc::clone(&self.last);
        let facts =
            Facts { input, missing: &missing, previous: &last, in_use: &in_use, lost: &lost, per_node: &self.per_node };
        if is_awaiting(facts) {
            let since = *self.nodes_awaited_since.get_or_insert(now);
            if now.saturating_duration_since(since) < NODES_GRACE {
                return None;
            }
        } else {
            self.nodes_awaited_since = None;
        }
        let spec = select(facts);
        if self.has_built && spec == *self.last {
            return None;
        }
        let revision = self.last.revision + 1;
        let draining = spec.networks.iter().filter(|network| network.phase == Phase::Draining);
        self.draining_since = draining
            .map(|network| {
                let was_draining = self.last.network(&network.name).is_some_and(|last| last.phase == Phase::Draining);
                let since = if was_draining { self.draining_since(&network.name) } else { revision };
                (network.name.clone(), since)
            })
            .collect();
        self.has_built = true;
        self.last = Arc::new(NodeSpec { revision, ..spec });
        Some(Arc::clone(&self.last))
    }

    /// When the spec may change although the input does not.
    pub fn next_expiry(&self, now: Instant) -> Option<Instant> {
        let lost = self.lost.values().map(|since| *since + LOST_GRACE);
        let nodes = self.nodes_awaited_since.map(|since| since + NODES_GRACE);
        lost.chain(nodes).filter(|expiry| *expiry > now).min()
    }

    fn update_lost(&mut self, input: &Input, now: Instant) {
        let active = self.last.networks.iter().filter(|network| network.phase == Phase::Active);
        let names = active.map(|network| &network.name).filter(|name| !self.last.is_from_file(name));
        let lost = names.filter(|name| !input.networks.contains_key(*name));
        self.lost = lost.map(|name| (name.clone(), self.lost.get(name).copied().unwrap_or(now))).collect();
    }

    /// The lost networks whose grace period is not over, and those that are only unreadable.
    fn retained_lost(&self, input: &Input, now: Instant) -> BTreeSet<NetworkName> {
        let is_kept = |(name, since): &(&NetworkName, &Instant)| {
            input.unreadable.contains_key(*name) || now.saturating_duration_since(**since) < LOST_GRACE
        };
        self.lost.iter().filter(is_kept).map(|(name, _)| name.clone()).collect()
    }

    /// The networks that cannot be removed at once: those with attachments, and those that are not
    /// yet reported as draining, to which pods may still be attached.
    fn in_use(&self, report: &Report) -> BTreeSet<NetworkName> {
        let attached: BTreeSet<&str> =
            report.networks.iter().filter(|entry| entry.attachments > 0).map(|entry| entry.name.as_str()).collect();
        let is_in_use = |name: &NetworkName, phase: Phase| {
            phase == Phase::Active
                || attached.contains(name.as_str())
                || report.revision().is_none_or(|reported| reported < self.draining_since(name))
        };
        let in_use = self.last.networks.iter().filter(|network| is_in_use(&network.name, network.phase));
        in_use.map(|network| network.name.clone()).collect()
    }

    fn draining_since(&self, name: &NetworkName) -> u64 {
        self.draining_since.get(name).copied().unwrap_or_default()
    }
}

/// Whether a network of this node waits for the addresses of nodes, or for its uplink.
fn is_awaiting(facts: Facts<'_>) -> bool {
    let Facts { input, missing, previous, per_node, .. } = facts;
    let awaits = |compiled: &Compiled| {
        let is_overlay = compiled.per_node.overlay.is_some();
        is_overlay && per_node.awaits_nodes(compiled, previous.network(&compiled.network.name))
            || awaits_uplink(facts, compiled)
    };
    let mut connected = input.networks.values().filter(|compiled| {
        let has_topology = compiled.per_node.overlay.is_some() || compiled.network.uplink.is_some();
        has_topology && compiled.network.phase == Phase::Active && input.selects(compiled, missing)
    });
    connected.any(|compiled| awaits(compiled))
}

/// The engines that were never reached on this node.
pub(super) fn missing_engines(report: &Report) -> BTreeSet<EngineKind> {
    let is_missing = |engine: &EngineKind| {
        let kind = engine_connected(*engine);
        report.findings.iter().any(|finding| finding.kind == kind && finding.reason == NEVER_SEEN)
    };
    EngineKind::ALL.into_iter().filter(is_missing).collect()
}

/// What a spec is built from.
#[derive(Debug)]
pub struct Sources {
    pub inputs: Receiver<Option<Input>>,
    pub reports: Receiver<Option<Report>>,
    /// The networks that files of the node define; none before these were read.
    pub file_networks: Receiver<Option<Arc<FileNetworks>>>,
}

/// Sends each spec of the node, continuing from the one that an earlier run of the agent left.
/// Waits for the networks that files of the node define. Ends when the agent or the source of the
/// inputs does.
pub async fn build(previous: Option<Arc<NodeSpec>>, sources: Sources, specs: Sender<Option<Arc<NodeSpec>>>) {
    let Sources { mut inputs, mut reports, mut file_networks } = sources;
    let mut builder = SpecBuilder::new(previous);
    loop {
        let spec = {
            let (input, report) = (inputs.borrow_and_update(), reports.borrow_and_update());
            let file_networks = file_networks.borrow_and_update();
            let known = input.as_ref().zip(file_networks.as_ref()).zip(report.as_ref());
            known.and_then(|((input, file_networks), report)| {
                let input = with_file_networks(input, file_networks, &Arc::clone(&builder.last));
                builder.next(&input, report, Instant::now())
            })
        };
        if let Some(spec) = spec {
            specs.send_replace(Some(spec));
        }
        let expiry = builder.next_expiry(Instant::now());
        let is_alive = tokio::select! {
            change = inputs.changed() => change.is_ok(),
            change = reports.changed() => change.is_ok(),
            change = file_networks.changed() => change.is_ok(),
            () = until(expiry) => true,
        };
        if !is_alive {
            return;
        }
        sleep(DEBOUNCE).await;
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment.into()).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests;
