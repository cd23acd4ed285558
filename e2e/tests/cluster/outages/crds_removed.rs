//! The CRDs of usnet are removed one by one, in several orders, and installed again.

use crate::outages::uninstalled::{Installed, allow_deletion, assert_traffic, busy_scene, install};
use crate::support::cluster::{NODES, check, eventually, get, kubectl, timeout, try_run, vsctl};
use crate::support::scene::{Scene, remains, wait_ready};
use crate::support::uplinks::Uplink;
use serde_json::json;

const NETWORKS: &str = "userspacenetworks.usnet.dev";
const COMPILED: &str = "compilednetworks.usnet.dev";
const STATES: &str = "userspacenodestates.usnet.dev";

#[test]
fn compiled_networks_that_vanish_with_their_crd_change_nothing_on_nodes() {
    let scene = busy_scene("uncompiled");
    let _restore = Installed;
    let bridges = || NODES.map(|node| vsctl(node, &["get", "Bridge", "br-uncompiled", "_uuid"]));
    let before = bridges();
    kubectl(&["delete", "crd", COMPILED, timeout()]);
    assert_traffic(&scene);
    assert_eq!(bridges(), before);
    install();
    eventually("it is compiled again", || check(get(&["ucn", "uncompiled"]).is_some(), "not there"));
    wait_ready("uncompiled");
    scene.apply_network("uncompiled", &json!({"bridge": {"mtu": 1400}}));
    wait_ready("uncompiled");
    NODES
        .iter()
        .for_each(|node| assert_eq!(vsctl(node, &["get", "Interface", "br-uncompiled", "mtu_request"]), "1400"));
    assert_eq!(bridges(), before);
    assert_traffic(&scene);
}

/// The deletion is refused with these words. An API server that has just started, or from which a
/// CRD was removed, knows no parameters of a policy for up to a minute.
#[track_caller]
fn assert_kept(crd: &str, words: &str) {
    eventually("the deletion is refused", || {
        let answer = try_run("kubectl", &["delete", "crd", crd, "--dry-run=server"], "");
        check(answer.as_ref().is_err_and(|answer| answer.contains(words)), format!("{answer:?}"))
    });
}

#[test]
fn crds_of_users_stay_while_a_network_or_an_uplink_exists() {
    let uplink = Uplink::nowhere("keeps-crds", &["100-199"]);
    assert_kept("userspaceuplinks.usnet.dev", "uplink keeps-crds exists");
    drop(uplink);
    let scene = Scene::new("keeps-crds");
    scene.network("keeps-crds", &json!({}));
    let others = ["userspaceuplinks.usnet.dev", "userspaceattachments.usnet.dev", "userspacereservations.usnet.dev"];
    for crd in [NETWORKS].into_iter().chain(others) {
        assert_kept(crd, "exists, and would be deleted with the CRD: delete networks first");
    }
    // The value is not the name of this CRD.
    kubectl(&["annotate", "crd", NETWORKS, "--overwrite", "usnet.dev/force-delete=true"]);
    assert_kept(NETWORKS, "usnet.dev/force-delete=userspacenetworks.usnet.dev");
    allow_deletion(NETWORKS);
    kubectl(&["delete", "crd", NETWORKS, "--dry-run=server"]);
    kubectl(&["annotate", "crd", NETWORKS, "usnet.dev/force-delete-"]);
}

#[test]
#[ignore = "long: make nightly"]
fn crds_that_are_removed_in_any_order_take_their_networks_with_them_and_can_be_installed_again() {
    let scene = Scene::new("orders");
    let _restore = Installed;
    for order in [[COMPILED, STATES, NETWORKS], [STATES, NETWORKS, COMPILED], [NETWORKS, COMPILED, STATES]] {
        println!("removed in the order {order:?}");
        scene.network("orders", &json!({}));
        for crd in order {
            if crd == NETWORKS {
                assert_kept(crd, "network orders exists");
                allow_deletion(crd);
            }
            // Networks have a finalizer, so that their CRD may wait for the others to be back.
            kubectl(&["delete", "crd", crd, "--wait=false"]);
            if crd != NETWORKS {
                kubectl(&["wait", "--for=delete", &format!("crd/{crd}"), timeout()]);
            }
        }
        install();
        eventually("the networks go, and with them their CRD", || {
            let crd = get(&["crd", NETWORKS]);
            // One that was deleted before is there again.
            check(crd.is_none_or(|crd| crd["metadata"]["deletionTimestamp"].is_null()), "it is still being deleted")
        });
        install();
        eventually("nothing of the network is left on nodes", || {
            let left = remains("orders");
            check(left.is_empty(), format!("{left:?}"))
        });
    }
    scene.network("orders", &json!({}));
}
