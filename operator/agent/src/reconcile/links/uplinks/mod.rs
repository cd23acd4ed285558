//! The uplinks of one engine: which NIC each has, and which networks are connected to it (IO).

mod addresses;
mod bindings;
mod bond;
mod health;
mod isolated;
mod nic_cause;
mod nic_change;
mod offloads;
mod prepared;
mod uplink_health;

pub(in super::super) use prepared::{PreparedUplinks, UplinkEvidence, UplinksVerified};

use self::addresses::Addresses;
use self::bindings::{Bindings, observe_pci};
use self::nic_change::{change_nics, nic_changes, observe, release};
use self::offloads::Offloads;
use self::prepared::{UplinkNetworks, prepared};
use super::context::LinkContext;
use crate::model::spec::EngineSpec;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use usnet_common::display::ErrorChain;
use usnet_crds::{EngineKind, NicDevice, NicDriver, NodeTraffic, NodeUplink, PciAddress, UplinkName};
use usnet_dataplane::isolation::NicGuard;
use usnet_dataplane::links::LinkError;
use usnet_dataplane::links::nics::{
    JoinedNic, NicBlocker, NodeNics, ObservedNics, ReleasedNic, ResolvedUplink, UplinkRequest, resolve,
};
use usnet_dataplane::links::pci::ObservedPci;
use usnet_dataplane::observed::{DpdkSupport, Observed};
use usnet_dataplane::owner::NicIdentity;
use usnet_dataplane::paths::NodePaths;

/// The uplinks of one engine.
#[derive(Debug)]
pub(super) struct EngineUplinks {
    specs: BTreeMap<UplinkName, Arc<NodeUplink>>,
    /// The uplinks of other engines whose NICs this engine may not use.
    others: Vec<Arc<NodeUplink>>,
    /// The uplinks with networks, and whether one of these networks has no VLAN.
    used: BTreeMap<UplinkName, bool>,
    /// The VLANs that networks have on each uplink.
    vlans: BTreeMap<UplinkName, BTreeSet<u16>>,
    /// What is isolated from the node on each NIC, by its index, until the engine has released the
    /// NIC.
    guards: BTreeMap<u32, NicGuard>,
    /// The uplinks over which overlays of the engine reach other nodes.
    underlays: BTreeSet<UplinkName>,
    joined: BTreeMap<UplinkName, JoinedNic>,
    /// The last observation of the NICs.
    last: BTreeMap<UplinkName, ResolvedUplink>,
    programmed: BTreeSet<UplinkName>,
    /// NICs that the engine has released and that are not restored yet.
    released: Vec<ReleasedNic>,
    addresses: Addresses,
    offloads: Offloads,
    bindings: Bindings,
    /// What the engine can do with NICs that it drives itself.
    dpdk: DpdkSupport,
    sysfs: PathBuf,
}

impl EngineUplinks {
    pub(super) fn new(engine: EngineKind, paths: &NodePaths) -> Self {
        Self {
            specs: BTreeMap::new(),
            others: Vec::new(),
            used: BTreeMap::new(),
            vlans: BTreeMap::new(),
            guards: BTreeMap::new(),
            underlays: BTreeSet::new(),
            joined: BTreeMap::new(),
            last: BTreeMap::new(),
            programmed: BTreeSet::new(),
            released: Vec::new(),
            addresses: Addresses::default(),
            offloads: Offloads::load(engine, paths),
            bindings: Bindings::load(engine, paths),
            dpdk: DpdkSupport::default(),
            sysfs: paths.sysfs.clone(),
        }
    }

    /// Whether the NICs differ from the last observation, or one is still to be given back. Without
    /// uplinks nothing is read.
    pub(super) async fn have_changed(&self, network_namespace: Option<PathBuf>) -> bool {
        if self.bindings.are_unfinished() {
            return true;
        }
        if self.specs.is_empty() {
            return false;
        }
        let Ok(pci) = observe_pci(self.pci_bus()).await else { return true };
        let observed = observe(network_namespace, self.devices()).await;
        observed.map_or(true, |observed| {
            self.resolve(&observed, &pci) != self.last || self.addresses.have_changed(&observed)
        })
    }

    /// The uplinks that were programmed after the last reconcile.
    pub(super) fn programmed(&self) -> BTreeSet<UplinkName> {
        self.programmed.clone()
    }

