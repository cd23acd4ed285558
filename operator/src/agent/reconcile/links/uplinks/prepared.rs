//! The uplinks before the engine is changed, and what is judged of them afterwards. Pure.

use crate::agent::model::health::Why;
use crate::agent::model::spec::EngineSpec;
use crate::agent::reconcile::links::health::LinkHealth;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::conditions::message::{overlay, uplink as message};
use usnet_crds::conditions::reason::{MTU_TOO_LARGE, VLAN_TAKEN};
use usnet_crds::uplink::report::{UplinkReport, UplinkState};
use usnet_crds::{EngineKind, NetworkName, NodeUplink, UplinkName, VlanTag};
use usnet_dataplane::desired::{Desired, DesiredPatch};
use usnet_dataplane::engine::OpError;
use usnet_dataplane::links::nics::ResolvedUplink;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::plan::{Op, is_connected};
use usnet_dataplane::port::PortPolicy;
use usnet_dataplane::underlay::{DesiredTunnels, UplinkAddress};
use usnet_dataplane::uplink::{DesiredUplink, PatchPair};

/// The uplinks before the engine is changed.
#[derive(Debug, Clone, Default)]
pub(in crate::agent::reconcile) struct PreparedUplinks {
    /// Those that have networks.
    pub(in crate::agent::reconcile) uplinks: Vec<DesiredUplink>,
    /// Their networks.
    pub(in crate::agent::reconcile) patches: Vec<DesiredPatch>,
    /// The tunnels of networks whose engine encapsulates.
    pub(in crate::agent::reconcile) tunnels: Vec<DesiredTunnels>,
    pub(super) specs: BTreeMap<UplinkName, Arc<NodeUplink>>,
    pub(super) resolved: BTreeMap<UplinkName, ResolvedUplink>,
    /// Networks that may not be connected, and why.
    pub(super) refused: BTreeMap<NetworkName, Why>,
}

/// What uplinks and their networks are judged by.
#[derive(Debug, Clone, Copy)]
pub(in crate::agent::reconcile) struct UplinkEvidence<'a> {
    pub(in crate::agent::reconcile) desired: &'a Desired,
    /// The engine after the last change.
    pub(in crate::agent::reconcile) observed: &'a Observed,
    /// Operations that failed, and why.
    pub(in crate::agent::reconcile) failures: &'a [(Op, OpError)],
}

/// The result for the uplinks of one engine.
#[derive(Debug, Default)]
pub(in crate::agent::reconcile) struct UplinksVerified {
    /// All of them, by name.
    pub(in crate::agent::reconcile) reports: Vec<UplinkReport>,
    /// Networks that are not connected, and why.
    pub(in crate::agent::reconcile) network_health: LinkHealth,
}

impl UplinksVerified {
    /// Whether all of them are as they should be. Not everything that helps them wakes the agent.
    pub(in crate::agent::reconcile) fn are_programmed(&self) -> bool {
        self.reports.iter().all(|report| report.state == UplinkState::Programmed)
    }
}

/// The networks of an engine that need uplinks.
#[derive(Debug)]
pub(super) struct UplinkNetworks {
    pub(super) pairs: Vec<PatchPair>,
    pub(super) tunnels: Vec<DesiredTunnels>,
}

impl UplinkNetworks {
    pub(super) fn of(spec: &EngineSpec) -> Self {
        Self {
            pairs: spec.networks.iter().filter_map(|network| PatchPair::of(network)).collect(),
            tunnels: spec.networks.iter().filter_map(|network| DesiredTunnels::of(network)).collect(),
        }
    }

    /// The uplinks, and the VLANs that they need.
    pub(super) fn vlans(&self) -> impl Iterator<Item = (&UplinkName, Option<VlanTag>)> {
        let of_pairs = self.pairs.iter().map(|pair| (&pair.uplink, pair.vlan));
        of_pairs.chain(self.tunnels.iter().map(|tunnels| (&tunnels.uplink, tunnels.vlan)))
    }
}

