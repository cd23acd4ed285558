//! Pods of the legacy userspace CNI as they were published, whose volume is a folder of the node,
//! with `config/components/legacy-pods`.

use super::handoff::{create, definition, definition_of_vpp, memif_pod, testpmd_pod};
use crate::support::cluster::{apply, check, eventually, get, kubectl, timeout, try_run};
use crate::support::pods::{NODE, received, sleeping_pod, wait_running};
use crate::support::scene::{Scene, wait_ready};
use crate::support::vpp;
use serde_json::{Value, json};

const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/components/legacy-pods/policy.yaml");
/// The policy, as long as this exists.
pub(super) struct Policy;

impl Policy {
    pub(super) fn apply() -> Self {
        kubectl(&["apply", "-f", POLICY]);
        Self
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        if let Err(error) = try_run("kubectl", &["delete", "-f", POLICY], "") {
            eprintln!("{error}");
        }
    }
}

/// The pod with a folder of the node in place of its volume, as published pods have it.
pub(super) fn with_folder(mut pod: Value) -> Value {
    let volumes = pod["spec"]["volumes"].as_array_mut().unwrap();
    let volume = volumes.iter_mut().find(|volume| volume["name"] == "shared-dir").unwrap();
    *volume = json!({"name": "shared-dir", "hostPath": {"path": "/var/lib/cni/usrspcni"}});
    pod
}

/// The volume that the API server gives to such a pod with these networks.
fn volume_of(scene: &Scene, networks: &str) -> Result<Value, String> {
    let mut pod = sleeping_pod(scene, "asks", networks);
    pod["spec"]["volumes"] = json!([{"name": "usnet", "emptyDir": {}}, {"name": "shared-dir", "emptyDir": {}}]);
    let arguments = ["create", "--dry-run=server", "-o", "json", "-f", "-"];
    let text = try_run("kubectl", &arguments, &with_folder(pod).to_string())?;
    let mut pod: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok(pod["spec"]["volumes"][1].take())
}

/// Waits until the API server knows the policy and the definition, which may take a minute after
/// its start.
pub(super) fn await_policy(scene: &Scene, definition: &str) {
    eventually("the policy", || {
        let volume = volume_of(scene, definition)?;
        check(volume == json!({"name": "shared-dir", "emptyDir": {}}), volume.to_string())
    });
}

fn assert_untouched(scene: &Scene, networks: &str) {
    let volume = volume_of(scene, networks).unwrap();
    assert_eq!(volume["hostPath"]["path"], "/var/lib/cni/usrspcni", "{networks}: {volume}");
}

/// One test with one policy: the API server learns only after a second that an earlier one is gone.
#[test]
fn published_pods_are_attached_as_they_are_and_no_other_pod_is_changed() {
    let _policy = Policy::apply();
    open_vswitch();
    vpp();
}

fn open_vswitch() {
    let scene = Scene::new("published");
    scene.network("published-new", &json!({}));
    apply(&definition(&scene, "published-old", "br-published"));
    await_policy(&scene, "published-old");
    for selects in ["published-new, published-old@net2", "published/published-old", r#"[{"name": "published-old"}]"#] {
        await_policy(&scene, selects);
    }
    for other in [
        "published-new",
        "published-older",
        "default/published-old",
        r#"[{"name": "published-old", "namespace": "default"}]"#,
    ] {
        assert_untouched(&scene, other);
    }
    wait_ready("ovs-br-published");
    create(&with_folder(testpmd_pod(&scene, "rx", "published-old", "rxonly")));
    create(&with_folder(testpmd_pod(&scene, "tx", "published-old", "txonly")));
    wait_running(&scene, "rx");
    await_many_packets(&scene, "rx");
    remove(&scene, "ovs-br-published");
}

fn vpp() {
    let (scene, network) = (Scene::new("published-vpp"), "vpp-4712");
    apply(&definition_of_vpp(&scene, "published-vpp", 4712));
    await_policy(&scene, "published-vpp");
    wait_ready(network);
    for pod in ["left", "right"] {
        create(&with_folder(memif_pod(&scene, pod, "published-vpp")));
    }
    vpp::await_ports(NODE, network, 2);
    if vpp::moves_packets("packets of published pods") {
        wait_running(&scene, "right");
        await_many_packets(&scene, "right");
    }
    remove(&scene, network);
}

/// Enough that a port which stops soon would not pass.
pub(super) fn await_many_packets(scene: &Scene, pod: &str) {
    let packets = eventually("100,000 packets", || {
        let packets = received(scene, pod);
        check(packets.iter().any(|count| *count >= 100_000), format!("{packets:?}"))?;
        Ok(packets)
    });
    println!("packets received by the published pod {pod}: {packets:?}");
}

pub(super) fn remove(scene: &Scene, network: &str) {
    kubectl(&["delete", "pods", "--all", "-n", &scene.name, "--grace-period=1", timeout()]);
    kubectl(&["delete", "net-attach-def", "--all", "-n", &scene.name]);
    eventually("the network goes", || check(get(&["usn", network]).is_none(), "still there"));
}