    /// Observes the NICs, and prepares those that networks need: sets them up, disables offloads
    /// that merge received packets, and for VPP sets them promiscuous. Fails if the NICs cannot be
    /// read and an uplink needs one.
    pub(super) async fn prepare(
        &mut self,
        network_namespace: Option<PathBuf>,
        spec: &EngineSpec,
        engine: &Observed,
        context: LinkContext<'_>,
    ) -> Result<PreparedUplinks, LinkError> {
        self.specs.clone_from(&spec.uplinks);
        self.others.clone_from(&spec.other_uplinks);
        self.set_joined(joined(engine));
        self.dpdk.clone_from(&engine.dpdk);
        if self.specs.is_empty() {
            self.last.clear();
            self.vlans.clear();
            self.underlays.clear();
            return Ok(PreparedUplinks::default());
        }
        let networks = UplinkNetworks::of(spec);
        self.vlans = isolated::vlans(&networks);
        self.underlays = isolated::underlays(&networks);
        self.used.clear();
        for (uplink, vlan) in networks.vlans() {
            *self.used.entry(uplink.clone()).or_default() |= vlan.is_none();
        }
        let (pci, mut resolved) = self.take_nics(network_namespace.clone()).await?;
        // A NIC is isolated before it is set up or becomes a port.
        self.guards.extend(self.wanted(&resolved));
        let devices = isolated::devices(spec.engine, &self.guards, &self.underlays, engine);
        let refused =
            context.isolation.lend(spec.engine, devices).await.map_err(|error| ErrorChain(&error).to_string());
        isolated::refuse(&mut resolved, &refused);
        let changes = nic_changes(&resolved);
        for (uplink, change) in &changes {
            tracing::info!(%uplink, nic = %change.nic.device, "{}", change.text());
            self.offloads.remember(change.nic.index, change.nic.mac, &change.disable);
            if self.programmed.contains(uplink) {
                context.metrics.repair(spec.engine);
            }
        }
        if !changes.is_empty() {
            let changes = changes.into_iter().map(|(_, change)| change).collect();
            resolved = self.resolve(&change_nics(network_namespace.clone(), self.devices(), changes).await?, &pci);
            isolated::refuse(&mut resolved, &refused);
        }
        self.last.clone_from(&resolved);
        let prepared = prepared(spec, networks, engine, resolved);
        // At this point the engine still has the tags of addresses that were set before.
        addresses::remove_stale(network_namespace, &prepared, engine).await?;
        Ok(prepared)
    }

    /// Observes the NICs, and takes those from their drivers that the engine is to drive itself.
    async fn take_nics(
        &mut self,
        network_namespace: Option<PathBuf>,
    ) -> Result<(ObservedPci, BTreeMap<UplinkName, ResolvedUplink>), LinkError> {
        let pci = observe_pci(self.pci_bus()).await?;
        let resolved = self.resolve(&observe(network_namespace.clone(), self.devices()).await?, &pci);
        let wanted: Vec<_> = resolved.values().flat_map(ResolvedUplink::must_bind).cloned().collect();
        if wanted.is_empty() {
            return Ok((pci, resolved));
        }
        self.bindings.take(wanted).await;
        let pci = observe_pci(self.pci_bus()).await?;
        let resolved = self.resolve(&observe(network_namespace, self.devices()).await?, &pci);
        Ok((pci, resolved))
    }

    /// Sets the addresses between which overlays run on the devices of the engine.
    pub(super) async fn set_addresses(
        &mut self,
        network_namespace: Option<PathBuf>,
        engine: EngineKind,
        prepared: &PreparedUplinks,
        context: LinkContext<'_>,
    ) -> Result<(), LinkError> {
        let is_repair = |uplink: &UplinkName| self.programmed.contains(uplink);
        self.addresses
            .set(network_namespace, prepared, |uplink, address| {
                tracing::info!(%uplink, %address, "setting the address of this node for overlays");
                if is_repair(uplink) {
                    context.metrics.repair(engine);
                }
            })
            .await
    }

    fn devices(&self) -> Vec<NicDevice> {
        self.specs.values().flat_map(|uplink| uplink.nic.device.nics()).cloned().collect()
    }

    /// Where the PCI bus is to be read, if an uplink has a NIC that the engine drives itself.
    fn pci_bus(&self) -> Option<PathBuf> {
        let is_dpdk = self.specs.values().any(|uplink| uplink.nic.driver == NicDriver::Dpdk);
        is_dpdk.then(|| self.sysfs.clone())
    }

    fn resolve(&self, observed: &ObservedNics, pci: &ObservedPci) -> BTreeMap<UplinkName, ResolvedUplink> {
        let requests = self.specs.values().map(|uplink| UplinkRequest {
            uplink,
            is_used: self.used.contains_key(&uplink.name),
            is_untagged: self.used.get(&uplink.name).is_some_and(|is_untagged| *is_untagged),
            joined: self.joined.get(&uplink.name),
        });
        let node = NodeNics { kernel: observed, pci, dpdk: &self.dpdk, bound: self.bindings.taken() };
        let mut resolved = resolve(&requests.collect::<Vec<_>>(), &self.others, node);
        for member in resolved.values_mut().flat_map(|resolved| &mut resolved.members) {
            let Some(nic) = member.must_bind.as_ref().map(|nic| nic.address) else { continue };
            if let Some(why) = self.bindings.failure(nic) {
                member.blocker = Some(NicBlocker::NotTaken { nic, why: why.to_owned() });
            }
        }
        resolved
    }

