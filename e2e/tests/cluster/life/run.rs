//! Takes the steps. What cannot be done just now, because it is there already or its server is down, is counted and not done.

use super::foreign::{self, Foreign};
use super::names;
use super::pods::{Call, Pods};
use super::steps::{NETWORKS, Step, Wishes, engine};
use crate::cluster::{run, try_apply, try_run};
use crate::scene::agent_pod;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use usnet_crds::Engine;

/// The world as far as the steps change it.
pub(super) struct Week<'scope> {
    pub(super) pods: Pods<'scope>,
    pub(super) foreign: Foreign,
    /// Definitions that somebody made, by namespace and network.
    pub(super) definitions: BTreeMap<(usize, usize), String>,
    pub(super) taken: BTreeMap<&'static str, usize>,
    pub(super) impossible: BTreeMap<&'static str, usize>,
}

impl Week<'_> {
    pub(super) fn take(&mut self, step: Step) {
        let kind = kind(step);
        *self.taken.entry(kind).or_default() += 1;
        if self.try_take(step).is_err() {
            *self.impossible.entry(kind).or_default() += 1;
        }
    }

    fn try_take(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::ApplyNetwork { network, wishes } => try_apply(&network_manifest(network, wishes)).map(drop),
            Step::DeleteNetwork { network } => delete(&["usn", &names::network(network)]),
            Step::ApplyNamespace { namespace, team } => try_apply(&namespace_manifest(namespace, team)).map(drop),
            Step::DeleteNamespace { namespace } => {
                self.definitions.retain(|(of, _), _| *of != namespace);
                delete(&["namespace", &names::namespace(namespace)])
            }
            Step::LabelNode { node, zone } => {
                let label = zone.map_or_else(|| "zone-".to_owned(), |zone| format!("zone={zone}"));
                kubectl(&["label", "node", names::node(node), "--overwrite", &label])
            }
            Step::AddGhost { ghost, zone } => try_apply(&ghost_manifest(ghost, zone)).map(drop),
            Step::RemoveGhost { ghost } => delete(&["node", &names::ghost(ghost)]),
            Step::AddForeignDefinition { .. }
            | Step::RemoveForeignDefinition { .. }
            | Step::EditDefinition { .. }
            | Step::DeleteDefinition { .. } => self.definition(step),
            Step::Attach { pod, namespace, network } => {
                self.pods.call(pod, Call::Add { namespace, network, killed_after: None });
                Ok(())
            }
            Step::KilledAttach { pod, namespace, network, after } => {
                let killed_after = Some(Duration::from_millis(after));
                self.pods.call(pod, Call::Add { namespace, network, killed_after });
                Ok(())
            }
            Step::Detach { pod } => {
                self.pods.call(pod, Call::Delete);
                Ok(())
            }
            Step::KillAgent { node } => kill_pod(&agent_pod(names::node(node))),
            Step::KillController => kill_pod("--selector=app.kubernetes.io/component=controller"),
            Step::StopEngine { node, engine } => {
                self.foreign.forget(node, engine);
                switch("stop", node, engine)
            }
            Step::StartEngine { node, engine } => switch("start", node, engine),
            Step::StopApiServer => try_run("component", &["stop", "kube-apiserver"], "").map(drop),
            Step::StartApiServer => {
                run("component", &["start", "kube-apiserver"]);
                Ok(())
            }
            Step::AddForeignBridge { node, engine, place } => self.foreign.add(node, engine, place),
            Step::RemoveForeignBridge { node, engine, place } => self.foreign.remove(node, engine, place),
            Step::RemoveBridge { node, network } => foreign::remove_bridge(node, network),
            Step::RemovePort { node, network, port } => foreign::remove_port(node, network, port),
            Step::ChangeField { node, network, port } => foreign::change_field(node, network, port),
        }
    }

    /// What somebody does with NetworkAttachmentDefinitions.
    fn definition(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::AddForeignDefinition { namespace, network } => {
                let manifest = foreign_definition(namespace, network);
                try_run("kubectl", &["create", "-f", "-"], &manifest.to_string())?;
                self.definitions.insert((namespace, network), show_definition(namespace, network)?);
                Ok(())
            }
            Step::RemoveForeignDefinition { namespace, network } => {
                self.definitions.remove(&(namespace, network)).ok_or("nobody made it")?;
                delete_definition(namespace, network)
            }
            Step::EditDefinition { namespace, network } | Step::DeleteDefinition { namespace, network }
                if self.definitions.contains_key(&(namespace, network)) =>
            {
                Err("it is somebody else's".to_owned())
            }
            Step::EditDefinition { namespace, network } => {
                let (namespace, network) = (names::namespace(namespace), names::network(network));
                let patch = r#"{"spec":{"config":"{}"}}"#;
                kubectl(&["patch", "net-attach-def", &network, "-n", &namespace, "--type=merge", "-p", patch])
            }
            Step::DeleteDefinition { namespace, network } => delete_definition(namespace, network),
            _ => Ok(()),
        }
    }

    /// Panics when somebody's definition does not look as it did.
    pub(super) fn assert_definitions_unchanged(&self) {
        for (&(namespace, network), before) in &self.definitions {
            let now = show_definition(namespace, network).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(*before, now, "somebody's definition was changed");
        }
    }
}

