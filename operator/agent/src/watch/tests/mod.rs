mod policies;

use super::collect::Collector;
use super::follow::{PodSliceChannels, PolicyChannels, Subscribers, follow};
use super::list_watch::{Event, Object};
use super::node_state::{OwnState, StoredStatus};
use super::uplinks::Uplinks;
use crate::model::input::{Input, NodeAddresses};
use crate::testing::name;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::sync::Arc;
use tokio::sync::watch::{self, channel};
use usnet_common::testing::api_server::{Answer, ApiServer};
use usnet_crds::{CompiledNetwork, NetworkName, UserspaceNodeStateSpec, UserspaceNodeStateStatus, UserspaceUplink};

fn compiled(name: &str, version: u64, mtu: i64) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1",
        "kind": "CompiledNetwork",
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": version.to_string()},
        "spec": {
            "generation": 1,
            "engine": "OVS",
            "bridge": {"name": format!("br-{name}"), "mtu": mtu},
            "port": {"type": "VhostUser", "queues": 1},
        },
    })
}

/// A network that only a later release understands.
fn from_the_future(name: &str, version: u64) -> Value {
    let mut object = compiled(name, version, 1500);
    object["spec"]["engine"] = "P4".into();
    object
}

fn object(object: &Value) -> Object<CompiledNetwork> {
    serde_json::from_str(&object.to_string()).unwrap()
}

fn page(version: u64, objects: &[Value]) -> Event<CompiledNetwork> {
    let objects = objects.iter().map(object).collect();
    Event::Page { objects, is_first: true, complete: Some(version) }
}

fn collector() -> (Collector, watch::Receiver<Option<Input>>) {
    let (sender, inputs) = channel(None);
    let mut collector = Collector::new(sender);
    let labels = [("rack".to_owned(), "a".to_owned())].into();
    collector.node(3, UserspaceNodeStateSpec { number: 1, labels, ..Default::default() });
    (collector, inputs)
}

fn networks(inputs: &watch::Receiver<Option<Input>>) -> Vec<(NetworkName, u64, u16)> {
    let input = inputs.borrow();
    let networks = &input.as_ref().unwrap().networks;
    networks.iter().map(|(name, it)| (name.clone(), it.version, it.network.bridge.mtu.get())).collect()
}

#[test]
fn there_is_no_input_before_node_and_networks_are_known() {
    let (mut collector, inputs) = collector();
    assert_eq!(*inputs.borrow(), None);
    collector.networks(Event::Page { objects: vec![object(&compiled("a", 1, 1500))], is_first: true, complete: None });
    assert_eq!(*inputs.borrow(), None, "the list is not complete");
    collector.networks(Event::Page {
        objects: vec![object(&compiled("b", 2, 1500)), object(&compiled("not.ours", 3, 1500))],
        is_first: false,
        complete: Some(9),
    });
    let input = inputs.borrow().clone().unwrap();
    assert_eq!((input.generation, input.labels["rack"].as_str(), input.version), (3, "a", 9));
    assert_eq!(input.networks.keys().collect::<Vec<_>>(), [&name("a"), &name("b")]);
}

#[test]
fn an_unreadable_network_keeps_its_last_version_and_disturbs_no_other() {
    let (mut collector, inputs) = collector();
    collector.networks(page(9, &[compiled("a", 1, 1500), compiled("b", 2, 1500)]));
    collector.networks(Event::Applied(object(&from_the_future("a", 10))));
    collector.networks(Event::Applied(object(&compiled("b", 11, 9000))));
    assert_eq!(networks(&inputs), [(name("a"), 1, 1500), (name("b"), 11, 9000)]);
    let unreadable = inputs.borrow().as_ref().unwrap().unreadable[&name("a")].clone();
    assert_eq!(unreadable.version, 10);
    assert!(unreadable.message.contains("P4"), "{}", unreadable.message);
    collector.networks(page(12, &[from_the_future("a", 10), compiled("b", 11, 9000)]));
    assert_eq!(networks(&inputs)[0], (name("a"), 1, 1500), "a list changes nothing of that");
    collector.networks(Event::Applied(object(&compiled("a", 13, 1400))));
    assert_eq!(networks(&inputs)[0], (name("a"), 13, 1400));
    assert!(inputs.borrow().as_ref().unwrap().unreadable.is_empty());
    collector.networks(Event::Deleted(object(&from_the_future("b", 14))));
    assert_eq!(networks(&inputs).len(), 1);
    assert_eq!(inputs.borrow().as_ref().unwrap().version, 14);
}