    fn set_joined(&mut self, joined: BTreeMap<UplinkName, JoinedNic>) {
        let present: Vec<JoinedNic> = joined.values().flat_map(JoinedNic::nics).collect();
        let gone = self.joined.values().flat_map(JoinedNic::nics).filter(|nic| !present.contains(nic));
        self.released.extend(gone.filter_map(|nic| nic.released()));
        self.joined = joined;
    }

    /// The indexes of the NICs that the engine has.
    fn joined_indexes(&self) -> impl Iterator<Item = u32> {
        self.joined.values().flat_map(|nic| nic.identity.nics()).filter_map(NicIdentity::kernel_index)
    }

    /// The PCI devices that the engine has, or that uplinks with networks name.
    fn used_pci(&self) -> BTreeSet<PciAddress> {
        let nics = self.joined.values().flat_map(|nic| nic.identity.nics());
        let joined = nics.filter_map(|nic| match nic {
            NicIdentity::PciAddress(address) => Some(*address),
            NicIdentity::KernelIndex(_) | NicIdentity::Bond(_) => None,
        });
        let used = self.last.iter().filter(|(uplink, _)| self.used.contains_key(*uplink));
        joined.chain(used.flat_map(|(_, resolved)| resolved.pci_nics())).collect()
    }

    /// Restores released NICs. If that fails, the next call tries again.
    pub(super) async fn release(
        &mut self,
        network_namespace: Option<PathBuf>,
        kind: EngineKind,
        prepared: &PreparedUplinks,
        engine: &Observed,
    ) -> Result<(), LinkError> {
        self.set_joined(joined(engine));
        let nics = prepared.uplinks.iter().filter_map(|uplink| uplink.nic.as_ref());
        let identities = nics.flat_map(|nic| nic.identity.nics());
        let wanted: BTreeSet<u32> = identities.filter_map(NicIdentity::kernel_index).collect();
        self.released.retain(|nic| !wanted.contains(&nic.index));
        self.bindings.give_back(network_namespace.clone(), &self.used_pci()).await?;
        let used = wanted.into_iter().chain(self.joined_indexes()).collect();
        let changed = self.offloads.left(&used);
        if self.released.is_empty() && changed.is_empty() {
            return Ok(());
        }
        release(network_namespace, kind, self.released.clone(), changed.clone()).await?;
        self.released.clear();
        self.offloads.forget(&changed);
        Ok(())
    }

    /// Ends the isolation of NICs that the engine has released.
    pub(super) async fn return_nics(&mut self, kind: EngineKind, engine: &Observed, context: LinkContext<'_>) {
        let wanted = self.wanted(&self.last);
        let joined: BTreeSet<u32> = self.joined_indexes().collect();
        self.guards.retain(|index, _| wanted.contains_key(index) || joined.contains(index));
        self.guards.extend(wanted);
        let devices = isolated::devices(kind, &self.guards, &self.underlays, engine);
        // A failure is logged, and for a NIC the uplink reports it.
        let _result = context.isolation.lend(kind, devices).await;
    }

    /// The NICs that networks use, and what of them is isolated from the node.
    fn wanted(&self, resolved: &BTreeMap<UplinkName, ResolvedUplink>) -> BTreeMap<u32, NicGuard> {
        let guard = |uplink: &UplinkName, vlans: &BTreeSet<u16>| {
            let is_shared = self.specs.get(uplink).is_some_and(|spec| spec.node_traffic == NodeTraffic::Shared);
            if is_shared { NicGuard::Vlans(vlans.clone()) } else { NicGuard::All }
        };
        let nics = self.vlans.iter().flat_map(|(uplink, vlans)| {
            let nics = resolved.get(uplink).into_iter().flat_map(ResolvedUplink::kernel_nics);
            nics.map(move |nic| (nic.index, guard(uplink, vlans)))
        });
        nics.collect()
    }

    /// Evaluates the uplinks and their networks.
    pub(super) fn verify(&mut self, prepared: &PreparedUplinks, evidence: UplinkEvidence<'_>) -> UplinksVerified {
        let health = health::of_uplinks(prepared, evidence, &self.addresses);
        let programmed = health.iter().filter(|(_, health)| health.cause.is_none() && !health.is_pending);
        self.programmed = programmed.map(|(uplink, _)| uplink.clone()).collect();
        UplinksVerified {
            reports: prepared.specs.values().map(|uplink| health::report(uplink, prepared, &health)).collect(),
            network_health: health::of_networks(prepared, &health, evidence),
        }
    }
}

/// The NICs that an engine has as ports of uplinks.
fn joined(engine: &Observed) -> BTreeMap<UplinkName, JoinedNic> {
    let bridges = engine.bridges.values().filter(|bridge| bridge.uplink().is_some());
    let ports = bridges.flat_map(|bridge| bridge.ports.values());
    ports.chain(engine.unbridged_ports.values()).filter_map(JoinedNic::of).collect()
}
