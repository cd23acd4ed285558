//! Uplinks as users write them.

use super::super::super::cache::{Uplink, parse};
use super::Cluster;
use serde_json::{Value, json};
use usnet_crds::UserspaceUplinkStatus;
use usnet_crds::conditions::find;

impl Cluster {
    /// Creates an uplink, or changes its spec.
    pub(in super::super) fn uplink(&mut self, name: &str, spec: &Value) {
        self.seconds += 1;
        let old = self.cache.uplinks.remove(name);
        let uid = old.as_ref().map(|old| old.uid.clone()).unwrap_or_else(|| self.uid());
        let generation = old.as_ref().map_or(1, |old| old.generation + 1);
        let object = json!({"metadata": {"name": name, "uid": uid, "generation": generation}, "spec": spec});
        let (_, new) = parse::uplink(&serde_json::from_str(&object.to_string()).unwrap());
        let kept = old.unwrap_or(new.clone());
        self.cache.uplinks.insert(name.to_owned(), Uplink { spec: new.spec, generation, ..kept });
    }

    /// An uplink of Open vSwitch that every node has, with these VLANs.
    pub(in super::super) fn simple_uplink(&mut self, name: &str, vlans: &[&str]) {
        self.uplink(
            name,
            &json!({"engine": "OVS", "nics": [{"device": {"type": "Name", "name": "eth1"}}], "vlans": vlans}),
        );
    }

    /// A network on an uplink.
    pub(in super::super) fn network_on_uplink(&mut self, name: &str, uplink: &str, vlan: Option<u32>) {
        let mut member = json!({"name": uplink});
        if let Some(vlan) = vlan {
            member["vlan"] = vlan.into();
        }
        let topology = json!({"type": "Uplink", "uplink": member});
        self.network(name, &json!({"engine": "OVS", "namespaceSelector": {}, "topology": topology}));
    }

    pub(in super::super) fn delete_uplink(&mut self, name: &str) {
        self.seconds += 1;
        let now = self.time();
        let uplink = self.cache.uplinks.get_mut(name).unwrap();
        uplink.deleted = Some(now);
        uplink.generation += 1;
        if !uplink.has_finalizer() {
            self.cache.uplinks.remove(name);
        }
    }

    pub(super) fn set_uplink_finalizer(&mut self, name: &str, present: bool) {
        self.cache.uplinks.get_mut(name).unwrap().finalizer = present.then_some(0);
        if !present {
            self.cache.uplinks.remove(name);
        }
    }

    /// Sets, or with none removes, what an uplink fails with on a node.
    pub(in super::super) fn set_uplink_failure(&mut self, node: &str, uplink: &str, reason: Option<&'static str>) {
        let key = (node.to_owned(), uplink.to_owned());
        match reason {
            Some(reason) => drop(self.uplink_failures.insert(key, reason)),
            None => drop(self.uplink_failures.remove(&key)),
        }
    }

    pub(in super::super) fn uplink_status(&self, uplink: &str) -> UserspaceUplinkStatus {
        self.cache.uplinks[uplink].status.clone().unwrap()
    }

    /// The condition as `status reason`, and its message.
    pub(in super::super) fn uplink_condition(&self, uplink: &str, kind: &str) -> (String, String) {
        let status = self.uplink_status(uplink);
        let condition = find(&status.conditions, kind);
        let text = condition.map(|condition| format!("{} {}", condition.status, condition.reason));
        (text.unwrap_or_default(), condition.map(|condition| condition.message.clone()).unwrap_or_default())
    }
}
