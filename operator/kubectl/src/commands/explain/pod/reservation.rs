//! Reservations for the pod that are refused: it does not have what they fix. Pure.

use crate::commands::explain::finding::Finding;
use crate::commands::explain::remedy::remedy;
use crate::model::{Pod, Snapshot};
use usnet_controller::cache::attachments::ObjectName;
use usnet_controller::cache::reservations::Reservation;
use usnet_crds::conditions::{READY, find};

pub(super) fn refused(snapshot: &Snapshot, pod: &Pod) -> Vec<Finding> {
    let is_for_pod = |name: &ObjectName, reservation: &Reservation| {
        let has_pod = reservation.spec.as_ref().is_ok_and(|valid| valid.pods.place_of(&pod.name).is_some());
        has_pod && name.namespace == pod.namespace
    };
    let all = snapshot.cache.reservations.objects.iter();
    let of_pod = all.filter(|(name, reservation)| is_for_pod(name, reservation));
    of_pod.filter_map(|(name, reservation)| finding(name, reservation)).collect()
}

fn finding(name: &ObjectName, reservation: &Reservation) -> Option<Finding> {
    let ready = find(&reservation.status.as_ref()?.conditions, READY).filter(|ready| ready.status == "False")?;
    let why = format!("UserspaceReservation {} is refused: {}", name.name, ready.message);
    let network = format!("network {}", reservation.network()?);
    Some(Finding::new(&ready.reason, why, remedy(&ready.reason)).warning().of(network))
}

#[cfg(test)]
mod tests {
    use crate::commands::explain::pod::report;
    use crate::commands::explain::text::text;
    use crate::model::testing::{add, add_network, attached, condition, network_object, pod_object, snapshot};
    use serde_json::json;
    use usnet_controller::cache::parse;

    #[test]
    fn a_refused_reservation_of_the_pod_is_named_and_others_are_not() {
        let mut snapshot = snapshot();
        add_network(&mut snapshot, &network_object("blue", &json!({})));
        add(&mut snapshot, &pod_object("app-3", &attached()));
        for (name, pods, status) in
            [("mine", "app-{0..9}", "False"), ("fine", "app-3", "True"), ("other", "db", "False")]
        {
            let object = json!({
                "metadata": {"namespace": "web", "name": name}, "spec": {"network": "blue", "pod": pods},
                "status": {"conditions": [condition("Ready", status, "NotAllowed", &format!("about {name}"))]},
            });
            let object = serde_json::from_str(&object.to_string()).unwrap();
            snapshot.cache.reservations.objects.extend([parse::reservation(&object)]);
        }
        let found = report(&snapshot, &snapshot.pods[0]);
        let shown = text(&found);
        assert!(found.is_ok() && shown.contains("UserspaceReservation mine is refused: about mine"), "{shown}");
        assert!(!shown.contains("about fine") && !shown.contains("about other"), "{shown}");
    }
}
