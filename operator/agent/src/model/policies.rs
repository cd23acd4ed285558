//! The policies of networks, as the API server or a copy on disk has them.

use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::policy::Policy;
use usnet_crds::{CompiledPolicySpec, NetworkName};

/// All policies as the API server has them; none while they were not read.
pub type CompiledPolicies = Option<Arc<Vec<CompiledPolicySpec>>>;

/// The policies of each network that has any.
pub(crate) type PoliciesByNetwork = BTreeMap<NetworkName, Arc<[Policy]>>;

/// All policies; none while they are not known, which is not the same as no policies.
pub(crate) type KnownPolicies = Option<Arc<PoliciesByNetwork>>;

/// The policies of each network that any of these objects names.
pub(crate) fn by_network<'a>(objects: impl IntoIterator<Item = &'a CompiledPolicySpec>) -> PoliciesByNetwork {
    let mut all: BTreeMap<NetworkName, Vec<Policy>> = BTreeMap::new();
    for object in objects {
        for network in &object.networks {
            all.entry(network.clone()).or_default().push(object.policy());
        }
    }
    all.into_iter().map(|(network, policies)| (network, policies.into())).collect()
}
