//! What happens, in order, when usnet replaces Intel's userspace CNI, and on the way back. Pure.

use super::pods::{FolderPod, REMEDY, selects};
use super::report::{Definition, Report};
use crate::commands::shared::unread_text;
use crate::model::{Added, Pod, Unread};
use crate::output::{count, line};
use k8s_openapi::jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use usnet_controller::cache::Cache;
use usnet_controller::cache::nads::NadKey;

const REMOVE: &str = "delete the DaemonSet of the userspace CNI (Intel), which would install its program again; pods keep their interfaces";
const PROGRAM: &str = "install usnet: the program userspace in the CNI folder of each node is replaced while pods run";
const LISTENS: &str = "its socket is one on which Open vSwitch listens, and is not taken over: recreate the pod before Open vSwitch restarts";
const KEPT: &str = "pods that were taken over keep their interfaces and their state files";
const BACK: &str = "delete usnet's Deployment and DaemonSet, and the component legacy-pods if you added it; then install the DaemonSet of the userspace CNI (Intel) again";
const NETWORKS: &str = "networks of usnet and their bridges stay, for another switch";

/// What has interfaces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attached<'a> {
    pub pods: &'a [Pod],
    /// Interfaces that were added to running pods.
    pub added: &'a [Added],
    /// The definitions that name a network of usnet.
    pub networks: &'a BTreeSet<NadKey>,
}

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

/// The plan for what was reported and read.
pub(super) fn plan(cache: &Cache, report: Report, Attached { pods, added, networks }: Attached<'_>) -> Plan {
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
    let networks = networks.iter().map(|key| (&*key.namespace, &*key.name)).collect();
    let of_usnet = pods.iter().filter(|pod| is_attached(pod) && selects(pod, &networks));
    let of_usnet: BTreeMap<String, &Pod> =
        attached.into_iter().chain(of_usnet).map(|pod| (pod.reference(), pod)).collect();
    steps.push(back(&of_usnet, added));
    Plan { steps, not_read: report.not_read }
}

fn is_attached(pod: &Pod) -> bool {
    pod.node.is_some() && !pod.has_ended() && pod.phase == "Running"
}

/// Whether the legacy plugin attached a pod: there was no network of its definitions yet, or the
/// pod has its annotation, in which the folder usually has no `/` at its end. usnet adds one.
fn is_older(pod: &Pod, definitions: &[Definition], cache: &Cache) -> bool {
    if pod.mapped_dir.as_ref().is_some_and(|folder| !folder.ends_with('/')) {
        return true;
    }
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
    [REMOVE.to_owned(), PROGRAM.to_owned(), what].into_iter().chain(lost).collect()
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

/// The legacy plugin knows nothing of what usnet has attached.
fn back(attached: &BTreeMap<String, &Pod>, added: &[Added]) -> Step {
    let added = added
        .iter()
        .map(|it| format!("UserspaceAttachment {}/{} of pod {}: delete it first", it.namespace, it.name, it.pod));
    let attached = attached.iter().map(|(reference, pod)| {
        let node = pod.node.as_deref().unwrap_or_default();
        format!("pod {reference} on {node} was attached by usnet: delete it first, on a cordoned node")
    });
    let rest = [KEPT, BACK, NETWORKS].map(str::to_owned);
    Step { title: "Back, if you want to".to_owned(), what: added.chain(attached).chain(rest).collect() }
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
        let attached_again =
            Pod { mapped_dir: Some("/sockets".to_owned()), ..pod("again", "1970-01-03T00:00:00Z", "old") };
        let pods = [
            attached_again,
            pod("other", "1970-01-03T00:00:00Z", "blue"),
            pod("before", "1970-01-01T10:00:00Z", "old"),
            pod("folder", "1970-01-01T10:00:00Z", "old@net1"),
            pod("after", "1970-01-03T00:00:00Z", "old"),
            pod("rejected", "1970-01-01T10:00:00Z", "tap"),
            pod("client", "1970-01-01T10:00:00Z", "server"),
        ];
        let mut report = report(&cache, &Ignored::new(), Some("web"), Vec::new());
        report.add_pods(&pods);
        let networks = [NadKey { namespace: "web".to_owned(), name: "blue".to_owned() }].into();
        let added = Added { namespace: "web".to_owned(), name: "extra".to_owned(), ..Added::default() };
        plan(&cache, report, Attached { pods: &pods, added: &[added], networks: &networks }).steps
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
        assert!(step(&steps, "Install")[2].starts_with("4 pods on 1 node "), "{steps:?}");
        assert_eq!(
            step(&steps, "Namespace web"),
            [
                "definition old: network ovs-br0, with the bridge br0 of OVS",
                "definition server: network ovs-br1, with the bridge br1 of OVS",
                "pod again on node-1 is taken over",
                "pod before on node-1 is taken over",
                "pod folder on node-1 is taken over",
                "pod after on node-1 is taken over",
            ]
        );
        assert!(step(&steps, "Install")[3].starts_with("pod web/client: its socket"), "{steps:?}");
        let back = step(&steps, "Back");
        assert!(back.len() == 5 && !back.iter().any(|line| line.contains("web/after")), "{back:?}");
    }

    #[test]
    fn on_the_way_back_pods_that_usnet_attached_are_deleted_first() {
        let steps = planned(true);
        assert!(step(&steps, "Install")[2].starts_with("3 pods on 1 node "), "{steps:?}");
        let back = step(&steps, "Back");
        assert!(back[0].starts_with("UserspaceAttachment web/extra of pod"), "{back:?}");
        assert!(back[1].starts_with("pod web/after on node-1 was attached by usnet"), "{back:?}");
        assert!(back[2].starts_with("pod web/other on node-1 was attached by usnet"), "{back:?}");
        assert!(text(&Plan { steps, not_read: Vec::new() }).starts_with("1. Before\n   - definition web/tap"));
    }
}
