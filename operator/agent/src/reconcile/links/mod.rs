//! The devices of the networks of one engine, and the NICs of its uplinks (IO). A network's
//! device is created before it becomes a port of the engine, and deleted when it is no port any
//! more. NICs belong to the node and are only borrowed.

mod context;
mod ends;
mod filter;
mod health;
mod kernel;
mod node_access;
mod uplinks;

pub(super) use context::LinkContext;
pub(super) use health::{LinkHealth, apply_to};
pub(super) use uplinks::{PreparedUplinks, UplinkEvidence, UplinksVerified};

use self::ends::Ends;
use self::filter::Filter;
use self::health::LinkFailures;
use self::kernel::{observe, with_kernel};
use self::node_access::{EngineNodeAccess, PreparedNodeAccess};
use self::uplinks::EngineUplinks;
use crate::model::spec::EngineSpec;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use usnet_crds::{EngineKind, NetworkName, NodeNetwork, UplinkName};
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::links::{
    DesiredVxlan, KernelLinks, LinkError, LinkOp, Links, ObservedLinks, PlannedLinkOp, blockers, diff, joinable, plan,
};
use usnet_dataplane::observed::Observed;
use usnet_dataplane::owner::{NetworkDevice, NetworkDeviceRole, Owner};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::plan::{Cause, SpecOrigin};

/// The devices of one engine's networks.
#[derive(Debug)]
pub(super) struct EngineLinks {
    engine: EngineKind,
    network_namespace: Option<PathBuf>,
    desired: BTreeMap<NetworkName, DesiredVxlan>,
    /// The last observation of the devices; none before the first.
    last: Option<ObservedLinks>,
    uplinks: EngineUplinks,
    filter: Filter,
    ends: Ends,
    node_access: EngineNodeAccess,
}

/// The devices after missing ones were created.
#[derive(Debug, Default)]
pub(super) struct PreparedLinks {
    /// The devices that can be ports.
    pub(super) joinable: Vec<NetworkDevice>,
    /// What is wrong with the other devices.
    pub(super) health: LinkHealth,
    pub(super) uplinks: PreparedUplinks,
    /// Deletions, which wait until these devices are no ports of the engine any more.
    deletions: Vec<PlannedLinkOp>,
    /// Whether something remains to be done that a later attempt may achieve.
    pub(super) retry: bool,
    node_access: PreparedNodeAccess,
}

impl EngineLinks {
    pub(super) fn new(engine: EngineKind, paths: &NodePaths) -> Self {
        let (desired, uplinks) = (BTreeMap::new(), EngineUplinks::new(engine, paths));
        Self {
            engine,
            network_namespace: paths.network_namespace.clone(),
            desired,
            last: None,
            uplinks,
            filter: Filter::default(),
            ends: Ends::default(),
            node_access: EngineNodeAccess::new(engine, paths.network_namespace.clone()),
        }
    }

    /// Whether the devices differ from the last observation. Nothing is read without overlays,
    /// uplinks or veth ports. Devices that cannot be read count as changed: the next reconcile
    /// reports why.
    pub(super) async fn have_changed(&self) -> bool {
        self.have_vxlans_changed().await
            || self.uplinks.have_changed(self.network_namespace.clone()).await
            || self.ends.have_changed(self.network_namespace.clone()).await
            || self.node_access.have_changed().await
    }

    /// Returns the attachments among these records that have lost their device on the node.
    pub(super) async fn missing_ends(&mut self, records: &[Record]) -> BTreeSet<AttachmentId> {
        self.ends.missing(self.network_namespace.clone(), records).await
    }

    async fn have_vxlans_changed(&self) -> bool {
        let Some(last) = self.last.as_ref().filter(|_| self.is_in_use()) else { return false };
        let observed = observe(self.network_namespace.clone(), self.addresses()).await;
        observed.map_or(true, |observed| observed != *last)
            || self.filter.has_changed(self.network_namespace.clone(), last).await
    }

    /// The addresses of this node that overlays use, including those of other engines, because the
    /// filter covers all.
    fn addresses(&self) -> BTreeSet<IpAddr> {
        self.desired.values().map(|device| device.local).chain(self.filter.addresses()).collect()
    }

