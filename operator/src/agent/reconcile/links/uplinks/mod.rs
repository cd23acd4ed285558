//! The uplinks of one engine: which NIC each has, and which networks are connected to it (IO).

mod health;
mod prepared;

pub(in super::super) use prepared::{PreparedUplinks, UplinkEvidence, UplinksVerified};

use self::prepared::prepared;
use super::context::LinkContext;
use super::kernel::with_kernel;
use crate::agent::model::spec::EngineSpec;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use usnet_crds::{NodeUplink, UplinkName};
use usnet_dataplane::links::LinkError;
use usnet_dataplane::links::nics::{JoinedNic, Nics, ObservedNics, ResolvedUplink, UplinkRequest, resolve};
use usnet_dataplane::observed::{Observed, ObservedPort};
use usnet_dataplane::owner::Owner;
use usnet_dataplane::port::PortName;
use usnet_dataplane::uplink::PatchPair;

/// The uplinks of one engine.
#[derive(Debug, Default)]
pub(super) struct EngineUplinks {
    specs: BTreeMap<UplinkName, Arc<NodeUplink>>,
    /// Those with networks, and whether one of these has no VLAN.
    used: BTreeMap<UplinkName, bool>,
    joined: BTreeMap<UplinkName, JoinedNic>,
    /// The NICs when they were last observed.
    last: BTreeMap<UplinkName, ResolvedUplink>,
    programmed: BTreeSet<UplinkName>,
}

impl EngineUplinks {
    /// Whether the NICs differ from those that were last observed. Without uplinks nothing is read.
    pub(super) async fn have_changed(&self, network_namespace: Option<PathBuf>) -> bool {
        if self.specs.is_empty() {
            return false;
        }
        let observed = observe(network_namespace).await;
        observed.map_or(true, |observed| self.resolve(&observed) != self.last)
    }

    /// Those that were as they should be after the last reconcile.
    pub(super) fn programmed(&self) -> BTreeSet<UplinkName> {
        self.programmed.clone()
    }

    /// Observes the NICs, and sets up those that networks need.
    ///
    /// # Errors
    /// They cannot be read, and an uplink needs one.
    pub(super) async fn prepare(
        &mut self,
        network_namespace: Option<PathBuf>,
        (spec, engine): (&EngineSpec, &Observed),
        context: LinkContext<'_>,
    ) -> Result<PreparedUplinks, LinkError> {
        self.specs.clone_from(&spec.uplinks);
        if self.specs.is_empty() {
            self.last.clear();
            return Ok(PreparedUplinks::default());
        }
        self.joined = joined(engine);
        let pairs: Vec<PatchPair> = spec.networks.iter().filter_map(|network| PatchPair::of(network)).collect();
        self.used.clear();
        for pair in &pairs {
            *self.used.entry(pair.uplink.clone()).or_default() |= pair.vlan.is_none();
        }
        let mut resolved = self.resolve(&observe(network_namespace.clone()).await?);
        let down = resolved.iter().filter(|(_, resolved)| resolved.must_set_up);
        let down: Vec<_> = down.filter_map(|(uplink, resolved)| Some((uplink, resolved.nic()?))).collect();
        for (uplink, nic) in &down {
            tracing::info!(%uplink, nic = %nic.device, "setting the NIC up");
            if self.programmed.contains(*uplink) {
                context.metrics.repair(spec.engine);
            }
        }
        if !down.is_empty() {
            let indexes = down.iter().map(|(_, nic)| nic.index).collect();
            resolved = self.resolve(&set_up(network_namespace, indexes).await?);
        }
        self.last.clone_from(&resolved);
        Ok(prepared(spec, pairs, engine, resolved))
    }

    fn resolve(&self, observed: &ObservedNics) -> BTreeMap<UplinkName, ResolvedUplink> {
        let requests = self.specs.values().map(|uplink| UplinkRequest {
            uplink,
            is_used: self.used.contains_key(&uplink.name),
            is_untagged: self.used.get(&uplink.name).is_some_and(|is_untagged| *is_untagged),
            joined: self.joined.get(&uplink.name),
        });
        resolve(&requests.collect::<Vec<_>>(), observed)
    }

    /// Judges the uplinks and their networks.
    pub(super) fn verify(&mut self, prepared: &PreparedUplinks, evidence: UplinkEvidence<'_>) -> UplinksVerified {
        let health = health::of_uplinks(prepared, evidence);
        let programmed = health.iter().filter(|(_, health)| health.why.is_none() && !health.is_pending);
        self.programmed = programmed.map(|(uplink, _)| uplink.clone()).collect();
        UplinksVerified {
            reports: prepared.specs.values().map(|uplink| health::report(uplink, prepared, &health)).collect(),
            network_health: health::of_networks(prepared, &health, evidence),
        }
    }
}

/// The NICs that an engine has for uplinks.
fn joined(engine: &Observed) -> BTreeMap<UplinkName, JoinedNic> {
    let ports = engine.bridges.values().filter(|bridge| bridge.uplink.is_some()).flat_map(|bridge| &bridge.ports);
    let nic = |(name, port): (&PortName, &ObservedPort)| match &port.owner.as_ref()?.owner {
        Owner::Nic(nic) => Some((nic.uplink.clone(), JoinedNic { port: name.clone(), index: nic.index })),
        _ => None,
    };
    ports.filter_map(nic).collect()
}

async fn observe(network_namespace: Option<PathBuf>) -> Result<ObservedNics, LinkError> {
    with_kernel(network_namespace, |kernel| kernel.observe_nics()).await
}

/// Sets NICs up, and observes all of them.
async fn set_up(network_namespace: Option<PathBuf>, indexes: Vec<u32>) -> Result<ObservedNics, LinkError> {
    with_kernel(network_namespace, move |kernel| {
        for index in indexes {
            // What is not up afterwards is observed and reported.
            let _result = kernel.set_nic_up(index);
        }
        kernel.observe_nics()
    })
    .await
}
