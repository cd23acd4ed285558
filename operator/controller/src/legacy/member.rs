//! A NAD that names a bridge.

use crate::cache::nads::UserNad;
use crate::cache::{Cache, NadKey};
use kube::core::SelectorExt;
use usnet_crds::EngineKind;
use usnet_crds::legacy::{Legacy, SettingMismatch};
use usnet_crds::validate::ValidNetwork;

/// A NAD of Intel's userspace CNI.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member<'a> {
    pub(super) key: &'a NadKey,
    pub(super) nad: &'a UserNad,
    pub(super) legacy: &'a Legacy,
}

impl Member<'_> {
    /// The settings in which the NAD differs from a network.
    pub(super) fn mismatches(&self, engine: EngineKind, network: &ValidNetwork) -> Vec<SettingMismatch> {
        let gateway = network.gateway.as_ref();
        self.legacy.settings.mismatches(engine, &network.bridge, &network.port, gateway)
    }
}

/// Whether pods of the NAD's namespace may attach.
pub(super) fn admits(cache: &Cache, network: &ValidNetwork, key: &NadKey) -> bool {
    cache.namespaces.get(&key.namespace).is_some_and(|namespace| network.namespaces.matches(&namespace.labels))
}
