//! Limits which IPAM plugins run as root on request of the agent. The service has its own lists,
//! because the agent itself writes the files of the node.

use serde_json::{Map, Value};
use usnet_dataplane::definition_ipam::{DefinitionIpam, NotAllowed};

#[derive(Debug, Clone, clap::Args)]
pub struct IpamOptions {
    /// The IPAM plugins that `ipam` of a request may name. Set the same as for the agent.
    #[arg(long, env = "USNET_DEFINITION_IPAM_PLUGINS", value_name = "PLUGIN", value_delimiter = ',', default_values_t = DefinitionIpam::PLUGINS.map(str::to_owned))]
    pub definition_ipam_plugins: Vec<String>,
    /// Additional keys that `ipam` of a request may contain besides addresses, routes and DNS. Set
    /// the same as for the agent.
    #[arg(long, env = "USNET_DEFINITION_IPAM_KEYS", value_name = "KEY", value_delimiter = ',')]
    pub definition_ipam_keys: Vec<String>,
    /// All IPAM plugins that may be run, including those of `spec.ipam` of UserspaceNetworks.
    #[arg(long, env = "USNET_IPAM_PLUGINS", value_name = "PLUGIN", value_delimiter = ',', default_values_t = DefinitionIpam::PLUGINS.map(str::to_owned))]
    pub ipam_plugins: Vec<String>,
}

impl IpamOptions {
    /// The variable that names the allowed plugins to the CNI plugin. It is never empty, because
    /// the CNI plugin treats an empty variable as unset.
    pub(super) fn variable(&self) -> String {
        format!("{},", self.ipam_plugins.join(","))
    }

    /// Checks the configuration of a request. Keys match in any case, as in configurations of the
    /// Userspace CNI.
    ///
    /// # Errors
    /// A text for users about what is not allowed.
    pub(super) fn check(&self, configuration: &Value) -> Result<(), String> {
        let limits = DefinitionIpam {
            plugins: self.definition_ipam_plugins.iter().cloned().collect(),
            keys: self.definition_ipam_keys.iter().cloned().collect(),
            ..DefinitionIpam::default()
        };
        let ipams = configuration.as_object().into_iter().flatten();
        for (_, ipam) in ipams.filter(|(key, ipam)| key.eq_ignore_ascii_case("ipam") && !ipam.is_null()) {
            let Some(ipam) = ipam.as_object() else { return Err("\"ipam\" of the request is not an object".into()) };
            if !ipam.is_empty() {
                check_part(&limits, ipam)?;
            }
        }
        Ok(())
    }
}

fn check_part(limits: &DefinitionIpam, ipam: &Map<String, Value>) -> Result<(), String> {
    let mut types = ipam.iter().filter(|(key, _)| key.eq_ignore_ascii_case("type"));
    let (named, another) = (types.next().map(|(_, value)| value.clone()).unwrap_or_default(), types.next());
    if another.is_some() {
        return Err("\"ipam\" of the request has several \"type\"".to_owned());
    }
    let mut canonical = ipam.clone();
    canonical.insert("type".to_owned(), named.clone());
    limits.check(&canonical).map_err(|problem| match problem {
        NotAllowed::Plugin => format!(
            "\"ipam.type\" of the request is {named}, and the service for attachments allows {}: use one of them, or set USNET_DEFINITION_IPAM_PLUGINS of both containers, `agent` and `attach`",
            limits.plugins.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        ),
        NotAllowed::Key(key) => format!(
            "the service for attachments does not allow \"ipam.{key}\" of a request: remove it, or set USNET_DEFINITION_IPAM_KEYS of both containers, `agent` and `attach`"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_names_plugins_and_keys_of_the_list_alone() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let options = IpamOptions {
            definition_ipam_plugins: list(&["host-local", "static"]),
            definition_ipam_keys: list(&["extra"]),
            ipam_plugins: list(&["host-local"]),
        };
        for allowed in [
            json!({}),
            json!(null),
            json!({"ipam": {}}),
            json!({"ipam": null}),
            json!({"ipam": {"type": "static", "extra": 1}}),
            json!({"IPAM": {"Type": "static"}}),
        ] {
            assert_eq!(options.check(&allowed), Ok(()), "{allowed}");
        }
        for refused in [
            json!({"ipam": {"type": "bridge"}}),
            json!({"ipam": {"ranges": []}}),
            json!({"IPAM": {"Type": "../bridge"}}),
            json!({"ipam": {"type": "static", "TYPE": "bridge"}}),
            json!({"ipam": {"type": "static"}, "Ipam": {"type": "bridge"}}),
            json!({"ipam": {"type": ["static"]}}),
            json!({"ipam": {"type": "host-local", "dataDir": "/etc"}}),
            json!({"ipam": ["bridge"]}),
        ] {
            assert!(options.check(&refused).is_err(), "{refused}");
        }
        let refusal = options.check(&json!({"ipam": {"type": "bridge"}})).unwrap_err();
        assert!(refusal.contains("\"bridge\"") && refusal.contains("host-local, static"), "{refusal}");
    }
}