/// The word before the numbers.
fn kind(step: Step) -> &'static str {
    match step {
        Step::ApplyNetwork { .. } => "apply a network",
        Step::DeleteNetwork { .. } => "delete a network",
        Step::ApplyNamespace { .. } | Step::DeleteNamespace { .. } => "apply or delete a namespace",
        Step::LabelNode { .. } | Step::AddGhost { .. } | Step::RemoveGhost { .. } => "label, add or remove a node",
        Step::AddForeignDefinition { .. } | Step::RemoveForeignDefinition { .. } => "a definition of somebody else",
        Step::EditDefinition { .. } | Step::DeleteDefinition { .. } => "edit or delete a definition of ours",
        Step::Attach { .. } | Step::KilledAttach { .. } => "attach a pod",
        Step::Detach { .. } => "detach a pod",
        Step::KillAgent { .. } | Step::KillController => "kill an agent or the controllers",
        Step::StopEngine { .. } | Step::StartEngine { .. } => "stop or start an engine",
        Step::StopApiServer | Step::StartApiServer => "stop or start the API server",
        Step::AddForeignBridge { .. } | Step::RemoveForeignBridge { .. } => "a bridge of somebody else",
        Step::RemoveBridge { .. } | Step::RemovePort { .. } | Step::ChangeField { .. } => "change what is ours",
    }
}

fn kubectl(arguments: &[&str]) -> Result<(), String> {
    try_run("kubectl", arguments, "").map(drop)
}

fn delete(object: &[&str]) -> Result<(), String> {
    kubectl(&[&["delete", "--wait=false"], object].concat())
}

fn delete_definition(namespace: usize, network: usize) -> Result<(), String> {
    delete(&["net-attach-def", &names::network(network), "-n", &names::namespace(namespace)])
}

/// The object's identity and content.
fn show_definition(namespace: usize, network: usize) -> Result<String, String> {
    let (namespace, network) = (names::namespace(namespace), names::network(network));
    let columns = "jsonpath={.metadata.uid} {.metadata.generation} {.metadata.labels} {.spec}";
    try_run("kubectl", &["get", "net-attach-def", &network, "-n", &namespace, "-o", columns], "")
}

fn kill_pod(which: &str) -> Result<(), String> {
    kubectl(&["delete", "pod", which, "-n", "usnet-system", "--grace-period=0", "--force", "--wait=false"])
}

/// Stops or starts all of an engine.
fn switch(verb: &str, node: usize, engine: Engine) -> Result<(), String> {
    let programs: &[&str] = match (engine, verb) {
        (Engine::Vpp, _) => &["vpp"],
        (Engine::OpenVswitch, "stop") => &["ovs-vswitchd", "ovsdb-server"],
        (Engine::OpenVswitch, _) => &["ovsdb-server", "ovs-vswitchd"],
    };
    for program in programs {
        run("component", &[verb, program, names::node(node)]);
    }
    Ok(())
}

fn network_manifest(network: usize, wishes: Wishes) -> Value {
    let Wishes { mtu, age, tag, zone, team, vhost_user } = wishes;
    let mut spec = json!({
        "engine": "OVS",
        "bridge": {"name": names::bridge_of(network), "mtu": mtu, "macAgeSeconds": age},
        "namespaceSelector": team.map_or_else(|| json!({}), |team| json!({"matchLabels": {"team": team}})),
        "port": tag.map_or_else(|| json!({}), |tag| json!({"vlan": {"mode": "Access", "tag": tag}})),
    });
    if engine(network) == Engine::Vpp {
        spec["engine"] = json!("VPP");
        spec["bridge"]["name"].take();
        spec["bridge"]["id"] = json!(names::bridge_of(network).parse::<i64>().unwrap());
        spec["port"]["type"] = json!(if vhost_user { "VhostUser" } else { "Memif" });
    }
    if let Some(zone) = zone {
        spec["nodeSelector"] = json!({"matchLabels": {"zone": zone}});
    }
    let (api, kind) = ("usnet.dev/v1alpha1", "UserspaceNetwork");
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": names::network(network)}, "spec": spec})
}

fn namespace_manifest(namespace: usize, team: Option<&str>) -> Value {
    let labels = team.map_or_else(|| json!({}), |team| json!({"team": team}));
    let metadata = json!({"name": names::namespace(namespace), "labels": labels});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
}

fn ghost_manifest(ghost: usize, zone: Option<&str>) -> Value {
    let labels = zone.map_or_else(|| json!({}), |zone| json!({"zone": zone}));
    let metadata = json!({"name": names::ghost(ghost), "labels": labels});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
}

/// Somebody's definition of the same name, for a plugin of theirs.
fn foreign_definition(namespace: usize, network: usize) -> Value {
    let config = json!({"cniVersion": "1.0.0", "type": "bridge", "bridge": "theirs"}).to_string();
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": names::network(network), "namespace": names::namespace(namespace)},
        "spec": {"config": config},
    })
}

/// All networks of the week, whether they are there or not.
pub(super) fn all_networks() -> impl Iterator<Item = String> {
    (0..NETWORKS).map(names::network)
}
