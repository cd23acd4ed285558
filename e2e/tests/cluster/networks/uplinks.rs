//! Uplinks at the API server and the controller; `across_nodes` tests their traffic.

use crate::support::cluster::{check, eventually, get, kubectl, timeout, try_run};
use crate::support::scene::{Scene, await_condition, compiled, wait_ready};
use crate::support::uplinks::{Uplink, nowhere};
use serde_json::{Value, json};

fn on_uplink(vlan: u32) -> Value {
    json!({"topology": {"type": "Uplink", "uplink": {"name": "rules", "vlan": vlan}}})
}

fn condition_of_uplink(kind: &str) -> Option<Value> {
    let uplink = get(&["usu", "rules"])?;
    let conditions = uplink["status"]["conditions"].as_array()?.clone();
    conditions.into_iter().find(|condition| condition["type"] == kind)
}

#[test]
fn networks_take_vlans_of_an_uplink_which_stays_while_they_use_it() {
    let scene = Scene::new("uplinks");
    scene.apply_network("up-one", &on_uplink(7));
    await_condition("up-one", "Accepted", "False", "UplinkMissing");
    let uplink = Uplink::nowhere("rules", &["7-8"]);
    wait_ready("up-one");
    assert_eq!(compiled("up-one").unwrap()["uplink"], json!({"name": "rules", "vlan": 7}));
    scene.apply_network("up-two", &on_uplink(7));
    let message = await_condition("up-two", "Accepted", "False", "VlanTaken");
    assert!(message.contains("already belongs to network up-one"), "{message}");
    scene.apply_network("up-two", &on_uplink(9));
    await_condition("up-two", "Accepted", "False", "VlanNotAvailable");
    scene.apply_network("up-two", &on_uplink(8));
    wait_ready("up-two");
    let used = |expected: Value| {
        eventually("the networks of the uplink", || {
            let status = get(&["usu", "rules"]).ok_or("gone")?["status"].take();
            check(status["networks"] == expected, status.to_string())
        });
    };
    used(json!(["up-one", "up-two"]));

    // A VLAN that is removed under a network stays.
    let _reduced = Uplink::nowhere("rules", &["8"]);
    await_condition("up-one", "Accepted", "False", "VlanNotAvailable");
    assert_eq!(compiled("up-one").unwrap()["uplink"]["vlan"], 7);
    eventually("the uplink says so", || {
        let condition = condition_of_uplink("Accepted").ok_or("none")?;
        check(condition["reason"] == "VlanInUse", condition.to_string())
    });

    kubectl(&["delete", "usu", "rules", "--wait=false"]);
    eventually("the deletion waits", || {
        let blocked = condition_of_uplink("DeletionBlocked").ok_or("no DeletionBlocked")?;
        let message = blocked["message"].as_str().unwrap();
        check(message.contains("2 networks still use it: up-one, up-two"), message)
    });
    kubectl(&["delete", "usn", "up-one", "up-two", timeout()]);
    kubectl(&["wait", "--for=delete", "usu/rules", timeout()]);
    drop(uplink);
}

#[test]
fn the_api_server_says_what_uplinks_cannot_do_yet() {
    let mut engine = nowhere("refused", &["7"]);
    engine["spec"]["engine"] = "VPP".into();
    engine["spec"]["nodeTraffic"] = "Shared".into();
    let with_driver = |engine: &str, driver: &str| {
        let mut object = nowhere("refused", &[]);
        object["spec"]["engine"] = engine.into();
        object["spec"]["nics"][0]["driver"] = driver.into();
        object
    };
    let mut shared = nowhere("refused", &[]);
    shared["spec"]["nodeTraffic"] = "Shared".into();
    for (object, words) in [
        (engine, "nodeTraffic Shared needs the engine OVS"),
        (with_driver("VPP", "AFXDP"), "the drivers DPDK and AFXDP need the engine OVS"),
        (with_driver("OVS", "DPDK"), "only its PCI address identifies a NIC that Linux does not drive"),
        (shared, "networks need a VLAN: set vlans"),
        (nowhere("refused", &["7", "200-100"]), "not a range of VLANs"),
    ] {
        let answer = try_run("kubectl", &["create", "-f", "-"], &object.to_string()).unwrap_err();
        assert!(answer.contains(words), "{answer}");
    }
}