    /// Whether a network has an overlay, or a device of an earlier overlay may be left.
    fn is_in_use(&self) -> bool {
        let owns = |last: &ObservedLinks| {
            let owners = last.vxlans.values().filter_map(|device| device.owner());
            let mut owners = owners.chain(last.ends.values().map(|end| end.owner.clone()));
            owners.any(|owner| owner.engine == self.engine)
        };
        !self.desired.is_empty() || self.last.as_ref().is_none_or(owns)
    }

    /// The uplinks that were programmed after the last reconcile.
    pub(super) fn programmed_uplinks(&self) -> BTreeSet<UplinkName> {
        self.uplinks.programmed()
    }

    /// Observes the devices, and creates and changes those of networks. Fails if they cannot be
    /// read and a network needs one.
    pub(super) async fn prepare(
        &mut self,
        spec: &EngineSpec,
        engine: &Observed,
        context: LinkContext<'_>,
    ) -> Result<PreparedLinks, LinkError> {
        let uplinks = self.uplinks.prepare(self.network_namespace.clone(), spec, engine, context).await?;
        self.filter.set_spec(spec);
        let vxlans = self.prepare_vxlans(spec.networks.iter().map(AsRef::as_ref), context).await?;
        let mut node_access = self.node_access.prepare(spec, context).await?;
        let mut links = PreparedLinks { uplinks, ..vxlans };
        links.joinable.append(&mut node_access.devices);
        // A network that does not reach other nodes says so first.
        for (network, health) in std::mem::take(&mut node_access.health) {
            links.health.entry(network).or_insert(health);
        }
        links.retry |= node_access.retry;
        Ok(PreparedLinks { node_access, ..links })
    }

    /// Restores released NICs.
    pub(super) async fn release_nics(
        &mut self,
        prepared: &PreparedUplinks,
        engine: &Observed,
        context: LinkContext<'_>,
    ) -> Result<(), LinkError> {
        self.uplinks.release(self.network_namespace.clone(), self.engine, prepared, engine).await?;
        self.uplinks.return_nics(self.engine, engine, context).await;
        Ok(())
    }

    /// Sets the addresses between which overlays of the engine run on the bridges of uplinks.
    pub(super) async fn set_addresses(
        &mut self,
        prepared: &PreparedUplinks,
        context: LinkContext<'_>,
    ) -> Result<(), LinkError> {
        self.uplinks.set_addresses(self.network_namespace.clone(), self.engine, prepared, context).await
    }

    /// Evaluates the uplinks and their networks.
    pub(super) fn verify_uplinks(
        &mut self,
        prepared: &PreparedUplinks,
        evidence: UplinkEvidence<'_>,
    ) -> UplinksVerified {
        self.uplinks.verify(prepared, evidence)
    }

    async fn prepare_vxlans(
        &mut self,
        networks: impl IntoIterator<Item = &NodeNetwork>,
        context: LinkContext<'_>,
    ) -> Result<PreparedLinks, LinkError> {
        let device = |network: &NodeNetwork| Some((network.name.clone(), DesiredVxlan::of(network)?));
        self.desired = networks.into_iter().filter_map(device).collect();
        if !self.is_in_use() {
            return Ok(PreparedLinks::default());
        }
        let addresses = self.addresses();
        let observed = match observe(self.network_namespace.clone(), addresses.clone()).await {
            Ok(observed) => observed,
            Err(error) if self.desired.is_empty() => {
                tracing::debug!(%error, "cannot look for VXLAN devices; no network needs one");
                return Ok(PreparedLinks::default());
            }
            Err(error) => return Err(error),
        };
        // Before a device is set up, and before it sends to a new peer.
        self.ensure_filter(&observed, context).await;
        let planned = plan(self.engine, &self.desired, &observed, context.plan);
        let (deletions, mut changes): (Vec<_>, Vec<_>) =
            planned.into_iter().partition(|planned| planned.op.is_deletion());
        if self.filter.problem().is_some() {
            changes.retain(|planned| !planned.op.opens());
        }
        if changes.is_empty() {
            return Ok(self.conclude(observed, deletions, &LinkFailures::new()));
        }
        let failures = self.apply(changes, context).await?;
        let observed = observe(self.network_namespace.clone(), addresses).await?;
        // Peers that were removed are not admitted any more.
        self.filter.ensure(self.network_namespace.clone(), &observed).await;
        Ok(self.conclude(observed, deletions, &failures))
    }

