//! Networks that the controller or nodes reject, and pods on them.

use super::{Mistakes, NAME};
use serde_json::{Value, json};

/// The uplink whose NIC no node has.
const UPLINK: &str = "ask-wrong-nic";

/// An uplink with a NIC that no node has.
pub(super) fn without_nic() -> Value {
    let nics = json!([{"device": {"type": "Name", "name": "none0"}}]);
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceUplink", "metadata": {"name": UPLINK},
        "spec": {"engine": "OVS", "vlans": ["7"], "nics": nics},
    })
}

pub(super) fn add(mistakes: &mut Mistakes<'_>) {
    let on_uplink = |name: &str| json!({"topology": {"type": "Uplink", "uplink": {"name": name, "vlan": 7}}});
    for (what, name, spec, cause, remedy) in [
        (
            "an MTU too large for the overlay",
            "ask-wrong-mtu",
            json!({"topology": {"type": "Overlay", "overlay": {}}, "bridge": {"mtu": 9000}}),
            "MtuTooLarge",
            "bridge.mtu",
        ),
        ("an uplink with an unknown NIC", "ask-wrong-up", on_uplink(UPLINK), "UplinkNotReady", "kubectl describe usu"),
        ("an uplink that does not exist", "ask-wrong-nou", on_uplink("ask-wrong-none"), "UplinkMissing", "uplink"),
        (
            "a bridge of another network",
            "ask-wrong-brd",
            json!({"bridge": {"name": "br-ask-wrong"}}),
            "BridgeConflict",
            "bridge",
        ),
    ] {
        mistakes.scene.apply_network(name, &spec);
        let network = mistakes.scene.manifest(name, &spec);
        mistakes.add(("network", what), network, (cause, remedy));
        let cause = if cause == "UplinkMissing" { "NetworkRejected" } else { cause };
        mistakes.annotated(&format!("{what}, of a pod"), name, (cause, remedy));
    }
    let mut pod = mistakes.sleeping(NAME);
    pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = json!("ask-wrong-up,ask-wrong");
    mistakes.pod("the first of two networks does not work", pod, ("UplinkNotReady", "kubectl describe usu"));
}
