//! The keys of `container` beyond those that follow from `host`: Intel's userspace CNI passed them
//! on to the program in the pod unchanged.

use super::error::InvalidLegacy;
use super::keys::Keys;
use serde_json::{Map, Value};

/// The keys of `container` that are only passed on. A value of the wrong type counts as absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerConf {
    /// `container.engine`.
    pub engine: String,
    /// `container.netType`.
    pub network_type: String,
    /// `container.vhost.group`.
    pub group: String,
    /// `container.bridge.bridgeName`.
    pub bridge_name: String,
    /// `container.bridge.bridgeId`.
    pub bridge_id: i64,
    /// `container.bridge.vlanId`.
    pub vlan_id: i64,
}

impl ContainerConf {
    pub fn read(configuration: &Map<String, Value>) -> Self {
        let whole = Keys::of(configuration);
        let Ok(container) = whole.object("container") else { return Self::default() };
        let text = |keys: Result<Keys<'_>, InvalidLegacy>, key: &str| {
            let found = keys.as_ref().ok().and_then(|keys| keys.text(key).ok().flatten());
            found.unwrap_or_default().to_owned()
        };
        let number = |keys: Result<Keys<'_>, InvalidLegacy>, key: &str| {
            let found = keys.ok().and_then(|keys| keys.value(key).ok().flatten().and_then(Value::as_i64));
            found.unwrap_or_default()
        };
        Self {
            engine: text(Ok(container.clone()), "engine"),
            network_type: text(Ok(container.clone()), "netType"),
            group: text(container.object("vhost"), "group"),
            bridge_name: text(container.object("bridge"), "bridgeName"),
            bridge_id: number(container.object("bridge"), "bridgeId"),
            vlan_id: number(container.object("bridge"), "vlanId"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(configuration: &Value) -> ContainerConf {
        ContainerConf::read(configuration.as_object().unwrap())
    }

    #[test]
    fn keys_are_case_insensitive_and_default_to_empty() {
        let container = json!({"Engine": "vpp", "nettype": "interface", "vhost": {"group": "qemu"}, "bridge": {"bridgeName": "br0", "vlanid": 7}});
        let expected = ContainerConf {
            engine: "vpp".to_owned(),
            network_type: "interface".to_owned(),
            group: "qemu".to_owned(),
            bridge_name: "br0".to_owned(),
            bridge_id: 0,
            vlan_id: 7,
        };
        assert_eq!(read(&json!({"container": container})), expected);
        let wrong = json!({"engine": 7, "netType": [], "vhost": "x", "bridge": {"bridgeName": {}, "bridgeId": "x"}});
        for configuration in [json!({}), json!({"container": 7}), json!({"container": wrong})] {
            assert_eq!(read(&configuration), ContainerConf::default(), "{configuration}");
        }
    }
}
