//! The files of a release, installed, upgraded and removed as users do it: `make release-test`.

use crate::outages::uninstalled::{assert_traffic, busy_scene};
use crate::support::cluster::{NODES, check, eventually, get, kubectl, on_node, run, timeout, try_run, vsctl};
use crate::support::scene::{Scene, remains, wait_ready};
use std::path::PathBuf;

const NAMESPACE: &str = "usnet-system";
const WORKLOADS: [&str; 2] = ["deployment/usnet-controller", "daemonset/usnet-agent"];

/// The folder of the release. None unless `make release-test` started this.
fn dist() -> Option<PathBuf> {
    let folder = std::env::var_os("USNET_RELEASE").map(PathBuf::from);
    if folder.is_none() {
        println!("SKIPPED: no files of a release in this test bed; `make release-test` runs this");
    }
    folder
}

fn await_rollout() {
    for workload in WORKLOADS {
        kubectl(&["rollout", "status", "-n", NAMESPACE, timeout(), workload]);
    }
}

/// The rows of the ports of a network, with what changes when one is recreated.
fn ports(network: &str) -> String {
    let network = format!("external_ids:usnet.dev/network={network}");
    let columns = "--columns=name,_uuid";
    NODES.map(|node| vsctl(node, &["--format=csv", "--no-headings", columns, "find", "Port", &network])).join("\n")
}

fn pods_of_usnet() -> String {
    kubectl(&["get", "pods", "-n", NAMESPACE, "-o", "name"])
}

/// Deletes pods and networks of a scene, and asserts that nothing is left of them.
fn end(scene: Scene) {
    let network = scene.name.clone();
    drop(scene);
    assert_eq!(remains(&network), Vec::<String>::new());
}

#[test]
fn install_yaml_is_applied_and_deleted() {
    let Some(dist) = dist() else { return };
    let manifests = dist.join("install.yaml");
    let manifests = manifests.to_str().unwrap();
    kubectl(&["apply", "-f", manifests]);
    await_rollout();
    kubectl(&["apply", "--dry-run=server", "-f", dist.join("samples.yaml").to_str().unwrap()]);
    let scene = busy_scene("release-manifests");
    assert_traffic(&scene);
    end(scene);
    kubectl(&["delete", "-f", manifests, timeout()]);
    eventually("nothing is left in the API server", || {
        let left = kubectl(&["get", "crd,validatingadmissionpolicy,clusterrole,namespace", "-o", "name"]);
        check(!left.contains("usnet"), left)
    });
}

#[test]
fn the_chart_is_installed_upgraded_and_removed_under_running_pods() {
    let Some(dist) = dist() else { return };
    let version = env!("CARGO_PKG_VERSION");
    let chart = dist.join(format!("usnet-{version}.tgz"));
    let chart = chart.to_str().unwrap();
    let install = ["upgrade", "--install", "usnet", chart, "-n", NAMESPACE, "--create-namespace", "--wait", timeout()];
    run("helm", &install);
    await_rollout();
    run("helm", &["test", "usnet", "-n", NAMESPACE, timeout()]);
    let scene = busy_scene("release-chart");
    let before = ports(&scene.name);

    // Another tag of the same image: every pod of usnet is replaced.
    let name = |tag: &str| format!("docker.io/library/usnet:{tag}");
    for node in NODES {
        on_node(node, &["ctr", "--namespace=k8s.io", "images", "tag", &name(version), &name("next")]);
    }
    let replaced = pods_of_usnet();
    run("helm", &[install.as_slice(), &["--set", "image.tag=next,controller.replicas=1,networkPolicy=true"]].concat());
    await_rollout();
    eventually("only new pods run", || {
        let now = pods_of_usnet();
        check(now.lines().count() == 1 + NODES.len() && !now.lines().any(|pod| replaced.contains(pod)), now)
    });
    wait_ready(&scene.name);
    assert_eq!(ports(&scene.name), before, "ports after the upgrade");
    assert_traffic(&scene);

    run("helm", &["rollback", "usnet", "1", "-n", NAMESPACE, "--wait", timeout()]);
    await_rollout();
    assert_eq!(ports(&scene.name), before, "ports after the rollback");

    run("helm", &["uninstall", "usnet", "-n", NAMESPACE, "--wait", timeout()]);
    assert_traffic(&scene);
    assert!(get(&["usn", &scene.name]).is_some(), "networks stay with their definitions");
    assert_eq!(kubectl(&["get", "daemonset,deployment", "-n", NAMESPACE, "-o", "name"]), "");

    run("helm", &install);
    await_rollout();
    wait_ready(&scene.name);
    assert_eq!(ports(&scene.name), before, "ports after usnet was installed again");
    assert_traffic(&scene);
    end(scene);
    run("helm", &["uninstall", "usnet", "-n", NAMESPACE, "--wait", timeout()]);
    kubectl(&["delete", "-f", dist.join("crds.yaml").to_str().unwrap(), timeout()]);
    kubectl(&["delete", "namespace", NAMESPACE, timeout()]);
    let left = try_run("kubectl", &["get", "crd,validatingadmissionpolicy,clusterrole", "-o", "name"], "").unwrap();
    assert!(!left.contains("usnet"), "{left}");
}