/// Which uplinks have networks, and which networks may be connected.
pub(super) fn prepared(
    spec: &EngineSpec,
    networks: UplinkNetworks,
    engine: &Observed,
    resolved: BTreeMap<UplinkName, ResolvedUplink>,
) -> PreparedUplinks {
    let refused = refused(spec, &networks, engine, &resolved);
    let has_vlan = |network: &NetworkName| refused.get(network).is_none_or(|why| why.reason != VLAN_TAKEN);
    let UplinkNetworks { pairs, mut tunnels } = networks;
    let mut vlans: BTreeMap<&UplinkName, Vec<Option<VlanTag>>> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| has_vlan(&pair.network)) {
        vlans.entry(&pair.uplink).or_default().push(pair.vlan);
    }
    let mut addresses: BTreeMap<&UplinkName, UplinkAddress> = BTreeMap::new();
    for tunnels in tunnels.iter().filter(|tunnels| has_vlan(&tunnels.network)) {
        vlans.entry(&tunnels.uplink).or_default().push(tunnels.vlan);
        // VPP has its address on an interface with a MAC address of its own.
        let mac = resolved.get(&tunnels.uplink).filter(|_| spec.engine == EngineKind::OpenVswitch);
        let mac = mac.and_then(|resolved| resolved.mac);
        let address = UplinkAddress { address: tunnels.local, vlan: tunnels.vlan, mac };
        addresses.entry(&tunnels.uplink).or_insert(address);
    }
    let uplink = |(name, vlans): (&UplinkName, Vec<Option<VlanTag>>)| {
        let nic = resolved.get(name).and_then(ResolvedUplink::nic).cloned();
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
    let patches = pairs.into_iter().map(|pair| DesiredPatch { policy: policy(&pair.network), pair }).collect();
    PreparedUplinks { uplinks, patches, tunnels, specs: spec.uplinks.clone(), resolved, refused }
}

/// Networks that may not be connected. A VLAN stays with the network that is connected in it.
fn refused(
    spec: &EngineSpec,
    UplinkNetworks { pairs, tunnels }: &UplinkNetworks,
    engine: &Observed,
    resolved: &BTreeMap<UplinkName, ResolvedUplink>,
) -> BTreeMap<NetworkName, Why> {
    let mut vlans = Vlans::default();
    let (first, then): (Vec<&PatchPair>, Vec<&PatchPair>) = pairs.iter().partition(|pair| is_connected(pair, engine));
    let nic =
        |uplink: &UplinkName| resolved.get(uplink).and_then(|resolved| resolved.device.as_ref().zip(resolved.mtu));
    let of_pair = |pair: &PatchPair| {
        let mtu = spec.network(pair.network.as_str()).map(|network| network.bridge.mtu)?;
        let (nic, nic_mtu) = nic(&pair.uplink).filter(|(_, nic_mtu)| u32::from(mtu.get()) > *nic_mtu)?;
        Some(Why { reason: MTU_TOO_LARGE, message: message::mtu_too_large(mtu, &nic.device, nic_mtu) })
    };
    let of_tunnels = |tunnels: &DesiredTunnels| {
        let (mtu, overhead) = (tunnels.mtu, tunnels.overhead());
        let is_too_small = |(_, nic_mtu): &(_, u32)| u32::from(mtu.get()) + overhead > *nic_mtu;
        let (nic, nic_mtu) = nic(&tunnels.uplink).filter(is_too_small)?;
        let message = overlay::mtu_too_large(mtu, overhead, nic.device.as_str(), nic_mtu);
        Some(Why { reason: MTU_TOO_LARGE, message })
    };
    let mut refused = BTreeMap::new();
    let mut check = |network: &NetworkName, taken: Option<Why>, other: Option<Why>| {
        refused.extend(taken.or(other).map(|why| (network.clone(), why)));
    };
    for pair in first {
        check(&pair.network, vlans.claim(&pair.uplink, pair.vlan, Holder::Network(&pair.network)), of_pair(pair));
    }
    for tunnels in tunnels {
        let taken = vlans.claim(&tunnels.uplink, tunnels.vlan, Holder::Overlays);
        check(&tunnels.network, taken, of_tunnels(tunnels));
    }
    for pair in then {
        check(&pair.network, vlans.claim(&pair.uplink, pair.vlan, Holder::Network(&pair.network)), of_pair(pair));
    }
    refused
}

/// What has a VLAN of an uplink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder<'a> {
    Network(&'a NetworkName),
    /// The encapsulated packets of all overlays on the uplink.
    Overlays,
}

#[derive(Debug, Default)]
struct Vlans<'a>(BTreeMap<(&'a UplinkName, Option<VlanTag>), Holder<'a>>);

impl<'a> Vlans<'a> {
    /// Why the holder does not get the VLAN, if something else has it.
    fn claim(&mut self, uplink: &'a UplinkName, vlan: Option<VlanTag>, holder: Holder<'a>) -> Option<Why> {
        let first = *self.0.entry((uplink, vlan)).or_insert(holder);
        let message = match first {
            _ if first == holder => return None,
            Holder::Network(other) => message::vlan_taken(vlan, uplink, other),
            Holder::Overlays => message::vlan_of_overlays(vlan, uplink),
        };
        Some(Why { reason: VLAN_TAKEN, message })
    }
}
