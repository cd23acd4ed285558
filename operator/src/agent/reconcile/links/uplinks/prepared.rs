//! The uplinks before the engine is changed, and what is judged of them afterwards. Pure.

use crate::agent::model::health::Why;
use crate::agent::model::spec::EngineSpec;
use crate::agent::reconcile::links::health::LinkHealth;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::conditions::message::uplink as message;
use usnet_crds::conditions::reason::{MTU_TOO_LARGE, VLAN_TAKEN};
use usnet_crds::uplink::report::{UplinkReport, UplinkState};
use usnet_crds::{NetworkName, NodeUplink, UplinkName, VlanTag};
use usnet_dataplane::desired::{Desired, DesiredPatch, PortPolicy};
use usnet_dataplane::engine::OpError;
use usnet_dataplane::links::nics::ResolvedUplink;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::plan::{Op, is_connected};
use usnet_dataplane::uplink::{DesiredUplink, PatchPair};

/// The uplinks before the engine is changed.
#[derive(Debug, Clone, Default)]
pub(in crate::agent::reconcile) struct PreparedUplinks {
    /// Those that have networks.
    pub(in crate::agent::reconcile) uplinks: Vec<DesiredUplink>,
    /// Their networks.
    pub(in crate::agent::reconcile) patches: Vec<DesiredPatch>,
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

/// Which uplinks have networks, and which networks may be connected.
pub(super) fn prepared(
    spec: &EngineSpec,
    pairs: Vec<PatchPair>,
    engine: &Observed,
    resolved: BTreeMap<UplinkName, ResolvedUplink>,
) -> PreparedUplinks {
    let refused = refused(spec, &pairs, engine, &resolved);
    let has_vlan = |pair: &&PatchPair| refused.get(&pair.network).is_none_or(|why| why.reason != VLAN_TAKEN);
    let mut vlans: BTreeMap<&UplinkName, Vec<Option<VlanTag>>> = BTreeMap::new();
    for pair in pairs.iter().filter(has_vlan) {
        vlans.entry(&pair.uplink).or_default().push(pair.vlan);
    }
    let uplink = |(name, vlans): (&UplinkName, Vec<Option<VlanTag>>)| {
        let nic = resolved.get(name).and_then(ResolvedUplink::nic).cloned();
        DesiredUplink::of(spec.engine, name, nic, vlans)
    };
    let uplinks = vlans.into_iter().filter(|(name, _)| spec.uplinks.contains_key(*name)).filter_map(uplink).collect();
    let policy = |pair: &PatchPair| match refused.contains_key(&pair.network) {
        true => PortPolicy::Keep,
        false => PortPolicy::Ensure,
    };
    let patches = pairs.into_iter().map(|pair| DesiredPatch { policy: policy(&pair), pair }).collect();
    PreparedUplinks { uplinks, patches, specs: spec.uplinks.clone(), resolved, refused }
}

/// Networks that may not be connected. A VLAN stays with the network that is connected in it.
fn refused(
    spec: &EngineSpec,
    pairs: &[PatchPair],
    engine: &Observed,
    resolved: &BTreeMap<UplinkName, ResolvedUplink>,
) -> BTreeMap<NetworkName, Why> {
    let (first, then): (Vec<&PatchPair>, Vec<&PatchPair>) = pairs.iter().partition(|pair| is_connected(pair, engine));
    let mut holders: BTreeMap<(&UplinkName, Option<VlanTag>), &NetworkName> = BTreeMap::new();
    let mut refused = BTreeMap::new();
    for pair in first.into_iter().chain(then) {
        let holder = *holders.entry((&pair.uplink, pair.vlan)).or_insert(&pair.network);
        let nic = resolved.get(&pair.uplink).and_then(|resolved| resolved.device.as_ref().zip(resolved.mtu));
        let mtu = spec.network(pair.network.as_str()).map(|network| network.bridge.mtu);
        let why = match (nic, mtu) {
            _ if holder != &pair.network => {
                Why { reason: VLAN_TAKEN, message: message::vlan_taken(pair.vlan, &pair.uplink, holder) }
            }
            (Some((nic, nic_mtu)), Some(mtu)) if u32::from(mtu.get()) > nic_mtu => {
                Why { reason: MTU_TOO_LARGE, message: message::mtu_too_large(mtu, &nic.device, nic_mtu) }
            }
            _ => continue,
        };
        refused.insert(pair.network.clone(), why);
    }
    refused
}
