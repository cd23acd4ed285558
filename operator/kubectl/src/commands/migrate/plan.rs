//! What happens, in order, when usnet replaces Intel's userspace CNI, and on the way back. Pure.

use super::pods::{FolderPod, REMEDY, selects};
use super::report::{Definition, Report};
use crate::commands::shared::unread_text;
use crate::model::{Pod, Unread};
use crate::output::{count, line};
use k8s_openapi::jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use usnet_controller::cache::Cache;

const PROGRAM: &str = "the program userspace in the CNI folder of each node is replaced while pods run";
const LISTENS: &str = "its socket is one on which Open vSwitch listens, and is not taken over: recreate the pod before Open vSwitch restarts";
const BACK: &str = "remove usnet's DaemonSet, and install the DaemonSet of the userspace CNI (Intel) again";

/// The steps in their order.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Plan {
    pub steps: Vec<Step>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Unread>,
}

#[derive(Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    pub title: String,
    pub what: Vec<String>,
}

/// The plan for what was reported, with the pods that were read.
pub(super) fn plan(cache: &Cache, report: Report, pods: &[Pod]) -> Plan {
    let works: BTreeSet<(&str, &str)> =
        report.definitions.iter().filter(|it| it.works).map(|it| (&*it.namespace, &*it.name)).collect();
    let running: Vec<&Pod> = pods.iter().filter(|pod| is_attached(pod) && selects(pod, &works)).collect();
    let (older, attached): (Vec<&Pod>, Vec<&Pod>) =
        running.into_iter().partition(|pod| is_older(pod, &report.definitions, cache));
    let listening = report.definitions.iter().filter(|it| it.listens).map(|it| (&*it.namespace, &*it.name)).collect();
    let (lost, kept): (Vec<&Pod>, Vec<&Pod>) = older.into_iter().partition(|pod| selects(pod, &listening));
    let mut steps = vec![before(&report), Step { title: "Install usnet".to_owned(), what: installation(&kept, &lost) }];
    steps.extend(
        namespaces(&report.definitions).into_iter().map(|(name, definitions)| of_namespace(name, &definitions, &kept)),
    );
    steps.push(back(&attached));
    Plan { steps, not_read: report.not_read }
}

fn is_attached(pod: &Pod) -> bool {
    pod.node.is_some() && !pod.has_ended() && pod.phase == "Running"
}

/// Whether the legacy plugin attached a pod: there was no network of its definitions yet.
fn is_older(pod: &Pod, definitions: &[Definition], cache: &Cache) -> bool {
    let of_pod = |it: &&Definition| selects(pod, &BTreeSet::from([(&*it.namespace, &*it.name)]));
    let names = definitions.iter().filter(of_pod).filter_map(|definition| definition.network.as_deref());
    let networks = names.filter_map(|name| cache.networks.get(name)?.created.as_ref().map(|time| time.0));
    let first: Option<Timestamp> = networks.min();
    first.is_none_or(|network| pod.created.is_none_or(|created| created < network))
}

/// What has to be changed, or fails.
fn before(report: &Report) -> Step {
    let rejected = report.definitions.iter().filter(|it| !it.works).map(|it| {
        let why = it.messages.first().map_or("", String::as_str);
        format!("definition {}/{} will not work: {why}", it.namespace, it.name)
    });
    let warned = report.definitions.iter().filter(|it| it.works && !it.messages.is_empty());
    let warned = warned.map(|it| format!("definition {}/{}: {}", it.namespace, it.name, it.messages.join("; ")));
    let mut what: Vec<String> = rejected.chain(warned).collect();
    let folders = report.pods.iter().map(|FolderPod { namespace, name, .. }| format!("{namespace}/{name}"));
    let folders: Vec<String> = folders.collect();
    if !folders.is_empty() {
        what.push(format!("{} ({}): {REMEDY}", count(folders.len(), "pod"), folders.join(", ")));
    }
    if what.is_empty() {
        what.push("nothing has to be changed".to_owned());
    }
    Step { title: "Before".to_owned(), what }
}

