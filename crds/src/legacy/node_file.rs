//! Configurations in files of a node: those of a runtime's list of plugins, or of Multus.

use super::{CONFIG_MAX, InvalidNadConfig, Legacy, NadConfig, PLUGIN, check_version, is_ours, one};
use serde_json::{Map, Value};

/// The keys with other configurations: a list of plugins (CNI specification), and the networks of
/// all pods (Multus).
const NESTED: [&str; 2] = ["plugins", "delegates"];
/// How deep they are nested: a delegate of Multus may be a list of plugins, and Multus be in one.
const DEPTH_MAX: usize = 3;

/// The configurations of Intel's userspace CNI in a file of a node's folder of CNI configurations;
/// none if it is for other plugins, or names networks.
///
/// # Errors
/// The first configuration that is not valid. Files in which our plugin is not named are not read.
pub fn of_node_file(text: &str) -> Result<Vec<Legacy>, InvalidNadConfig> {
    if !text.contains(PLUGIN) {
        return Ok(Vec::new());
    }
    if text.len() > CONFIG_MAX {
        return Err(InvalidNadConfig::TooLong(text.len()));
    }
    let Ok(Value::Object(whole)) = serde_json::from_str(text) else { return Err(InvalidNadConfig::NotJson) };
    check_version(whole.get("cniVersion").cloned())?;
    let mut found = Vec::new();
    collect(&whole, DEPTH_MAX, &mut found)?;
    Ok(found)
}

fn collect(configuration: &Map<String, Value>, depth: usize, found: &mut Vec<Legacy>) -> Result<(), InvalidNadConfig> {
    if is_ours(configuration) {
        if let NadConfig::Legacy(legacy) = one(configuration)? {
            found.push(*legacy);
        }
        return Ok(());
    }
    let nested = NESTED.iter().filter_map(|key| configuration.get(*key)).filter_map(Value::as_array).flatten();
    let nested = nested.filter_map(Value::as_object).filter(|_| depth > 0);
    nested.into_iter().try_for_each(|nested| collect(nested, depth - 1, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ours(bridge: &str) -> Value {
        json!({"type": "userspace", "name": "old", "host": {
            "engine": "ovs-dpdk", "iftype": "vhostuser", "vhost": {"mode": "client"}, "bridge": {"bridgeName": bridge},
        }})
    }

    fn bridges(file: &Value) -> Vec<String> {
        of_node_file(&file.to_string()).unwrap().into_iter().map(|legacy| legacy.bridge.to_string()).collect()
    }

    #[test]
    fn configurations_are_found_in_lists_of_plugins_and_in_delegates_of_multus() {
        assert_eq!(bridges(&ours("br0")), ["br0"]);
        assert_eq!(bridges(&json!({"cniVersion": "0.3.1", "plugins": [{"type": "tuning"}, ours("br1")]})), ["br1"]);
        let delegates = json!([{"type": "flannel"}, ours("br2"), {"plugins": [ours("br3")]}]);
        let multus = json!({"type": "multus", "delegates": delegates});
        assert_eq!(bridges(&multus), ["br2", "br3"]);
        assert_eq!(bridges(&json!({"name": "all", "plugins": [multus]})), ["br2", "br3"]);
    }

    #[test]
    fn files_for_others_are_none_of_ours() {
        for other in [json!({"type": "userspace", "network": "blue"}), json!({"type": "bridge", "name": "userspace"})] {
            assert_eq!(of_node_file(&other.to_string()), Ok(Vec::new()));
        }
        for other in ["{", "", "[1]", "type: bridge"] {
            assert_eq!(of_node_file(other), Ok(Vec::new()), "{other}");
        }
    }

    #[test]
    fn what_is_not_valid_is_named() {
        let why = |text: &str| of_node_file(text).unwrap_err().to_string();
        assert!(why("{\"type\": \"userspace\"").contains("not a JSON object"));
        assert!(why(r#"{"type": "userspace"}"#).contains("neither"));
        assert!(why(&format!("{}{}", "userspace", " ".repeat(CONFIG_MAX))).contains("is the limit"));
        let mut wrong = ours("br0");
        wrong["host"]["iftype"] = json!("tap");
        assert!(why(&json!({"plugins": [ours("br1"), wrong]}).to_string()).contains("host.iftype"));
        assert!(why(&json!({"cniVersion": "9", "plugins": [ours("br1")]}).to_string()).contains("cniVersion"));
    }
}
