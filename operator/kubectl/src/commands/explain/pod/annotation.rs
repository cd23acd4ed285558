//! Mistakes in the annotation that Multus reads, by the rules of Multus and of the CNI plugin: the
//! types of fields, addresses, names of interfaces, and default routes. Pure.
//!
//! Format: <https://github.com/k8snetworkplumbingwg/multi-net-spec>, and Multus'
//! `NetworkSelectionElement`.

use crate::commands::explain::finding::Finding;
use crate::commands::names::nearest;
use crate::model::pod::NETWORKS;
use crate::model::selection::Selected;
use ipnet::IpNet;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use usnet_crds::MacAddress;

/// Longest name of an interface, in bytes (`IFNAMSIZ` without its NUL).
const INTERFACE_MAX: usize = 15;
/// The interfaces that every pod has.
const RESERVED: [&str; 2] = ["eth0", "lo"];
/// The keys of an element, of which Multus ignores all others.
const KEYS: [&str; 12] = [
    "name",
    "namespace",
    "ips",
    "mac",
    "infiniband-guid",
    "interface",
    "interfaceRequest",
    "portMappings",
    "bandwidth",
    "cni-args",
    "ipam-claim-reference",
    "default-route",
];
const RATES: [&str; 4] = ["ingressRate", "ingressBurst", "egressRate", "egressBurst"];

/// A mistake: its cause, what is wrong, and what to write.
struct Mistake {
    cause: &'static str,
    what: String,
    write: String,
}

fn mistake(cause: &'static str, what: String, write: impl Into<String>) -> Option<Mistake> {
    Some(Mistake { cause, what, write: write.into() })
}

const INVALID: &str = "AnnotationInvalid";

/// Returns the first mistake of each element, by its index. `elements` are those of the annotation.
pub(super) fn mistakes(annotation: &str, elements: &[Selected]) -> BTreeMap<usize, Finding> {
    let parsed: Vec<Value> = serde_json::from_str(annotation).unwrap_or_default();
    let mut seen = Seen::default();
    let mut found = BTreeMap::new();
    for (index, element) in elements.iter().enumerate() {
        let value = parsed.get(index).unwrap_or(&Value::Null);
        let first = fields(value).or_else(|| names(element)).or_else(|| seen.twice(element, value));
        let Some(Mistake { cause, what, write }) = first else { continue };
        let why = format!("element {} ({element}) of annotation {NETWORKS}: {what}", index + 1);
        let remedy = format!("{write}; correct it in what creates the pod, and create the pod again");
        found.insert(index, Finding::new(cause, why, remedy));
    }
    found
}

/// Returns warnings about keys that Multus ignores and that are similar to one that it reads.
pub(super) fn ignored_keys(annotation: &str) -> Vec<Finding> {
    let parsed: Vec<Value> = serde_json::from_str(annotation).unwrap_or_default();
    let mut findings = Vec::new();
    for (index, element) in parsed.iter().enumerate() {
        for key in element.as_object().into_iter().flat_map(Map::keys) {
            // Go matches keys without regard to case.
            let is_known = KEYS.iter().any(|known| known.eq_ignore_ascii_case(key));
            let Some(meant) = nearest(key, KEYS.into_iter()).filter(|_| !is_known) else { continue };
            let element = format!("element {} of annotation {NETWORKS}", index + 1);
            let why = format!("{element} has the key {key:?}, which Multus ignores");
            findings.push(Finding::new("KeyIgnored", why, format!("write {meant} if that was meant")).warning());
        }
    }
    findings
}

/// The types of fields, as Multus parses them.
fn fields(element: &Value) -> Option<Mistake> {
    let is_text = |key: &&&str| element.get(**key).is_some_and(|value| !value.is_string() && !value.is_null());
    if let Some(key) = ["namespace", "mac", "interface", "interfaceRequest"].iter().find(is_text) {
        return mistake(INVALID, format!("{key} is not text"), format!("write {key} in quotes"));
    }
    let list = |key: &str| element.get(key).filter(|value| !value.is_null());
    for key in ["ips", "default-route"] {
        let Some(value) = list(key) else { continue };
        let Some(items) = value.as_array().filter(|items| items.iter().all(Value::is_string)) else {
            let example = if key == "ips" { "10.56.217.5/24" } else { "10.56.217.1" };
            return mistake(
                INVALID,
                format!("{key} is {value}, and not a list of texts"),
                format!("write \"{key}\": [\"{example}\"]"),
            );
        };
        let is_invalid = |text: &&str| match key {
            "ips" => text.parse::<IpAddr>().is_err() && text.parse::<IpNet>().is_err(),
            _ => text.parse::<IpAddr>().is_err(),
        };
        if let Some(text) = items.iter().filter_map(Value::as_str).find(is_invalid) {
            return mistake(INVALID, format!("{text:?} in {key} is not an IP address"), format!("correct {key}"));
        }
    }
    let is_mapping = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_object));
    if let Some(value) = list("portMappings").filter(|value| !is_mapping(value)) {
        let write =
            "remove portMappings, which interfaces of usnet do not have: a pod's ports are reachable at its address";
        return mistake(INVALID, format!("portMappings is {value}, and not a list of objects"), write);
    }
    let mac = element.get("mac").and_then(Value::as_str).filter(|mac| mac.parse::<MacAddress>().is_err());
    if let Some(mac) = mac {
        let write = "write six pairs of hexadecimal digits with colons, the first pair even, such as 02:00:00:00:00:07";
        return mistake(INVALID, format!("mac {mac:?} is not the MAC address of an interface"), write);
    }
    bandwidth(element.get("bandwidth").filter(|value| !value.is_null())?)
}