fn installation(kept: &[&Pod], lost: &[&Pod]) -> Vec<String> {
    let nodes: BTreeSet<&str> = kept.iter().filter_map(|pod| pod.node.as_deref()).collect();
    let what = format!(
        "{} on {} keep their interfaces: usnet takes them over, and bridges that have no other ports",
        count(kept.len(), "pod"),
        count(nodes.len(), "node")
    );
    let lost = lost.iter().map(|pod| format!("pod {}: {LISTENS}", pod.reference()));
    [PROGRAM.to_owned(), what].into_iter().chain(lost).collect()
}

fn namespaces(definitions: &[Definition]) -> BTreeMap<&str, Vec<&Definition>> {
    let mut all: BTreeMap<&str, Vec<&Definition>> = BTreeMap::new();
    for definition in definitions.iter().filter(|it| it.works) {
        all.entry(&definition.namespace).or_default().push(definition);
    }
    all
}

fn of_namespace(namespace: &str, definitions: &[&Definition], kept: &[&Pod]) -> Step {
    let mut what: Vec<String> = definitions.iter().map(|it| becomes(it)).collect();
    let own = kept.iter().filter(|pod| pod.namespace == namespace);
    what.extend(own.map(|pod| {
        let node = pod.node.as_deref().unwrap_or_default();
        let owner = pod.owner.as_ref().map_or_else(String::new, |owner| format!(" ({owner})"));
        format!("pod {}{owner} on {node} is taken over", pod.name)
    }));
    Step { title: format!("Namespace {namespace}"), what }
}

fn becomes(definition: &Definition) -> String {
    let network = definition.network.as_deref().unwrap_or_default();
    let (engine, bridge) = (definition.engine.unwrap_or_default(), definition.bridge.as_deref().unwrap_or_default());
    format!("definition {}: network {network}, with the bridge {bridge} of {engine}", definition.name)
}

/// The legacy plugin knows nothing of pods that usnet has attached.
fn back(attached: &[&Pod]) -> Step {
    let mut what = Vec::new();
    for pod in attached {
        let node = pod.node.as_deref().unwrap_or_default();
        what.push(format!(
            "pod {} on {node} was attached by usnet: delete it first, on a cordoned node",
            pod.reference()
        ));
    }
    what.push("pods that were taken over keep their interfaces and their state files".to_owned());
    what.push(BACK.to_owned());
    Step { title: "Back, if you want to".to_owned(), what }
}

