//! Attachments as users create them, and what agents report of them.

use super::super::super::cache::attachments::{Attachment, FoundPod, ObjectName, Pod};
use super::super::super::cache::parse;
use super::super::super::write::AttachmentWrite;
use super::Cluster;
use serde_json::json;
use std::collections::BTreeMap;
use usnet_crds::conditions::find;
use usnet_crds::{AttachmentReport, AttachmentState};

pub(in super::super) fn name(name: &str) -> ObjectName {
    ObjectName { namespace: "team-a".to_owned(), name: name.to_owned() }
}

impl Cluster {
    /// Creates an attachment in the namespace `team-a`.
    pub(in super::super) fn attachment(&mut self, attachment: &str, pod: &str, network: &str, interface: &str) {
        self.attachment_in("team-a", attachment, pod, network, interface);
    }

    /// Creates an attachment.
    pub(in super::super) fn attachment_in(
        &mut self,
        namespace: &str,
        attachment: &str,
        pod: &str,
        network: &str,
        interface: &str,
    ) {
        self.seconds += 1;
        let (uid, created) = (self.uid(), self.time());
        let object = json!({
            "metadata": {
                "name": attachment, "namespace": namespace, "uid": uid, "generation": 1, "creationTimestamp": created,
            },
            "spec": {"pod": pod, "network": network, "interface": interface},
        });
        let (key, parsed) = parse::attachment(&serde_json::from_str(&object.to_string()).unwrap());
        self.cache.attachments.is_listed = true;
        self.cache.attachments.objects.insert(key, parsed);
    }

    /// A running pod, as it was read.
    pub(in super::super) fn running_pod(&mut self, pod: &str, node: &str) {
        let found = Pod { uid: format!("{pod}-uid"), node: Some(node.to_owned()), ..Pod::default() };
        self.read_pod(pod, FoundPod::Present(found));
    }

    /// The same in another namespace.
    pub(in super::super) fn running_pod_in(&mut self, namespace: &str, pod: &str, node: &str) {
        let found = Pod { uid: format!("{pod}-uid"), node: Some(node.to_owned()), ..Pod::default() };
        let name = ObjectName { namespace: namespace.to_owned(), name: pod.to_owned() };
        self.cache.attachments.pods.insert(name, FoundPod::Present(found));
    }

    pub(in super::super) fn read_pod(&mut self, pod: &str, found: FoundPod) {
        self.cache.attachments.pods.insert(name(pod), found);
    }

    pub(in super::super) fn delete_attachment(&mut self, attachment: &str) {
        self.seconds += 1;
        let now = self.time();
        let found = self.cache.attachments.objects.get_mut(&name(attachment)).unwrap();
        found.deleted = Some(now);
        if !found.has_finalizer() {
            self.cache.attachments.objects.remove(&name(attachment));
        }
    }

    pub(in super::super) fn found_attachment(&self, attachment: &str) -> Option<&Attachment> {
        self.cache.attachments.objects.get(&name(attachment))
    }

    /// The condition Ready as `status reason`, and its message.
    pub(in super::super) fn attachment_ready(&self, attachment: &str) -> (String, String) {
        let status = self.found_attachment(attachment).and_then(|found| found.status.clone()).unwrap_or_default();
        let ready = find(&status.conditions, "Ready").cloned();
        ready.map(|it| (format!("{} {}", it.status, it.reason), it.message)).unwrap_or_default()
    }

    /// The interfaces that a node is requested to have, with their pods.
    pub(in super::super) fn requested(&self, node: &str) -> Vec<String> {
        let requested = &self.cache.states[node].attachments;
        requested.iter().map(|entry| format!("{} {}", entry.pod, entry.interface)).collect()
    }

    pub(super) fn apply_attachment(&mut self, write: AttachmentWrite) {
        match write {
            AttachmentWrite::Node { node, uid, attachments } => {
                let state = self.cache.states.get_mut(&node).unwrap();
                assert_eq!(state.uid, uid);
                state.generation += 1;
                state.attachments = attachments;
            }
            AttachmentWrite::Metadata { name, pod: (_, uid), .. } => self.set_owner(&name, uid),
            AttachmentWrite::RemoveFinalizer { name, .. } => drop(self.cache.attachments.objects.remove(&name)),
            AttachmentWrite::Status { name, status, .. } => {
                self.cache.attachments.objects.get_mut(&name).unwrap().status = Some(*status);
            }
        }
    }

    fn set_owner(&mut self, attachment: &ObjectName, uid: String) {
        let found = self.cache.attachments.objects.get_mut(attachment).unwrap();
        assert!(found.deleted.is_none(), "Kubernetes accepts no new finalizer then");
        (found.finalizer, found.owner) = (Some(0), Some(uid));
    }

    pub(super) fn attachment_reports(&self, node: &str) -> BTreeMap<String, AttachmentReport> {
        let requested = self.cache.states.get(node).map(|state| state.attachments.as_slice()).unwrap_or_default();
        let report = |entry: &usnet_crds::RequestedAttachment| {
            let is_refused = self.refused_interfaces.contains(&entry.interface);
            let report = AttachmentReport {
                uid: entry.uid.clone(),
                state: if is_refused { AttachmentState::Failed } else { AttachmentState::Attached },
                reason: if is_refused { "AttachFailed".to_owned() } else { String::new() },
                message: if is_refused { "no room".to_owned() } else { String::new() },
                mac: Some("02:00:00:00:00:01".parse().unwrap()),
                ips: Vec::new(),
                socket: format!("{}.sock", entry.interface),
                mtu: Some(1500),
            };
            (entry.uid.clone(), report)
        };
        requested.iter().map(report).collect()
    }
}