#[test]
fn what_a_new_list_does_not_change_stays_the_same_in_memory() {
    let (mut collector, inputs) = collector();
    collector.networks(page(9, &[compiled("a", 1, 1500), compiled("b", 2, 1500)]));
    let before = inputs.borrow().as_ref().unwrap().networks.clone();
    collector.networks(page(7, &[compiled("a", 1, 1500), compiled("c", 3, 1500)]));
    let input = inputs.borrow().clone().unwrap();
    assert!(Arc::ptr_eq(&input.networks[&name("a")], &before[&name("a")]));
    assert_eq!(input.networks.keys().collect::<Vec<_>>(), [&name("a"), &name("c")]);
    assert_eq!(input.version, 7, "the list counts, also when it is older");
}

fn subscribers(inputs: watch::Sender<Option<Input>>, statuses: watch::Sender<Option<StoredStatus>>) -> Subscribers {
    let policies = PolicyChannels { needed: channel(false).1, updates: channel(None).0, pods: no_pods() };
    Subscribers { inputs, statuses, attachments: channel(None).0, owners: channel(None).0, policies }
}

#[test]
fn the_owner_of_the_node_state_is_known_while_there_is_one() {
    let collector = RefCell::new(collector().0);
    let (owners, seen) = channel(None);
    let mut own = OwnState::new(&collector, channel(None).0, channel(None).0, owners);
    let mut state = node_state();
    let owned = |uid: &str| json!([{"apiVersion": "v1", "kind": "Node", "name": "node-a", "uid": uid}]);
    for uid in ["n-1", "n-2"] {
        state["metadata"]["ownerReferences"] = owned(uid);
        own.on_event(Event::Applied(serde_json::from_str(&state.to_string()).unwrap()));
        assert_eq!(json!(*seen.borrow()), owned(uid));
    }
    own.on_event(Event::Deleted(serde_json::from_str(&state.to_string()).unwrap()));
    assert_eq!(*seen.borrow(), None);
}

fn list(kind: &str, version: u64, items: &[Value]) -> Answer {
    let list = json!({
        "apiVersion": "usnet.dev/v1alpha1",
        "kind": format!("{kind}List"),
        "metadata": {"resourceVersion": version.to_string()},
        "items": items,
    });
    Answer::ok(list.to_string())
}

fn node_state() -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1",
        "kind": "UserspaceNodeState",
        "metadata": {"name": "node-a", "resourceVersion": "5", "generation": 2},
        "spec": {"number": 1, "labels": {"rack": "a"}},
        "status": {"networks": "from another release"},
    })
}