fn bandwidth(value: &Value) -> Option<Mistake> {
    let Some(rates) = value.as_object() else {
        return mistake(
            INVALID,
            format!("bandwidth is {value}, and not an object"),
            "write \"bandwidth\": {\"ingressRate\": 10000000, \"egressRate\": 10000000}, in bits per second",
        );
    };
    let (key, value) = rates.iter().find(|(key, value)| RATES.contains(&key.as_str()) && value.as_i64().is_none())?;
    let number = value.as_str().and_then(bits).unwrap_or(10_000_000);
    mistake(
        INVALID,
        format!("bandwidth.{key} is {value}, and not a number of bits"),
        format!("write \"{key}\": {number}, in bits per second without unit or quotes"),
    )
}

/// Returns the number of bits of a text with a unit, such as `10M`.
fn bits(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = (text.get(..end)?.parse::<u64>().ok()?, text.get(end..)?.trim());
    let factor = match unit.chars().next().map(|letter| letter.to_ascii_lowercase()) {
        None => 1,
        Some('k') => 1_000,
        Some('m') => 1_000_000,
        Some('g') => 1_000_000_000,
        Some(_) => return None,
    };
    number.checked_mul(factor)
}

/// The names of the definition and of the interface.
fn names(element: &Selected) -> Option<Mistake> {
    let Selected { namespace, name, interface, .. } = element;
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |text: &&&String| {
        !text.is_empty() && text.bytes().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
    };
    if let Some(wrong) = [name, namespace].iter().find(|text| !is_label(text) && !text.contains('.')) {
        let lower = wrong.to_lowercase();
        return mistake(
            INVALID,
            format!("{wrong:?} is not a name in Kubernetes, which has lower-case letters, digits and '-' alone"),
            format!("write {lower} if that is the name"),
        );
    }
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let problem = if RESERVED.contains(&interface.as_str()) {
        format!("{interface} is an interface that every pod has")
    } else if interface.len() > INTERFACE_MAX {
        format!(
            "the name of an interface has at most {INTERFACE_MAX} characters, and {interface} has {}",
            interface.len()
        )
    } else if !interface.bytes().all(is_letter) || !interface.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        format!("{interface:?} is not the name of an interface")
    } else {
        return None;
    };
    mistake("InterfaceNameInvalid", problem, "use another name, such as net1")
}

/// What earlier elements have, and only one may have.
#[derive(Default)]
struct Seen {
    interfaces: BTreeSet<String>,
    /// Whether there is a default route, for IPv4 and for IPv6.
    routes: [bool; 2],
}

impl Seen {
    fn twice(&mut self, element: &Selected, value: &Value) -> Option<Mistake> {
        let interface = &element.interface;
        let routes = value.get("default-route").and_then(Value::as_array).into_iter().flatten();
        let families = routes.filter_map(|route| Some(route.as_str()?.parse::<IpAddr>().ok()?.is_ipv6()));
        let [ipv4, ipv6] = &mut self.routes;
        let mut is_second = false;
        for is_ipv6 in families {
            is_second |= std::mem::replace(if is_ipv6 { &mut *ipv6 } else { &mut *ipv4 }, true);
        }
        if !self.interfaces.insert(interface.clone()) {
            let what = format!("an earlier element has interface {interface} as well");
            return mistake("InterfaceNameTwice", what, "give each interface a name of its own");
        }
        let what =
            "an earlier element has a default-route of the same family, and a pod has one default route for each";
        is_second.then(|| mistake("DefaultRouteTwice", what.to_owned(), "leave default-route in one element")).flatten()
    }
}