    async fn ensure_filter(&mut self, observed: &ObservedLinks, context: LinkContext<'_>) {
        let is_known = self.last.as_ref() == Some(observed);
        let is_changed = self.filter.ensure(self.network_namespace.clone(), observed).await;
        if is_changed && is_known && context.plan.spec == SpecOrigin::Known {
            tracing::info!("repaired the packet rules that admit only peers to overlays");
            context.metrics.repair(self.engine);
        }
        if let Some(error) = self.filter.problem() {
            tracing::debug!(error, "cannot write the packet rules that admit only peers to overlays");
        }
    }

    fn conclude(
        &mut self,
        observed: ObservedLinks,
        deletions: Vec<PlannedLinkOp>,
        failures: &LinkFailures,
    ) -> PreparedLinks {
        let joinable = joinable(self.engine, &self.desired, &observed);
        let blockers = blockers(self.engine, &self.desired, &observed);
        let remaining = diff(self.engine, &self.desired, &observed);
        let problem = self.filter.problem();
        let retry = problem.is_some() || !failures.is_empty() || !remaining.is_empty() || !blockers.is_empty();
        let health = health::of(&self.desired, &joinable, &blockers, failures, problem);
        self.last = Some(observed);
        let device = |(network, index)| NetworkDevice { network, role: NetworkDeviceRole::Overlay, index };
        let joinable = joinable.into_iter().map(device).collect();
        PreparedLinks { joinable, health, deletions, retry, ..PreparedLinks::default() }
    }

    /// Deletes the devices that are no ports of the engine any more; `joined` are the indexes of
    /// those that are.
    pub(super) async fn finish(
        &mut self,
        mut prepared: PreparedLinks,
        joined: &BTreeSet<u32>,
        context: LinkContext<'_>,
    ) -> Result<(), LinkError> {
        self.node_access.finish(prepared.node_access.take_deletions(), joined, context).await?;
        let is_free = |planned: &PlannedLinkOp| match &planned.op {
            LinkOp::Delete { index, .. } => !joined.contains(index),
            _ => true,
        };
        let due: Vec<_> = prepared.deletions.into_iter().filter(is_free).collect();
        if due.is_empty() {
            return Ok(());
        }
        self.apply(due, context).await?;
        let observed = observe(self.network_namespace.clone(), self.addresses()).await?;
        self.filter.ensure(self.network_namespace.clone(), &observed).await;
        self.last = Some(observed);
        Ok(())
    }

    /// Applies operations; returns the failures by network.
    async fn apply(&self, planned: Vec<PlannedLinkOp>, context: LinkContext<'_>) -> Result<LinkFailures, LinkError> {
        if planned.is_empty() {
            return Ok(LinkFailures::new());
        }
        let apply = move |kernel: &mut KernelLinks| {
            let result = |planned: PlannedLinkOp| {
                let result = kernel.apply(&planned.op);
                (planned, result)
            };
            Ok(planned.into_iter().map(result).collect::<Vec<_>>())
        };
        let results = with_kernel(self.network_namespace.clone(), apply).await?;
        let mut failures = LinkFailures::new();
        for (planned, result) in results {
            match result {
                Ok(()) => self.log(&planned, context),
                Err(error) => drop(failures.entry(planned.op.network().clone()).or_insert(error)),
            }
        }
        Ok(failures)
    }

    fn log(&self, PlannedLinkOp { op, cause }: &PlannedLinkOp, context: LinkContext<'_>) {
        let milliseconds = u64::try_from(context.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let what = if *cause == Cause::Drift && !op.is_deletion() { "repaired" } else { "done" };
        if what == "repaired" {
            context.metrics.repair(self.engine);
        }
        tracing::info!(network = %op.network(), op = %op, %cause, milliseconds, "{what}");
    }
}

/// The indexes of the networks' devices that an engine has as ports.
pub(super) fn joined(engine: &Observed) -> BTreeSet<u32> {
    let bridged = engine.bridges.values().flat_map(|bridge| bridge.ports.values());
    let ports = bridged.chain(engine.unbridged_ports.values());
    let index = |owner: &Owner| match owner {
        Owner::Network(device) => Some(device.index),
        Owner::Attachment(_) | Owner::Nic(_) | Owner::Patch(_) | Owner::Tunnel(_) => None,
    };
    ports.filter_map(|port| index(&port.owner.as_ref()?.owner)).collect()
}