/// The API server is first at resourceVersion 2000 and, once it has refused a watch from there, at
/// 1000.
#[tokio::test]
async fn after_a_restore_of_etcd_the_input_is_what_the_api_server_has() {
    let went_back = std::sync::atomic::AtomicBool::new(false);
    let server = ApiServer::choosing(move |line| {
        let is_watch = line.contains("watch=");
        if line.contains("userspacenodestates") {
            return (!is_watch).then(|| list("UserspaceNodeState", 2000, &[node_state()]));
        }
        if line.contains("userspaceuplinks") {
            return (!is_watch).then(|| list("UserspaceUplink", 2000, &[]));
        }
        let has_gone_back = went_back.load(std::sync::atomic::Ordering::SeqCst);
        if is_watch && !has_gone_back {
            went_back.store(true, std::sync::atomic::Ordering::SeqCst);
            let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 504, "reason": "Timeout", "message": "Too large resource version: 2000, current: 1000"});
            return Some(Answer::new(504, body.to_string()));
        }
        match has_gone_back {
            _ if is_watch => None,
            false => Some(list("CompiledNetwork", 2000, &[compiled("a", 1900, 9000), compiled("b", 1800, 1500)])),
            true => Some(list("CompiledNetwork", 1000, &[compiled("a", 900, 1500)])),
        }
    });
    let ((inputs, mut inputs_of_agent), (statuses, statuses_in_writer)) = (channel(None), channel(None));
    let follow = follow(server.client(), "node-a".into(), subscribers(inputs, statuses));
    let check = async {
        let is = |version: u64| move |input: &Option<Input>| input.as_ref().is_some_and(|it| it.version == version);
        inputs_of_agent.wait_for(is(2000)).await.unwrap();
        assert_eq!(networks(&inputs_of_agent).len(), 2);
        inputs_of_agent.wait_for(is(1000)).await.unwrap();
        assert_eq!(networks(&inputs_of_agent), [(name("a"), 900, 1500)]);
    };
    tokio::select! {
        () = follow => panic!("it ended"),
        () = check => {}
    }
    let present = statuses_in_writer.borrow().clone().unwrap();
    assert_eq!(
        (present.version, present.status),
        (5, UserspaceNodeStateStatus::default()),
        "an unreadable status is none"
    );
}

fn uplink(version: u64, nics: &Value) -> Object<UserspaceUplink> {
    let object = json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceUplink",
        "metadata": {"name": "fab", "uid": "1", "generation": version, "resourceVersion": version.to_string()},
        "spec": {"engine": "OVS", "nics": nics, "vlans": ["7"]},
    });
    serde_json::from_str(&object.to_string()).unwrap()
}

#[test]
fn uplinks_are_read_and_one_that_is_not_valid_keeps_its_last_form() {
    let (mut collector, inputs) = collector();
    collector.networks(page(5, &[]));
    let collector = RefCell::new(collector);
    let mut uplinks = Uplinks::new(&collector);
    let known = || {
        let input = inputs.borrow();
        let uplinks = input.as_ref().unwrap().uplinks.clone()?;
        Some(uplinks.values().map(|uplink| uplink.generation).collect::<Vec<_>>())
    };
    let nics = json!([{"device": {"type": "Name", "name": "eth1"}}]);
    uplinks.on_event(Event::Page { objects: vec![uplink(3, &nics)], is_first: true, complete: None });
    assert_eq!(known(), None, "the list is not complete");
    uplinks.on_event(Event::Page { objects: Vec::new(), is_first: false, complete: Some(4) });
    assert_eq!(known(), Some(vec![3]));
    uplinks.on_event(Event::Applied(uplink(5, &json!([{"device": {"type": "Name"}}]))));
    assert_eq!(known(), Some(vec![3]), "as last read");
    uplinks.on_event(Event::Page { objects: vec![uplink(5, &json!([]))], is_first: true, complete: Some(6) });
    assert_eq!(known(), Some(vec![3]), "also after a new list");
    uplinks.on_event(Event::Applied(uplink(7, &nics)));
    assert_eq!(known(), Some(vec![7]));
    uplinks.on_event(Event::Deleted(uplink(8, &nics)));
    assert_eq!(known(), Some(vec![]));
}

fn overlay(name: &str, version: u64, rack: &str) -> Value {
    let mut object = compiled(name, version, 1450);
    object["spec"]["overlay"] = json!({"vni": 5001, "port": 4789});
    object["spec"]["nodeSelector"] = json!({"matchLabels": {"rack": rack}});
    object
}

