//! `UserspaceAttachment`s, and the pods that they name. Pods are not watched: each is read when an
//! attachment needs it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::BTreeMap;
use std::fmt;
use usnet_crds::UserspaceAttachmentStatus;
use usnet_crds::attachment::validate::ValidAttachment;

/// What identifies a namespaced object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    pub namespace: String,
    pub name: String,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attachments {
    pub objects: BTreeMap<ObjectName, Attachment>,
    /// The pods that were read for them.
    pub pods: BTreeMap<ObjectName, FoundPod>,
    /// Whether the attachments were listed. Before that none is known, and they may be disabled.
    pub is_listed: bool,
}

impl Attachments {
    /// The attachments that name this pod.
    pub fn of_pod<'a>(&'a self, pod: &'a ObjectName) -> impl Iterator<Item = (&'a ObjectName, &'a Attachment)> {
        let first = ObjectName { namespace: pod.namespace.clone(), name: String::new() };
        let of_namespace = self.objects.range(first..).take_while(|(name, _)| name.namespace == pod.namespace);
        of_namespace.filter(|(_, attachment)| attachment.names_pod(&pod.name))
    }

    /// Forgets the pods on this node, so that they are read again: attachments have waited for the
    /// node, and pods may be gone meanwhile.
    pub fn forget_pods_of_node(&mut self, node: &str) {
        let is_on_node = |pod: &FoundPod| matches!(pod, FoundPod::Present(Pod { node: Some(own), .. }) if own == node);
        self.pods.retain(|_, pod| !is_on_node(pod));
    }

    /// The attachments on this node.
    pub fn of_node<'a>(&'a self, node: &'a str) -> impl Iterator<Item = (&'a ObjectName, &'a Attachment)> {
        self.objects.iter().filter(move |(_, attachment)| attachment.node() == Some(node))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Attachment {
    pub uid: String,
    pub generation: i64,
    pub created: Option<Time>,
    /// When its deletion was requested; none while it was not.
    pub deleted: Option<Time>,
    /// The index of usnet's finalizer, if it is set.
    pub finalizer: Option<usize>,
    /// The uid of the pod that owns the attachment.
    pub owner: Option<String>,
    pub spec: Result<ValidAttachment, String>,
    /// The status that was written last.
    pub status: Option<UserspaceAttachmentStatus>,
}

impl Attachment {
    /// What the other attachments of the same pod and its node depend on.
    pub(crate) fn claim(&self) -> impl PartialEq + '_ {
        let prepared = (self.has_finalizer(), &self.owner);
        (&self.uid, &self.created, self.is_deleting(), prepared, &self.spec, self.node())
    }

    pub const fn is_deleting(&self) -> bool {
        self.deleted.is_some()
    }

    pub const fn has_finalizer(&self) -> bool {
        self.finalizer.is_some()
    }

    /// The pod that the attachment names; none if its spec is not valid.
    pub fn pod(&self, name: &ObjectName) -> Option<ObjectName> {
        let valid = self.spec.as_ref().ok()?;
        Some(ObjectName { namespace: name.namespace.clone(), name: valid.pod.to_string() })
    }

    fn names_pod(&self, pod: &str) -> bool {
        self.spec.as_ref().is_ok_and(|valid| valid.pod.as_str() == pod)
    }

    /// The node in the status. It is written before the node is told, and stays.
    pub fn node(&self) -> Option<&str> {
        self.status.as_ref().map(|status| status.node.as_str()).filter(|node| !node.is_empty())
    }
}

/// A pod as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundPod {
    Absent,
    Present(Pod),
}

/// The part of a pod that attachments need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    pub uid: String,
    /// None before the pod is scheduled.
    pub node: Option<String>,
    /// Whether the pod has ended or is being deleted.
    pub has_ended: bool,
    /// Whether the pod has the network of its node.
    pub has_host_network: bool,
}

impl FoundPod {
    /// Whether interfaces can be attached to the pod. If not, it is read again later.
    pub const fn is_usable(&self) -> bool {
        match self {
            Self::Absent => false,
            Self::Present(pod) => pod.node.is_some() && !pod.has_ended && !pod.has_host_network,
        }
    }
}