pub(super) fn text(plan: &Plan) -> String {
    let mut text = String::new();
    for (number, Step { title, what }) in plan.steps.iter().enumerate() {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{}{}. {}", if number == 0 { "" } else { "\n" }, number + 1, line(title));
        for one in what {
            let _ = writeln!(text, "   - {}", line(one));
        }
    }
    text + &unread_text(&plan.not_read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::migrate::report::{Ignored, report};
    use serde_json::{Value, json};
    use usnet_controller::cache::nads::Availability;
    use usnet_controller::cache::partial_objects::NadObject;
    use usnet_controller::cache::{Namespace, parse};

    fn nad(cache: &mut Cache, name: &str, host: &Value) {
        let config = json!({"type": "userspace", "host": host}).to_string();
        let object: NadObject = serde_json::from_value(json!({
            "metadata": {"namespace": "web", "name": name, "creationTimestamp": "1970-01-01T00:00:01Z"},
            "spec": {"config": config},
        }))
        .unwrap();
        let (key, nad) = parse::nad(&object);
        cache.namespaces.insert("web".into(), Namespace::default());
        cache.nads.insert(key, nad);
    }

    fn pod(name: &str, created: &str, networks: &str) -> Pod {
        Pod {
            namespace: "web".to_owned(),
            name: name.to_owned(),
            networks: Some(networks.to_owned()),
            created: Some(created.parse().unwrap()),
            node: Some("node-1".to_owned()),
            phase: "Running".to_owned(),
            volumes: [("shared-dir".to_owned(), name != "folder")].into(),
            ..Pod::default()
        }
    }

    fn planned(has_network: bool) -> Vec<Step> {
        let mut cache = Cache::default();
        cache.nads.availability = Availability::Known;
        let host = json!({"engine": "ovs-dpdk", "iftype": "vhostuser", "vhost": {"mode": "client"}});
        nad(&mut cache, "old", &host);
        let listening = json!({"engine": "ovs-dpdk", "iftype": "vhostuser", "bridge": {"bridgeName": "br1"}});
        nad(&mut cache, "server", &listening);
        nad(&mut cache, "tap", &json!({"engine": "ovs-dpdk", "iftype": "tap"}));
        if has_network {
            let created = json!({
                "metadata": {"name": "ovs-br0", "creationTimestamp": "1970-01-02T00:00:00Z", "labels": {"usnet.dev/from-nad": ""}},
                "spec": {"engine": "OVS", "namespaceSelector": {}, "bridge": {"name": "br0"}},
            });
            let (name, network) = parse::network(&serde_json::from_value(created).unwrap());
            cache.networks.insert(name, network);
        }
        let pods = [
            pod("before", "1970-01-01T10:00:00Z", "old"),
            pod("folder", "1970-01-01T10:00:00Z", "old@net1"),
            pod("after", "1970-01-03T00:00:00Z", "old"),
            pod("rejected", "1970-01-01T10:00:00Z", "tap"),
            pod("client", "1970-01-01T10:00:00Z", "server"),
        ];
        let mut report = report(&cache, &Ignored::new(), Some("web"), Vec::new());
        report.add_pods(&pods);
        plan(&cache, report, &pods).steps
    }

    fn step<'a>(steps: &'a [Step], title: &str) -> &'a [String] {
        &steps.iter().find(|step| step.title.starts_with(title)).unwrap().what
    }

    #[test]
    fn before_the_installation_all_running_pods_are_to_be_taken_over() {
        let steps = planned(false);
        let titles: Vec<&str> = steps.iter().map(|step| step.title.as_str()).collect();
        assert_eq!(titles, ["Before", "Install usnet", "Namespace web", "Back, if you want to"]);
        let before = step(&steps, "Before");
        assert!(
            before[0].starts_with("definition web/tap will not work: ") && before[0].contains("host.iftype"),
            "{before:?}"
        );
        assert!(before[1].starts_with("definition web/server: Open vSwitch listens"), "{before:?}");
        assert!(before[2].starts_with("1 pod (web/folder): ") && before[2].contains("legacy-pods"), "{before:?}");
        assert!(step(&steps, "Install")[1].starts_with("3 pods on 1 node "), "{steps:?}");
        assert_eq!(
            step(&steps, "Namespace web"),
            [
                "definition old: network ovs-br0, with the bridge br0 of OVS",
                "definition server: network ovs-br1, with the bridge br1 of OVS",
                "pod before on node-1 is taken over",
                "pod folder on node-1 is taken over",
                "pod after on node-1 is taken over",
            ]
        );
        assert!(step(&steps, "Install")[2].starts_with("pod web/client: its socket"), "{steps:?}");
        assert_eq!(step(&steps, "Back").len(), 2);
    }

    #[test]
    fn on_the_way_back_pods_that_usnet_attached_are_deleted_first() {
        let steps = planned(true);
        assert!(step(&steps, "Install")[1].starts_with("2 pods on 1 node "), "{steps:?}");
        let back = step(&steps, "Back");
        assert!(back[0].starts_with("pod web/after on node-1 was attached by usnet"), "{back:?}");
        assert!(text(&Plan { steps, not_read: Vec::new() }).starts_with("1. Before\n   - definition web/tap"));
    }
}
