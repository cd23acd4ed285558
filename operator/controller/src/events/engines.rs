//! Engines whose process ended: an event on the node state, once for each end that an agent
//! reports. It names the pods whose programs had connected last. Pure.

use super::record::{EventRecord, EventType};
use crate::cache::NodeState;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use usnet_crds::UserspaceNodeState;
use usnet_crds::conditions::reason::ENGINE_ENDED;

/// The events for the ends that `now` reports and `before` did not. Without an earlier report
/// nothing is new: an earlier leader has seen it.
pub fn engine_ends(node: &str, before: Option<&NodeState>, now: Option<&NodeState>) -> Vec<EventRecord> {
    let (Some(before), Some(now)) = (before.and_then(|state| state.status.as_ref()), now) else { return Vec::new() };
    let ends = now.status.iter().flat_map(|status| &status.engine_ends);
    let new = ends.filter(|end| !before.engine_ends.contains(end));
    new.map(|end| EventRecord {
        regarding: ObjectReference {
            api_version: Some(UserspaceNodeState::api_version(&()).into_owned()),
            kind: Some(UserspaceNodeState::kind(&()).into_owned()),
            name: Some(node.to_owned()),
            uid: Some(now.uid.clone()),
            ..ObjectReference::default()
        },
        kind: EventType::Warning,
        reason: ENGINE_ENDED.to_owned(),
        message: end.message.clone(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::NodeStatus;
    use usnet_crds::EngineKind;
    use usnet_crds::node_state::EngineEnd;

    fn state(numbers: &[(EngineKind, i64)]) -> NodeState {
        let end = |(engine, number): &(EngineKind, i64)| EngineEnd {
            engine: *engine,
            number: *number,
            message: format!("{engine} ended for the {number}. time: default/c1"),
        };
        let status = NodeStatus { engine_ends: numbers.iter().map(end).collect(), ..NodeStatus::default() };
        NodeState { uid: "uid-1".into(), status: Some(status), ..NodeState::default() }
    }

    #[test]
    fn each_end_of_an_engine_is_one_event_of_its_node_state() {
        let (running, ended) = (state(&[]), state(&[(EngineKind::Vpp, 1)]));
        let events = engine_ends("node-a", Some(&running), Some(&ended));
        let [event] = events.as_slice() else { panic!("{events:?}") };
        let regarding = &event.regarding;
        assert_eq!(
            (regarding.kind.as_deref(), regarding.name.as_deref()),
            (Some("UserspaceNodeState"), Some("node-a"))
        );
        assert_eq!((regarding.uid.as_deref(), event.reason.as_str()), (Some("uid-1"), "EngineEnded"));
        assert_eq!(event.message, "VPP ended for the 1. time: default/c1");

        let both = state(&[(EngineKind::OpenVswitch, 1), (EngineKind::Vpp, 2)]);
        assert_eq!(engine_ends("node-a", Some(&ended), Some(&both)).len(), 2);
        assert_eq!(engine_ends("node-a", Some(&both), Some(&both)), [], "it is known");
        assert_eq!(engine_ends("node-a", Some(&both), Some(&running)), [], "a new agent has seen none");
        assert_eq!(engine_ends("node-a", None, Some(&ended)), [], "an earlier leader has reported it");
        assert_eq!(engine_ends("node-a", Some(&ended), None), []);
    }
}
