//! usnet that is removed in the wrong order, with its networks and under running pods, and
//! installed again: the new installation completes what the old one has started, without manual
//! action.

use super::figures::{Figures, is_long};
use super::system::{System, leftovers};
use crate::outages::uninstalled::{install, installation};
use crate::support::cluster::{NODES, check, eventually, get, kubectl, run, timeout, try_run};
use crate::support::pods::{sleeping_pod, start};
use crate::support::scene::{Scene, wait_ready};
use crate::support::station::Station;
use crate::support::stream::Stream;
use serde_json::json;
use std::time::Instant;

const NAMESPACE: &str = "usnet-system";
const NETWORK: &str = "orders";

/// Ways to remove usnet while a network in use is being deleted.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    /// `kubectl delete -k`, networks and usnet at once.
    AtOnce,
    /// Controllers and agents, then the networks, then the rest.
    ControllersFirst,
    /// `helm uninstall`, then the networks.
    Helm,
}

impl Order {
    const fn name(self) -> &'static str {
        match self {
            Self::AtOnce => "kubectl, at once",
            Self::ControllersFirst => "kubectl, controllers first",
            Self::Helm => "Helm",
        }
    }

    fn install(self) {
        match self {
            Self::AtOnce | Self::ControllersFirst => install(),
            Self::Helm => helm_install(),
        }
    }

    fn remove(self) {
        let delete_network = || kubectl(&["delete", "usn", NETWORK, "--wait=false"]);
        match self {
            Self::AtOnce => {
                delete_network();
                delete_installation();
            }
            Self::ControllersFirst => {
                kubectl(&["delete", "deployment/usnet-controller", "daemonset/usnet-agent", "-n", NAMESPACE]);
                delete_network();
                delete_installation();
            }
            Self::Helm => {
                helm_uninstall();
                delete_network();
            }
        }
        eventually("nothing of usnet runs", || {
            let pods = kubectl(&["get", "pods", "-n", NAMESPACE, "-o", "name", "--ignore-not-found"]);
            check(pods.is_empty(), pods)
        });
    }

    /// The networks are gone.
    fn remove_rest(self) {
        match self {
            Self::AtOnce | Self::ControllersFirst => drop(kubectl(&["delete", "-k", &installation(), timeout()])),
            Self::Helm => {
                helm_uninstall();
                System::delete_crds();
                kubectl(&["delete", "namespace", NAMESPACE, timeout()]);
            }
        }
    }
}

/// Everything but the CRDs of users' objects, which exist.
fn delete_installation() {
    let answer = try_run("kubectl", &["delete", "-k", &installation(), "--wait=false", "--ignore-not-found"], "");
    let words = answer.expect_err("a network exists");
    assert!(words.contains("network orders exists"), "{words}");
}

fn chart() -> Option<String> {
    let folder = std::env::var("USNET_RELEASE").ok()?;
    Some(format!("{folder}/usnet-{}.tgz", env!("CARGO_PKG_VERSION")))
}

fn helm_install() {
    let images = kubectl(&["kustomize", &installation()]);
    let image = images.lines().find_map(|line| line.trim().strip_prefix("image: ")).unwrap();
    let (repository, tag) = image.rsplit_once(':').unwrap();
    let set = format!("image.repository={repository},image.tag={tag}");
    let chart = chart().unwrap();
    run(
        "helm",
        &[
            "upgrade",
            "--install",
            "usnet",
            &chart,
            "-n",
            NAMESPACE,
            "--create-namespace",
            "--set",
            &set,
            "--wait",
            timeout(),
        ],
    );
}

fn helm_uninstall() {
    run("helm", &["uninstall", "usnet", "-n", NAMESPACE, "--wait", timeout()]);
}

fn recovers(order: Order) {
    let figures = Figures::new(order.name());
    order.install();
    let scene = Scene::new(NETWORK);
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.174.0.0/16"}]]});
    scene.network(NETWORK, &json!({"port": {"type": "Veth"}, "ipam": ipam}));
    ["from", "to"].iter().for_each(|pod| start(&scene, &sleeping_pod(&scene, pod, NETWORK)));
    let [from, to] = ["from", "to"].map(|pod| Station::of_pod(&scene, pod));
    let stream = Stream::start("OVS", &from, &to);
    let (started, first) = (Instant::now(), stream.begin());
    order.remove();
    let sample = stream.end(first);
    figures.text("removed under traffic", &format!("{:.1} s, {sample:?}", started.elapsed().as_secs_f64()));
    assert_eq!(sample.lost, Some(0));
    drop(stream);
    scene.delete_pods(["from", "to"]);
    figures.text("left then", &leftovers().join(", "));

    let started = Instant::now();
    order.install();
    eventually("the network is gone", || check(get(&["usn", NETWORK]).is_none(), "still there"));
    figures.seconds("installed again, until the network is gone", started.elapsed());
    scene.network(NETWORK, &json!({"port": {"type": "Veth"}}));
    wait_ready(NETWORK);
    drop(scene);
    let started = Instant::now();
    order.remove_rest();
    eventually("nothing is left", || check(leftovers().is_empty(), leftovers().join(", ")));
    figures
        .seconds(&format!("removed in order, to nothing on {} nodes and in the API", NODES.len()), started.elapsed());
}

#[test]
fn a_removal_in_the_wrong_order_completes_after_a_reinstallation() {
    if !is_long("usnet removed in several orders") {
        return;
    }
    let _system = System::remove();
    recovers(Order::AtOnce);
    recovers(Order::ControllersFirst);
    match chart() {
        Some(_) => recovers(Order::Helm),
        None => println!("SKIPPED: Helm: no files of a release; `make gitops` runs this"),
    }
}
