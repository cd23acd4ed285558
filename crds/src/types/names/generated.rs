//! The name of the network that is generated for a bridge.

use super::{BridgeName, NetworkName, fnv1a};

impl NetworkName {
    /// The name of the generated network of a bridge: `prefix`, `-` and the name of the bridge.
    /// If that is no DNS label it is converted to one, with a hash of the whole name after `--`,
    /// which unconverted names never contain: so two bridges never share a name.
    pub(crate) fn generated(prefix: &str, bridge: &BridgeName) -> Self {
        let plain = format!("{prefix}-{bridge}");
        if !plain.contains("--")
            && let Ok(name) = Self::try_from(plain)
        {
            return name;
        }
        let letter = |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte.to_ascii_lowercase()) } else { '-' };
        let start: String = bridge.as_str().bytes().map(letter).collect();
        // A bridge's name is short enough for a prefix and a hash.
        Self(format!("{prefix}-{}--{:016x}", start.trim_matches('-'), fnv1a(bridge.as_str().as_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::VPP_NETWORK_NAME_MAX;
    use super::*;
    use crate::EngineKind;
    use std::collections::BTreeSet;

    fn name(engine: EngineKind, bridge: &str) -> String {
        let name = NetworkName::for_bridge(engine, &bridge.parse().unwrap());
        let text = name.to_string();
        assert!(text.len() <= VPP_NETWORK_NAME_MAX, "{text}");
        assert_eq!(text.parse(), Ok(name));
        text
    }

    #[test]
    fn a_network_is_called_after_its_engine_and_bridge() {
        assert_eq!(name(EngineKind::OpenVswitch, "br0"), "ovs-br0");
        assert_eq!(name(EngineKind::Vpp, "4"), "vpp-4");
        assert!(name(EngineKind::OpenVswitch, "Br_0").starts_with("ovs-br-0--"));
        assert!(name(EngineKind::OpenVswitch, &"_".repeat(15)).starts_with("ovs---"));
    }

    #[test]
    fn no_two_bridges_share_a_name() {
        let bridges = ["br-0", "br_0", "br.0", "BR-0", "br--0", "br-0-", "_", "__", "b", "B", "b-"];
        let names: BTreeSet<_> = bridges.iter().map(|bridge| name(EngineKind::OpenVswitch, bridge)).collect();
        assert_eq!(names.len(), bridges.len());
    }
}
