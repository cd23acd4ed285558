//! The uplinks before the engine is changed, and the result of their evaluation afterwards. Pure.

use crate::model::health::Cause;
use crate::model::spec::EngineSpec;
use crate::reconcile::links::health::LinkHealth;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::conditions::message::{overlay, uplink as message};
use usnet_crds::conditions::reason::{MTU_TOO_LARGE, VLAN_TAKEN};
use usnet_crds::uplink::report::{UplinkReport, UplinkState};
use usnet_crds::{EngineKind, NetworkName, NetworkUplink, NodeNetwork, NodeUplink, UplinkName, VlanTag};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::links::nics::ResolvedUplink;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::plan::{Op, has_port};
use usnet_dataplane::port::{DesiredPort, PortPolicy};
use usnet_dataplane::underlay::{DesiredTunnels, UplinkAddress};
use usnet_dataplane::uplink::DesiredUplink;

/// The uplinks before the engine is changed.
#[derive(Debug, Clone, Default)]
pub(in crate::reconcile) struct PreparedUplinks {
    /// The uplinks that have networks.
    pub(in crate::reconcile) uplinks: Vec<DesiredUplink>,
    /// The ports that connect networks to uplinks.
    pub(in crate::reconcile) patches: Vec<DesiredPort>,
    /// The tunnels of networks whose engine encapsulates.
    pub(in crate::reconcile) tunnels: Vec<DesiredTunnels>,
    pub(super) specs: BTreeMap<UplinkName, Arc<NodeUplink>>,
    pub(super) resolved: BTreeMap<UplinkName, ResolvedUplink>,
    /// The networks that may not be connected, and why.
    pub(super) refused: BTreeMap<NetworkName, Cause>,
}

impl PreparedUplinks {
    /// The NUMA nodes of the NICs, as far as they are known.
    pub(in crate::reconcile) fn numa_nodes(&self) -> BTreeMap<UplinkName, u32> {
        let known = self.resolved.iter().filter_map(|(uplink, nic)| Some((uplink.clone(), nic.numa_node()?)));
        known.collect()
    }
}

/// What the health of uplinks and their networks is computed from.
#[derive(Debug, Clone, Copy)]
pub(in crate::reconcile) struct UplinkEvidence<'a> {
    pub(in crate::reconcile) desired: &'a Desired,
    /// The observed engine after the last change.
    pub(in crate::reconcile) observed: &'a Observed,
    pub(in crate::reconcile) failures: &'a [(Op, OpError)],
}

/// The result for the uplinks of one engine.
#[derive(Debug, Default)]
pub(in crate::reconcile) struct UplinksVerified {
    /// The reports of all uplinks, sorted by name.
    pub(in crate::reconcile) reports: Vec<UplinkReport>,
    /// The networks that are not connected, and why.
    pub(in crate::reconcile) network_health: LinkHealth,
}

impl UplinksVerified {
    /// Whether all uplinks are programmed. If not, a retry is needed: not every change that helps
    /// them wakes the agent.
    pub(in crate::reconcile) fn are_programmed(&self) -> bool {
        self.reports.iter().all(|report| report.state == UplinkState::Programmed)
    }
}

/// The networks of an engine that need uplinks.
#[derive(Debug)]
pub(super) struct UplinkNetworks {
    pub(super) patched: Vec<PatchedNetwork>,
    pub(super) tunnels: Vec<DesiredTunnels>,
}

/// A network that is connected to an uplink.
#[derive(Debug)]
pub(super) struct PatchedNetwork {
    pub(super) network: Arc<NodeNetwork>,
    pub(super) uplink: UplinkName,
    pub(super) vlan: Option<VlanTag>,
}

impl PatchedNetwork {
    fn of(network: &Arc<NodeNetwork>) -> Option<Self> {
        let NetworkUplink { name, vlan } = network.uplink.clone()?;
        Some(Self { network: Arc::clone(network), uplink: name, vlan })
    }

    fn port(&self, policy: PortPolicy) -> Option<DesiredPort> {
        DesiredPort::of_patch(&self.network, policy)
    }
}

impl UplinkNetworks {
    pub(super) fn of(spec: &EngineSpec) -> Self {
        Self {
            patched: spec.networks.iter().filter_map(PatchedNetwork::of).collect(),
            tunnels: spec.networks.iter().filter_map(|network| DesiredTunnels::of(network)).collect(),
        }
    }

    /// The uplinks that networks need, each with the VLAN of the network.
    pub(super) fn vlans(&self) -> impl Iterator<Item = (&UplinkName, Option<VlanTag>)> {
        let of_patched = self.patched.iter().map(|patched| (&patched.uplink, patched.vlan));
        of_patched.chain(self.tunnels.iter().map(|tunnels| (&tunnels.uplink, tunnels.vlan)))
    }
}

