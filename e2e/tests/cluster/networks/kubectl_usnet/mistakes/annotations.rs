//! Mistakes in the annotation of a pod.

use super::{CLAIMED, Mistakes, NAME, VETH};
use serde_json::{Value, json};

const INVALID: &str = "AnnotationInvalid";

impl Mistakes<'_> {
    /// A pod whose annotation has one element with these fields, for a network of devices.
    fn element(&mut self, what: &str, fields: &Value, expected: (&'static str, &'static str)) -> &mut super::Mistake {
        let mut element = json!({"name": VETH});
        element.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.annotated(what, &json!([element]).to_string(), expected)
    }
}

/// Values of the wrong type or form.
pub(super) fn values(mistakes: &mut Mistakes<'_>) {
    let unreadable = "cannot unmarshal";
    for (what, fields, remedy) in [
        ("a rate with a unit", json!({"bandwidth": {"ingressRate": "10M"}}), "write \"ingressRate\": 10000000"),
        ("bandwidth as text", json!({"bandwidth": "10M"}), "write \"bandwidth\": {"),
        ("ips as text", json!({"ips": "10.56.92.20"}), "write \"ips\": ["),
        ("default-route as text", json!({"default-route": "10.56.92.1"}), "write \"default-route\": ["),
        ("portMappings as text", json!({"portMappings": "8080:80"}), "remove portMappings"),
        ("a number as interface", json!({"interface": 7}), "correct it"),
    ] {
        mistakes.element(what, &fields, (INVALID, remedy)).event(unreadable);
    }
    for (what, fields, remedy) in [
        ("no IP address", json!({"ips": ["10.56.92.777"]}), "correct ips"),
        ("a prefix of 33 bits", json!({"ips": ["10.56.92.20/33"]}), "correct ips"),
        ("half a MAC address", json!({"mac": "02:00"}), "six pairs"),
        ("the MAC address of a group", json!({"mac": "01:00:5e:00:00:01"}), "the first pair even"),
    ] {
        mistakes.element(what, &fields, (INVALID, remedy));
    }
    mistakes.annotated("JSON that does not end", "[{", (INVALID, "correct it"));
    mistakes.annotated("JSON without a list", &json!({"name": VETH}).to_string(), (INVALID, "correct it"));
    let route = json!({"name": VETH, "default-route": ["10.56.92.1"]});
    let routes = json!([route, route]).to_string();
    let expected = ("DefaultRouteTwice", "leave default-route");
    mistakes.annotated("two default routes", &routes, expected).event("does not support ECMP");
}

/// Names of networks, namespaces and interfaces.
pub(super) fn names(mistakes: &mut Mistakes<'_>) {
    let invalid = ("InterfaceNameInvalid", "use another name");
    mistakes.annotated("interface eth0", &format!("{VETH}@eth0"), invalid).event("already exists");
    let long = format!("{VETH}@abcdefghijklmnopqrstuvwxyz");
    mistakes.annotated("an interface name of 26 letters", &long, invalid).event("interface name");
    let twice = format!("{VETH},{VETH}@net1");
    let expected = ("InterfaceNameTwice", "a name of its own");
    mistakes.annotated("an interface name twice", &twice, expected).event("net1 already exists");
    mistakes.annotated("capital letters", "Ask-Wrong", (INVALID, "write ask-wrong if")).event("mismatch");
    let expected = ("UnknownNetwork", "write ask-wrong-veth if");
    mistakes.annotated("a misspelt network", "ask-wrong-vet", expected).event("cannot find");
    let expected = ("UnknownNamespace", "write ask-wrong/ask-wrong-veth if");
    mistakes.annotated("a misspelt namespace", "ask-wrogn/ask-wrong-veth", expected).event("cannot find");
    let expected = ("NamespaceNotSelected", "kubectl label namespace ask-wrong scene=another");
    mistakes.annotated("a network for other namespaces", CLAIMED, expected).event("cannot find");
    let mut pod = mistakes.sleeping("");
    pod["metadata"]["annotations"] = json!({"k8s.v1.cni.cncf.io/network": NAME});
    mistakes.pod("a misspelt key", pod, ("NoNetworkSelected", "k8s.v1.cni.cncf.io/networks: blue"));
}

/// Addresses that the network does not assign.
pub(super) fn addresses(mistakes: &mut Mistakes<'_>) {
    let outside = ("AddressOutsideRange", "such as 10.56.92.30");
    let ips = |address: &str| json!({"ips": [address]});
    mistakes
        .element("an address outside of the ranges", &ips("10.9.9.9"), outside)
        .event("this node assigns 10.56.92.20 to 10.56.92.30");
    mistakes.element("an IPv6 address", &ips("fd00::5"), outside);
    let gateway = ("AddressOfGateway", "request an address of the ranges");
    mistakes.element("the address of the gateway", &ips("10.56.92.1"), gateway);
    let taken = ("InvalidConfiguration", "request another address, or none");
    mistakes.element("an address of another pod", &ips("10.56.92.25"), taken);
}
