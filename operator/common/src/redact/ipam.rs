//! Configurations of IPAM plugins: only what is known of a known plugin is kept. A plugin may be
//! any program, and its author may call a secret anything. Pure.

use super::REMOVED;
use super::values::{is_plain, removed};
use serde_json::{Map, Value};
use usnet_crds::ipam;

/// Keys below those of [`ipam::KEYS`].
const INNER: [&str; 17] = [
    "address",
    "dst",
    "gw",
    "mtu",
    "advmss",
    "priority",
    "table",
    "scope",
    "nameservers",
    "domain",
    "search",
    "options",
    "option",
    "skipDefault",
    "fromDefault",
    "fromArg",
    "node_slice_size",
];

/// The configuration with its known fields, and the number of unknown keys.
pub(super) fn known(ipam: &Map<String, Value>) -> Map<String, Value> {
    if ipam.contains_key(REMOVED) {
        return part(ipam);
    }
    let plugin = ipam.iter().find(|(key, _)| key.eq_ignore_ascii_case("type")).and_then(|(_, value)| value.as_str());
    if !plugin.is_some_and(|plugin| ipam::PLUGINS.contains(&plugin)) {
        let plugin = plugin.filter(|plugin| is_plain(plugin)).map(|plugin| ("type".to_owned(), plugin.into()));
        return plugin.into_iter().chain([removed(ipam.len())]).collect();
    }
    part(ipam)
}

fn part(fields: &Map<String, Value>) -> Map<String, Value> {
    let is_known = |key: &str| {
        let mut known = ipam::KEYS.iter().chain(&INNER);
        key == REMOVED || known.any(|known| known.eq_ignore_ascii_case(key))
    };
    let kept = fields.iter().filter(|(key, _)| is_known(key));
    let mut kept: Map<String, Value> = kept.map(|(key, value)| (key.clone(), plain(value))).collect();
    if kept.len() < fields.len() {
        kept.extend([removed(fields.len() - kept.len())]);
    }
    kept
}

/// A value that can be an address, a name or a setting.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(part(fields)),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::String(text) if !is_plain(text) && text != REMOVED => REMOVED.into(),
        other => other.clone(),
    }
}