/// Determines which uplinks have networks, and which networks may be connected.
pub(super) fn prepared(
    spec: &EngineSpec,
    networks: UplinkNetworks,
    engine: &Observed,
    resolved: BTreeMap<UplinkName, ResolvedUplink>,
) -> PreparedUplinks {
    let refused = refused(&networks, engine, &resolved);
    let has_vlan = |network: &NetworkName| refused.get(network).is_none_or(|cause| cause.reason != VLAN_TAKEN);
    let UplinkNetworks { patched, mut tunnels } = networks;
    let mut vlans: BTreeMap<&UplinkName, Vec<Option<VlanTag>>> = BTreeMap::new();
    for patched in patched.iter().filter(|patched| has_vlan(&patched.network.name)) {
        vlans.entry(&patched.uplink).or_default().push(patched.vlan);
    }
    let mut addresses: BTreeMap<&UplinkName, UplinkAddress> = BTreeMap::new();
    for tunnels in tunnels.iter().filter(|tunnels| has_vlan(&tunnels.network)) {
        vlans.entry(&tunnels.uplink).or_default().push(tunnels.vlan);
        // VPP has the address on an interface with a MAC address of its own.
        let mac = resolved.get(&tunnels.uplink).filter(|_| spec.engine == EngineKind::OpenVswitch);
        let mac = mac.and_then(|resolved| resolved.mac());
        let address = UplinkAddress { address: tunnels.local, vlan: tunnels.vlan, mac };
        addresses.entry(&tunnels.uplink).or_insert(address);
    }
    let uplink = |(name, vlans): (&UplinkName, Vec<Option<VlanTag>>)| {
        let nic = resolved.get(name).and_then(|resolved| resolved.desired(name));
        Some(DesiredUplink::of(spec.engine, name, nic, vlans)?.with_address(addresses.get(name).cloned()))
    };
    let uplinks = vlans.into_iter().filter(|(name, _)| spec.uplinks.contains_key(*name)).filter_map(uplink).collect();
    let policy = |network: &NetworkName| match refused.contains_key(network) {
        true => PortPolicy::Keep,
        false => PortPolicy::Ensure,
    };
    for tunnels in &mut tunnels {
        tunnels.policy = policy(&tunnels.network);
    }
    let patches = patched.iter().filter_map(|patched| patched.port(policy(&patched.network.name))).collect();
    PreparedUplinks { uplinks, patches, tunnels, specs: spec.uplinks.clone(), resolved, refused }
}

/// Returns the networks that may not be connected. A VLAN stays with the network that is connected
/// already.
fn refused(
    UplinkNetworks { patched, tunnels }: &UplinkNetworks,
    engine: &Observed,
    resolved: &BTreeMap<UplinkName, ResolvedUplink>,
) -> BTreeMap<NetworkName, Cause> {
    let mut vlans = Vlans::default();
    let is_connected =
        |patched: &&PatchedNetwork| patched.port(PortPolicy::Keep).is_some_and(|port| has_port(&port, engine));
    let (first, then): (Vec<_>, Vec<_>) = patched.iter().partition(is_connected);
    let nic = |uplink: &UplinkName| resolved.get(uplink).and_then(|resolved| resolved.name().zip(resolved.mtu()));
    let of_patched = |patched: &PatchedNetwork| {
        let mtu = patched.network.bridge.mtu;
        let (nic, nic_mtu) = nic(&patched.uplink).filter(|(_, nic_mtu)| u32::from(mtu.get()) > *nic_mtu)?;
        Some(Cause { reason: MTU_TOO_LARGE, message: message::mtu_too_large(mtu, &nic, nic_mtu) })
    };
    let of_tunnels = |tunnels: &DesiredTunnels| {
        let (mtu, overhead) = (tunnels.mtu, tunnels.overhead());
        let is_too_small = |(_, nic_mtu): &(_, u32)| u32::from(mtu.get()) + overhead > *nic_mtu;
        let (nic, nic_mtu) = nic(&tunnels.uplink).filter(is_too_small)?;
        let message = overlay::mtu_too_large(mtu, overhead, &nic, nic_mtu);
        Some(Cause { reason: MTU_TOO_LARGE, message })
    };
    let mut refused = BTreeMap::new();
    let mut check = |network: &NetworkName, taken: Option<Cause>, other: Option<Cause>| {
        refused.extend(taken.or(other).map(|cause| (network.clone(), cause)));
    };
    for patched in first {
        let taken = vlans.claim(&patched.uplink, patched.vlan, Holder::Network(&patched.network.name));
        check(&patched.network.name, taken, of_patched(patched));
    }
    for tunnels in tunnels {
        let taken = vlans.claim(&tunnels.uplink, tunnels.vlan, Holder::Overlays);
        check(&tunnels.network, taken, of_tunnels(tunnels));
    }
    for patched in then {
        let taken = vlans.claim(&patched.uplink, patched.vlan, Holder::Network(&patched.network.name));
        check(&patched.network.name, taken, of_patched(patched));
    }
    refused
}

/// What uses a VLAN of an uplink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder<'a> {
    Network(&'a NetworkName),
    /// The encapsulated packets of all overlays on the uplink.
    Overlays,
}

#[derive(Debug, Default)]
struct Vlans<'a>(BTreeMap<(&'a UplinkName, Option<VlanTag>), Holder<'a>>);

impl<'a> Vlans<'a> {
    /// Claims a VLAN; returns why not if another holder has it.
    fn claim(&mut self, uplink: &'a UplinkName, vlan: Option<VlanTag>, holder: Holder<'a>) -> Option<Cause> {
        let first = *self.0.entry((uplink, vlan)).or_insert(holder);
        let message = match first {
            _ if first == holder => return None,
            Holder::Network(other) => message::vlan_taken(vlan, uplink, other),
            Holder::Overlays => message::vlan_of_overlays(vlan, uplink),
        };
        Some(Cause { reason: VLAN_TAKEN, message })
    }
}
