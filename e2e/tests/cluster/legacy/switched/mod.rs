//! A cluster is switched from the legacy plugin to usnet and back, with the steps of `kubectl usnet
//! migrate plan`, while pods send.

mod old_plugin;
mod pods;
mod traffic;

use crate::outages::uninstalled::{Installed, install, uninstall};
use crate::support::cluster::{apply, check, condition, eventually, get, kubectl, on_node, timeout, vsctl};
use crate::support::collector::QuickCollector;
use crate::support::kubectl_usnet::usnet;
use crate::support::pods::{NODE, pod_without_volume, start};
use crate::support::scene::{Scene, agent_log, await_counted, remains, wait_ready};
use crate::support::vpp;
use old_plugin::OldPlugin;
use pods::{OPEN_VSWITCH, Pair, Running, VPP, Variant};
use serde_json::{Value, json};
use traffic::{Traffic, assert_reachable};

/// What is on the node of an interface that the legacy plugin attached.
const STATE: &str = "/var/lib/cni/usrspcni/data";

struct Switch {
    scene: Scene,
    old: OldPlugin,
    variants: Vec<Variant>,
}

#[test]
fn a_cluster_is_switched_to_usnet_and_back_without_the_loss_of_a_packet() {
    let Some(old) = OldPlugin::from_environment() else { return };
    eventually("no network is left of other tests", || {
        let networks = get(&["usn"]).unwrap_or_default()["items"].clone();
        check(networks.as_array().is_none_or(Vec::is_empty), networks.to_string())
    });
    let _restore = Installed;
    uninstall().unwrap();
    old.install();
    let mut variants = vec![OPEN_VSWITCH];
    variants.extend(vpp::moves_packets("pods of the legacy plugin on VPP").then_some(VPP));
    let switch = Switch { scene: Scene::new("switch"), old, variants };
    let pairs = switch.start_older();
    let traffic = Traffic::start(&switch.scene, &pairs);
    switch.assert_plan();
    let newer = switch.forth(&pairs);
    switch.plug(&pairs);
    let kept = switch.start_kept();
    traffic.stop("while usnet was installed");
    let traffic = Traffic::start(&switch.scene, &pairs);
    switch.back(&newer, &kept);
    let again = switch.attach_again(&pairs);
    traffic.stop("on the way back");
    switch.delete(&pairs, &again, &kept);
    switch.forth_again();
}

impl Switch {
    /// Creates a pod of each engine with the legacy plugin's definition, and waits for all.
    fn start(&self, name: &str, has_folder: bool) -> Vec<Running> {
        let create = |variant: &Variant| variant.create(&self.scene, name, has_folder);
        let created: Vec<String> = self.variants.iter().map(create).collect();
        created.into_iter().map(|name| Running::await_pod(&self.scene, name)).collect()
    }

    /// Pods that the legacy plugin attaches.
    fn start_older(&self) -> Vec<Pair> {
        self.variants.iter().for_each(|variant| apply(&variant.definition(&self.scene)));
        let [left, right] = ["left", "right"].map(|name| self.start(name, true));
        let pairs = left.into_iter().zip(right).map(|(left, right)| Pair { left, right }).collect();
        assert_eq!(state_files().lines().count(), 2 * self.variants.len(), "{}", state_files());
        pairs
    }

    fn migrate(&self, command: &str) -> String {
        let found = usnet(&["migrate", command, "-n", &self.scene.name]);
        assert_eq!(found.status, 0, "{found:?}");
        println!("{}", found.stdout);
        found.stdout
    }

    /// Before usnet is installed, the plan names what will happen.
    fn assert_plan(&self) {
        let checked = self.migrate("check");
        let plan = self.migrate("plan");
        let namespace = format!("Namespace {}", self.scene.name);
        let titles = ["1. Before", "2. Install usnet", &format!("3. {namespace}"), "4. Back, if you want to"];
        let positions: Vec<_> = titles.map(|title| plan.find(title)).into_iter().collect();
        assert!(positions.iter().all(Option::is_some) && positions.is_sorted(), "{plan}");
        for Variant { definition, network, engine, .. } in &self.variants {
            let line = format!("definition {definition}: network {network}");
            assert!(plan.contains(&line) && checked.contains(network), "{plan}");
            for pod in ["left", "right"] {
                let line = format!("pod {}-{pod} on {NODE} is taken over", engine.to_lowercase());
                assert!(plan.contains(&line), "{plan}");
            }
        }
    }

    /// Installs usnet, which takes the pods over and attaches new ones.
    fn forth(&self, pairs: &[Pair]) -> Vec<Running> {
        let state = state_files();
        install();
        assert!(!self.old.is_on(NODE), "the program was not replaced");
        for variant in &self.variants {
            wait_ready(variant.network);
            await_counted(variant.network, 2);
        }
        assert_eq!(state_files(), state, "{}", agent_log(NODE));
        let newer = self.start("newer", false);
        self.assert_all_reachable(&newer, pairs);
        newer
    }

    fn assert_all_reachable(&self, from: &[Running], pairs: &[Pair]) {
        for (from, pair) in from.iter().zip(pairs) {
            assert_reachable(&self.scene, &from.name, &pair.left.address);
        }
    }