#[test]
fn addresses_of_nodes_are_needed_while_a_network_of_this_node_has_an_overlay() {
    let (mut collector, inputs) = collector();
    let needed = collector.needs_nodes();
    collector.networks(page(5, &[compiled("a", 1, 1500), overlay("b", 2, "b")]));
    assert!(!*needed.borrow(), "the overlay is on other nodes");
    collector.networks(Event::Applied(object(&overlay("c", 6, "a"))));
    assert!(*needed.borrow());
    let nodes = NodeAddresses { own: "node-a".to_owned(), ..NodeAddresses::default() };
    collector.nodes(Some(nodes.clone()));
    assert_eq!(inputs.borrow().as_ref().unwrap().nodes.as_deref(), Some(&nodes));
    let mut draining = overlay("c", 7, "a");
    draining["spec"]["phase"] = "Draining".into();
    collector.networks(Event::Applied(object(&draining)));
    assert!(!*needed.borrow());
}

/// The networks of this node have no overlay until a watch was refused.
#[tokio::test]
async fn slices_of_nodes_are_watched_only_while_they_are_needed() {
    let is_joined = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let has_joined = Arc::clone(&is_joined);
    let server = ApiServer::choosing(move |line| {
        let (is_watch, joined) = (line.contains("watch="), has_joined.load(std::sync::atomic::Ordering::SeqCst));
        match line {
            _ if line.contains("userspacenodestates") => {
                (!is_watch).then(|| list("UserspaceNodeState", 10, &[node_state()]))
            }
            _ if line.contains("userspaceuplinks") => (!is_watch).then(|| list("UserspaceUplink", 10, &[])),
            _ if line.contains("userspacenodeslices") => (!is_watch).then(|| {
                let nodes = json!([{"name": "node-a", "number": 0, "addresses": ["10.0.0.1"]}, {"name": "node-b", "number": 1, "addresses": ["10.0.0.2"]}]);
                let metadata = json!({"name": "nodes-0", "resourceVersion": "12"});
                list("UserspaceNodeSlice", 12, &[json!({"metadata": metadata, "spec": {"nodes": nodes}})])
            }),
            _ if is_watch && joined => None,
            _ if is_watch => {
                has_joined.store(true, std::sync::atomic::Ordering::SeqCst);
                let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"});
                Some(Answer::new(410, body.to_string()))
            }
            _ => Some(list("CompiledNetwork", 11, &[overlay("blue", 11, if joined { "a" } else { "b" })])),
        }
    });
    let ((inputs, mut inputs_of_agent), (statuses, _statuses)) = (channel(None), channel(None));
    let follow = follow(server.client(), "node-a".into(), subscribers(inputs, statuses));
    let check = async {
        inputs_of_agent.wait_for(Option::is_some).await.unwrap();
        let is_slice = |line: &String| line.contains("userspacenodeslices");
        if !is_joined.load(std::sync::atomic::Ordering::SeqCst) {
            assert!(!server.requests().iter().any(is_slice), "{:?}", server.requests());
        }
        inputs_of_agent.wait_for(|input| input.as_ref().is_some_and(|input| input.nodes.is_some())).await.unwrap();
        let nodes = inputs_of_agent.borrow().as_ref().unwrap().nodes.clone().unwrap();
        assert_eq!((nodes.own.as_str(), nodes.nodes.len()), ("node-a", 2));
        let first = server.requests().iter().position(is_slice).unwrap();
        let lists = |requests: &[String]| {
            requests.iter().filter(|it| it.contains("compilednetworks") && !it.contains("watch=")).count()
        };
        assert_eq!(lists(&server.requests()[..first]), 2, "not before the network is on this node");
    };
    tokio::select! {
        () = follow => panic!("it ended"),
        () = check => {}
    }
}

fn no_pods() -> PodSliceChannels {
    PodSliceChannels { networks: channel([].into()).1, updates: channel(None).0 }
}
