//! Pods whose engine is not connected, or whose network is being removed from their node: an event
//! on the pod, once when an agent begins to report it. Pure.

use super::record::{EventRecord, EventType, pod_reference};
use crate::cache::NodeStatus;
use usnet_crds::NetworkName;
use usnet_crds::conditions::message::node as message;
use usnet_crds::conditions::reason::{ENGINE_UNREACHABLE, NETWORK_DRAINING};
use usnet_crds::node_state::AffectedPod;

/// The events for the pods that `now` names and `before` did not. Without an earlier report nothing
/// is new: an earlier leader has seen it.
pub fn affected_pods(node: &str, before: Option<&NodeStatus>, now: Option<&NodeStatus>) -> Vec<EventRecord> {
    let (Some(before), Some(now)) = (before, now) else { return Vec::new() };
    let new = now.affected_pods.iter().filter(|pod| !before.affected_pods.contains(pod));
    new.filter_map(|pod| record(node, pod)).collect()
}

/// The event; none for a reason that this release does not know, because the token of an agent can
/// be stolen.
fn record(node: &str, pod: &AffectedPod) -> Option<EventRecord> {
    let network: NetworkName = pod.network.parse().ok()?;
    let message = match pod.reason.as_str() {
        ENGINE_UNREACHABLE => message::pod_without_engine(pod.engine, node, &network),
        NETWORK_DRAINING => message::pod_on_draining_network(&network, node),
        _ => return None,
    };
    let regarding = pod_reference(&pod.pod, &pod.uid)?;
    Some(EventRecord { regarding, kind: EventType::Warning, reason: pod.reason.clone(), message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::EngineKind;

    fn pod(name: &str, reason: &str) -> AffectedPod {
        AffectedPod {
            pod: name.to_owned(),
            uid: format!("uid of {name}"),
            network: "blue".to_owned(),
            engine: EngineKind::Vpp,
            reason: reason.to_owned(),
        }
    }

    fn status(pods: &[AffectedPod]) -> NodeStatus {
        NodeStatus { affected_pods: pods.to_vec(), ..NodeStatus::default() }
    }

    #[test]
    fn a_pod_hears_once_of_each_outage_of_its_engine() {
        let (one, other) = (pod("db/mysql-0", ENGINE_UNREACHABLE), pod("web/nginx", ENGINE_UNREACHABLE));
        let (up, first, both) = (status(&[]), status(std::slice::from_ref(&other)), status(&[one, other]));
        let events = affected_pods("node-a", Some(&first), Some(&both));
        let [event] = events.as_slice() else { panic!("{events:?}") };
        let regarding = &event.regarding;
        assert_eq!((regarding.namespace.as_deref(), regarding.name.as_deref()), (Some("db"), Some("mysql-0")));
        assert_eq!((regarding.kind.as_deref(), regarding.uid.as_deref()), (Some("Pod"), Some("uid of db/mysql-0")));
        assert_eq!(event.reason, "EngineUnreachable");
        assert!(event.message.starts_with("VPP on node node-a cannot be reached: "), "{}", event.message);
        assert_eq!(affected_pods("node-a", Some(&both), Some(&both)), []);
        assert_eq!(affected_pods("node-a", Some(&both), Some(&up)), [], "it is over");
        assert_eq!(affected_pods("node-a", Some(&up), Some(&both)).len(), 2, "the next outage");
        assert_eq!(affected_pods("node-a", None, Some(&both)), [], "an earlier leader has reported it");
    }

    #[test]
    fn a_pod_whose_network_is_removed_hears_what_to_do() {
        let (during_outage, draining) = (pod("db/mysql-0", ENGINE_UNREACHABLE), pod("db/mysql-0", NETWORK_DRAINING));
        let events =
            affected_pods("node-a", Some(&status(std::slice::from_ref(&during_outage))), Some(&status(&[draining])));
        let [event] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!((event.reason.as_str(), event.kind), ("NetworkDraining", EventType::Warning));
        assert!(
            event.message.starts_with("network blue was deleted or no longer selects node node-a: "),
            "{}",
            event.message
        );
        assert!(event.message.contains("delete the pod"), "{}", event.message);
    }

    #[test]
    fn what_is_not_known_is_no_event() {
        let nowhere = AffectedPod { network: "no network".to_owned(), ..pod("web/nginx", NETWORK_DRAINING) };
        let now = status(&[pod("web/nginx", "Anything"), pod("no-namespace", NETWORK_DRAINING), nowhere]);
        assert_eq!(affected_pods("node-a", Some(&status(&[])), Some(&now)), []);
    }
}
