//! Which network the pods of a NetworkAttachmentDefinition (NAD) are in. Pure.
//!
//! A NAD that does not exist is for the network of its name, as those are that usnet creates: so a
//! policy is on nodes before its NAD is, and those of usnet, of which there may be many, are not
//! kept.

use crate::object_name::ObjectName;
use std::collections::BTreeMap;
use usnet_common::display::OneLine;
use usnet_crds::NetworkName;
use usnet_crds::legacy::{InvalidNadConfig, NadConfig, parse_nad_config};
use usnet_crds::multi_network_policy::definitions::DefinitionName;

/// A NAD that is not for the network of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Definition {
    /// It names another network.
    Network(NetworkName),
    /// It has a configuration of the Userspace CNI (Intel): its network depends on the bridge.
    Legacy,
    /// It is for usnet, and cannot be used.
    Invalid(String),
    /// It is for another plugin.
    Other,
}

/// Why a policy is not enforced for a NAD that is for usnet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DefinitionProblem {
    #[error(
        "{0} has a configuration of the Userspace CNI, of which policies are not supported: name a NAD of a network"
    )]
    Legacy(String),
    #[error("{name} cannot be used: {problem}")]
    Invalid { name: String, problem: String },
}

/// What is kept of a NAD with this `config`; none if it is for the network of its name.
pub(crate) fn definition(name: &str, config: &str) -> Option<Definition> {
    match parse_nad_config(config) {
        Ok(Some(NadConfig::Network(network))) if network.as_str() == name => None,
        Ok(Some(NadConfig::Network(network))) => Some(Definition::Network(network)),
        Ok(Some(NadConfig::Legacy(_))) => Some(Definition::Legacy),
        // Of what cannot be parsed the plugin is unknown.
        Ok(None) | Err(InvalidNadConfig::NotJson | InvalidNadConfig::TooLong(_)) => Some(Definition::Other),
        Err(problem) => Some(Definition::Invalid(OneLine(problem.to_string()).to_string())),
    }
}

/// The network of a NAD that a policy names; none if it is for another plugin.
pub(crate) fn network_of(
    definitions: &BTreeMap<ObjectName, Definition>,
    named: &DefinitionName,
) -> Option<Result<NetworkName, DefinitionProblem>> {
    let name = ObjectName { namespace: named.namespace.to_string(), name: named.name.clone() };
    match definitions.get(&name) {
        None => NetworkName::try_from(named.name.clone()).ok().map(Ok),
        Some(Definition::Network(network)) => Some(Ok(network.clone())),
        Some(Definition::Legacy) => Some(Err(DefinitionProblem::Legacy(name.to_string()))),
        Some(Definition::Invalid(problem)) => {
            Some(Err(DefinitionProblem::Invalid { name: name.to_string(), problem: problem.clone() }))
        }
        Some(Definition::Other) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use usnet_crds::nad;

    #[test]
    fn a_generated_nad_is_for_the_network_of_its_name() {
        assert_eq!(definition("blue", &nad::config(&"blue".parse().unwrap())), None);
        let other = definition("mine", &nad::config(&"blue".parse().unwrap()));
        assert_eq!(other, Some(Definition::Network("blue".parse().unwrap())));
        let chained = json!({"plugins": [{"type": "tuning"}, {"type": "userspace", "network": "blue"}]}).to_string();
        assert_eq!(definition("mine", &chained), other);
    }

    #[test]
    fn what_is_for_other_plugins_is_for_no_network() {
        for config in ["", "x", r#"{"type": "macvlan"}"#, r#"{"plugins": [{"type": "bridge"}]}"#] {
            assert_eq!(definition("blue", config), Some(Definition::Other), "{config}");
        }
        let legacy = json!({"type": "userspace", "host": {"engine": "ovs-dpdk", "iftype": "vhostuser"}}).to_string();
        assert!(matches!(definition("a", &legacy), Some(Definition::Legacy | Definition::Invalid(_))));
        assert!(matches!(definition("a", r#"{"type": "userspace"}"#), Some(Definition::Invalid(_))));
    }

    #[test]
    fn a_nad_that_does_not_exist_is_for_the_network_of_its_name() {
        let name = |name: &str| ObjectName { namespace: "db".to_owned(), name: name.to_owned() };
        let known = BTreeMap::from([
            (name("mine"), Definition::Network("blue".parse().unwrap())),
            (name("lan"), Definition::Other),
            (name("old"), Definition::Legacy),
            (name("bad"), Definition::Invalid("no".to_owned())),
        ]);
        let found = |namespace: &str, name: &str| {
            let named = DefinitionName { namespace: namespace.parse().unwrap(), name: name.to_owned() };
            network_of(&known, &named).map(|found| found.map_or_else(|it| it.to_string(), |it| it.to_string()))
        };
        assert_eq!(found("db", "mine").as_deref(), Some("blue"));
        assert_eq!(found("web", "mine").as_deref(), Some("mine"), "a NAD of another namespace");
        assert_eq!(found("db", "red").as_deref(), Some("red"));
        assert_eq!((found("db", "lan"), found("db", "no_network")), (None, None));
        assert!(found("db", "old").unwrap().contains("db/old has a configuration of the Userspace CNI"));
        assert_eq!(found("db", "bad").as_deref(), Some("db/bad cannot be used: no"));
    }
}
