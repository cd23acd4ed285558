//! NetworkAttachmentDefinitions: of a configuration of usnet only known keys are kept, of one of
//! another plugin its name, its type and its size. Anything may be in the rest. Pure.

use super::ipam;
use super::values::{is_plain, removed};
use serde_json::{Map, Value, json};
use usnet_crds::legacy::PLUGIN;

/// The keys of a configuration of usnet, at any depth: its own and those of the Userspace CNI.
const KEYS: [&str; 31] = [
    "cniVersion",
    "name",
    "type",
    "network",
    "networks",
    "deviceID",
    "capabilities",
    "mac",
    "ips",
    "bandwidth",
    "host",
    "container",
    "engine",
    "iftype",
    "netType",
    "vhost",
    "memif",
    "mode",
    "role",
    "group",
    "ringSize",
    "rxQueues",
    "txQueues",
    "bridge",
    "bridgeName",
    "bridgeId",
    "vlanId",
    "mtu",
    "ingressPolicingRate",
    "sharedDir",
    "socketfile",
];
/// The fields of metadata that are kept.
const METADATA: [&str; 8] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "ownerReferences",
];

/// The object with its known fields.
pub(super) fn known(definition: &Value) -> Value {
    let metadata = definition.get("metadata").and_then(Value::as_object).into_iter().flatten();
    let metadata: Map<String, Value> = metadata
        .filter(|(key, _)| METADATA.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let text = definition.pointer("/spec/config").and_then(Value::as_str).unwrap_or_default();
    json!({"metadata": metadata, "spec": {"config": configuration(text)}})
}

fn configuration(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Object(whole)) => {
            let mut kept = plugin(&whole, text.len());
            if let Some(plugins) = value(&whole, "plugins").and_then(Value::as_array) {
                let each = |item: &Value| item.as_object().map(|item| plugin(item, item_size(item)));
                let listed: Vec<_> = plugins.iter().filter_map(each).collect();
                kept.extend([("plugins".to_owned(), json!(listed))]);
            }
            Value::Object(kept)
        }
        _ => json!({"size": text.len(), "problem": "not a JSON object"}),
    }
}

fn item_size(item: &Map<String, Value>) -> usize {
    serde_json::to_string(item).map_or(0, |text| text.len())
}

/// The configuration of one plugin, or the head of a list.
fn plugin(configuration: &Map<String, Value>, size: usize) -> Map<String, Value> {
    let kind = value(configuration, "type").and_then(Value::as_str);
    if kind == Some(PLUGIN) {
        return fields(configuration);
    }
    let names = ["cniVersion", "name", "type"].into_iter().filter_map(|key| {
        let text = value(configuration, key)?.as_str().filter(|text| is_plain(text))?;
        Some((key.to_owned(), text.into()))
    });
    names.chain([("size".to_owned(), size.into())]).collect()
}

fn fields(whole: &Map<String, Value>) -> Map<String, Value> {
    let (mut kept, mut unknown) = (Map::new(), 0);
    for (key, value) in whole {
        let known = match value {
            Value::Object(parts) if key.eq_ignore_ascii_case("ipam") => Some(ipam::known(parts).into()),
            _ if !KEYS.iter().any(|known| known.eq_ignore_ascii_case(key)) => None,
            value => plain(value),
        };
        match known {
            Some(value) => drop(kept.insert(key.clone(), value)),
            None => unknown += 1,
        }
    }
    if unknown > 0 {
        kept.extend([removed(unknown)]);
    }
    kept
}

fn plain(value: &Value) -> Option<Value> {
    match value {
        Value::Object(parts) => Some(fields(parts).into()),
        Value::Array(items) => Some(items.iter().filter_map(plain).collect()),
        Value::String(text) => is_plain(text).then(|| value.clone()),
        other => Some(other.clone()),
    }
}

fn value<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    object.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value)
}
