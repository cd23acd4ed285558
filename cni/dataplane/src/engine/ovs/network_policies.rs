//! The policies of a network, as far as they are known on a node. Pure.

use crate::engine::policy_subjects::PortOwner;
use crate::model::attachment::AttachmentId;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::KnownPods;

/// The policies of a network, as far as they are known on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPolicies {
    /// The zone of connections, which no other network of the node has.
    pub zone: u16,
    pub policies: Arc<[Policy]>,
    /// The pods of the network, of this node and of others, that selectors of policies concern.
    pub pods: Arc<KnownPods>,
    /// The pods of ports. The port of an attachment that is not here is closed.
    pub owners: BTreeMap<AttachmentId, PortOwner>,
}
