//! Reservations as users create them.

use super::super::super::cache::attachments::ObjectName;
use super::super::super::cache::parse;
use super::super::super::cache::reservations::Reservation;
use super::Cluster;
use serde_json::{Value, json};
use usnet_crds::UserspaceReservationStatus;
use usnet_crds::conditions::find;

fn name(namespace: &str, name: &str) -> ObjectName {
    ObjectName { namespace: namespace.to_owned(), name: name.to_owned() }
}

impl Cluster {
    /// Creates a reservation, or changes its spec.
    pub(in super::super) fn reservation(&mut self, namespace: &str, reservation: &str, spec: &Value) {
        self.seconds += 1;
        let key = name(namespace, reservation);
        let old = self.cache.reservations.objects.remove(&key);
        let uid = old.as_ref().map(|old| old.uid.clone()).unwrap_or_else(|| self.uid());
        let generation = old.as_ref().map_or(1, |old| old.generation + 1);
        let created = self.time();
        let object = json!({
            "metadata": {
                "name": reservation, "namespace": namespace, "uid": uid, "generation": generation,
                "creationTimestamp": created,
            },
            "spec": spec,
        });
        let (_, new) = parse::reservation(&serde_json::from_str(&object.to_string()).unwrap());
        let kept = old.unwrap_or_else(|| new.clone());
        self.cache.reservations.objects.insert(key, Reservation { spec: new.spec, generation, ..kept });
    }

    pub(in super::super) fn delete_reservation(&mut self, namespace: &str, reservation: &str) {
        self.cache.reservations.objects.remove(&name(namespace, reservation));
    }

    pub(super) fn set_reservation_status(&mut self, name: &ObjectName, status: UserspaceReservationStatus) {
        self.cache.reservations.objects.get_mut(name).unwrap().status = Some(status);
    }

    /// The condition Ready as `status reason`, and its message.
    pub(in super::super) fn reservation_ready(&self, namespace: &str, reservation: &str) -> (String, String) {
        let found = &self.cache.reservations.objects[&name(namespace, reservation)];
        let status = found.status.clone().unwrap_or_default();
        assert!(status.observed_generation.is_none() || status.observed_generation == Some(found.generation));
        let ready = find(&status.conditions, "Ready").cloned();
        ready.map(|it| (format!("{} {}", it.status, it.reason), it.message)).unwrap_or_default()
    }

    /// What the compiled network fixes for pods: `namespace/pods` and the first address.
    pub(in super::super) fn fixed(&self, network: &str) -> Vec<String> {
        let attachments = &self.compiled[network].attachments;
        let text = |ips: &[usnet_crds::InterfaceAddress]| ips.first().map(ToString::to_string).unwrap_or_default();
        attachments.iter().map(|it| format!("{}/{} {}", it.namespace, it.pod, text(&it.ips))).collect()
    }
}