    /// Plugs interfaces into pods that were taken over. One with a socket needs an `emptyDir`.
    fn plug(&self, pairs: &[Pair]) {
        let addresses = json!({"type": "host-local", "ranges": [[{"subnet": "10.56.219.0/24"}]]});
        self.scene.network("switch-veth", &json!({"port": {"type": "Veth"}, "ipam": addresses}));
        let no_volume = "no emptyDir volume";
        let plugged = [
            ("veth", 0, "switch-veth", "net7", ("Attached", "")),
            ("socket", 0, OPEN_VSWITCH.network, "net8", ("Attached", "")),
            ("folder", 1, OPEN_VSWITCH.network, "net8", ("AttachFailed", no_volume)),
        ];
        let plugged = plugged.map(|(name, pair, network, interface, expected)| {
            let pod = &pairs.get(pair)?.left.name;
            apply(&json!({
                "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceAttachment",
                "metadata": {"name": name, "namespace": self.scene.name},
                "spec": {"pod": pod, "network": network, "interface": interface},
            }));
            Some((name, pod, expected))
        });
        for (name, _, (reason, word)) in plugged.iter().flatten() {
            eventually(&format!("{name} is {reason}"), || {
                let object = get(&["usna", name, "-n", &self.scene.name]).unwrap_or_default();
                let ready = condition(&object, "Ready").cloned().unwrap_or_default();
                let is_it = ready["reason"] == *reason && ready["message"].as_str().unwrap_or_default().contains(word);
                check(is_it, ready.to_string())
            });
        }
        let plan = self.migrate("plan");
        for (name, pod, _) in plugged.iter().flatten() {
            let line = format!("UserspaceAttachment {}/{name} of pod {pod}: delete it first", self.scene.name);
            assert!(plan.contains(&line), "{plan}");
        }
        kubectl(&["delete", "usna", "--all", "-n", &self.scene.name, timeout()]);
    }

    /// Pods of usnet that are still there on the way back: one with a definition of the legacy
    /// plugin, and one of a network.
    fn start_kept(&self) -> [String; 2] {
        let kept = OPEN_VSWITCH.create(&self.scene, "kept", false);
        start(&self.scene, &pod_without_volume(&self.scene, "network", "switch-veth"));
        [Running::await_pod(&self.scene, kept).name, "network".to_owned()]
    }

    /// The way back: first pods of usnet, then usnet, then the legacy plugin.
    fn back(&self, newer: &[Running], kept: &[String]) {
        let plan = self.migrate("plan");
        let newer: Vec<&str> = newer.iter().map(|pod| pod.name.as_str()).collect();
        for pod in newer.iter().copied().chain(kept.iter().map(String::as_str)) {
            let line = format!("pod {}/{pod} on {NODE} was attached by usnet: delete it first", self.scene.name);
            assert!(plan.contains(&line), "{plan}");
        }
        self.scene.delete_pods(newer);
        kubectl(&["delete", "-n", "usnet-system", "deployment,daemonset", "-l", "app.kubernetes.io/name=usnet"]);
        eventually("controllers and agents are gone", || {
            let pods = kubectl(&["get", "pods", "-n", "usnet-system", "-o", "name", "--ignore-not-found"]);
            check(pods.is_empty(), pods)
        });
        self.old.install();
    }

    /// The legacy plugin attaches a pod again.
    fn attach_again(&self, pairs: &[Pair]) -> Vec<Running> {
        let again = self.start("again", true);
        self.assert_all_reachable(&again, pairs);
        assert_eq!(state_files().lines().count(), 3 * self.variants.len(), "{}", state_files());
        again
    }

    /// The legacy plugin deletes what usnet had taken over. Of pods of usnet it leaves the port, or
    /// cannot delete them.
    fn delete(&self, pairs: &[Pair], again: &[Running], [kept, of_network]: &[String; 2]) {
        let plan = self.migrate("plan");
        for pod in again {
            assert!(!plan.contains(&format!("{} on {NODE} was attached by usnet", pod.name)), "{plan}");
        }
        let pods = pairs.iter().flat_map(|pair| [&pair.left, &pair.right]).chain(again);
        self.scene.delete_pods(pods.map(|pod| pod.name.as_str()).chain([kept.as_str()]));
        kubectl(&["delete", "pod", of_network, "-n", &self.scene.name, "--grace-period=1", "--wait=false"]);
        let mounts = "grep /var/lib/vhost_sockets/ /proc/self/mountinfo; ls /var/lib/vhost_sockets; true";
        assert_eq!(state_files() + &on_node(NODE, &["sh", "-c", mounts]), "");
        let ports = vsctl(NODE, &["list-ports", OPEN_VSWITCH.bridge]);
        assert_eq!(ports.lines().count(), 1, "that of {kept}: {ports}");
        if self.variants.len() > 1 {
            let interfaces = on_node(NODE, &["vppctl", "show", "interface"]);
            assert!(!interfaces.contains("memif"), "{interfaces}");
        }
        self.scene.await_refusal(of_network, &["Unknown Host Engine"]);
    }

    /// usnet installed again removes what is left of pods that are gone, and then bridges.
    fn forth_again(&self) {
        install();
        let _collector = QuickCollector::start(NODE);
        kubectl(&["delete", "net-attach-def", "--all", "-n", &self.scene.name]);
        eventually("no pod is left", || {
            let pods = kubectl(&["get", "pods", "-n", &self.scene.name, "-o", "name"]);
            check(pods.is_empty(), pods)
        });
        for Variant { network, .. } in &self.variants {
            eventually("the network goes", || {
                let network: Value = get(&["usn", network]).unwrap_or_default();
                check(network.is_null(), network.to_string())
            });
            assert_eq!(remains(network), Vec::<String>::new());
        }
        let tags = if self.variants.len() > 1 { vpp::tags(NODE) } else { Vec::new() };
        assert!(tags.iter().all(String::is_empty), "{tags:?}");
    }
}

fn state_files() -> String {
    on_node(NODE, &["sh", "-c", &format!("ls {STATE} 2>/dev/null; true")])
}
