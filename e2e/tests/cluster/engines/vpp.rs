//! VPP from an image without anything of usnet.

use super::node::BareNode;
use super::{Engine, pod_on};
use crate::support::cluster::{apply, check, eventually, on_node};
use crate::support::pods::{NODE, await_packets, dpdk_pod, received, wait_running};
use crate::support::scene::Scene;
use crate::support::testpmd::{Driver, Program};
use crate::support::{images, vpp};
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;
use usnet_e2e::kubernetes::images::names::VPP_IMAGE;
use usnet_e2e::kubernetes::images::vpp as image;

#[test]
fn a_node_without_vpp_gets_one() {
    let Some(program) = std::env::var_os("USNET_VPP").map(PathBuf::from).filter(|_| vpp::is_real()) else {
        println!("SKIPPED: it needs a real VPP, for an image of it");
        return;
    };
    images::import(&image::archive(&images::settings().cache, &program).unwrap());
    let node = BareNode::without_vpp(NODE, "barevpp");
    let begun = Instant::now();
    let engine = Engine::apply("barevpp", &json!({"engine": "VPP", "image": VPP_IMAGE}));
    let scene = Scene::new("barevpp");
    scene.apply_network("barevpp", &json!({"engine": "VPP", "nodeSelector": {"matchLabels": {"barevpp": "yes"}}}));
    let program = Program { driver: Driver::Memif, mode: "flowgen", reconnects: true };
    for pod in ["left", "right"] {
        apply(&dpdk_pod(&scene, pod, "barevpp", program));
    }
    engine.await_ready();
    println!("engine: VPP ready after {:.1} s", begun.elapsed().as_secs_f64());
    for pod in ["left", "right"] {
        wait_running(&scene, pod);
        await_packets(&scene, pod, 1);
    }
    println!("engine: VPP, packets in both pods after {:.1} s", begun.elapsed().as_secs_f64());

    let before = node.processes("vpp");
    let [process] = before.as_slice() else { panic!("{before:?}") };
    let counted = received(&scene, "left");
    let killed = Instant::now();
    on_node(NODE, &["kill", "-9", process]);
    eventually("packets again", || {
        let now = received(&scene, "left");
        check(now.iter().zip(&counted).all(|(now, then)| now > &(then + 1)), format!("{now:?} {counted:?}"))
    });
    println!("engine: VPP killed; packets again after {:.1} s", killed.elapsed().as_secs_f64());
    let pod = pod_on("barevpp", NODE).unwrap();
    assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 0, "{pod}");
    scene.delete_pods(["left", "right"]);
}
