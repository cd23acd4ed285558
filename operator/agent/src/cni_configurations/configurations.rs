//! The networks of configurations. Pure.

use super::files::Texts;
use crate::model::file_networks;
use crate::model::input::Compiled;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::conditions::message::node as message;
use usnet_crds::legacy::{Legacy, compiled_for_node, of_node_file};
use usnet_crds::{NetworkName, NodeNetwork};

/// Most networks of one node, as for the NADs of one namespace.
const NETWORKS_MAX: usize = 32;

/// The files of a folder, with the last valid content of each.
#[derive(Debug, Default)]
pub(super) struct Configurations(BTreeMap<String, Vec<Legacy>>);

/// What the files define, and what is wrong with them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    pub(super) networks: BTreeMap<NetworkName, Arc<Compiled>>,
    pub(super) problems: Vec<String>,
}

impl Configurations {
    /// Takes what was read.
    pub(super) fn update(&mut self, texts: Texts) -> Found {
        let mut found = Found::default();
        self.0.retain(|file, _| texts.contains_key(file));
        for (file, text) in texts {
            match text.and_then(|text| of_node_file(&text).map_err(|error| error.to_string())) {
                Ok(legacy) => drop(self.0.insert(file, legacy)),
                Err(problem) => found.problems.push(message::configuration_invalid(&file, &problem)),
            }
        }
        let mut owners: BTreeMap<NetworkName, &str> = BTreeMap::new();
        for (file, legacy) in self.0.iter().flat_map(|(file, all)| all.iter().map(move |legacy| (file, legacy))) {
            let problem = match owners.get(&legacy.network_name()) {
                Some(owner) => found.mismatch(owner, legacy),
                None => {
                    owners.insert(legacy.network_name(), file);
                    found.add(legacy)
                }
            };
            found.problems.extend(problem.err().map(|problem| message::configuration_invalid(file, &problem)));
        }
        found
    }
}

impl Found {
    fn add(&mut self, legacy: &Legacy) -> Result<(), String> {
        if self.networks.len() >= NETWORKS_MAX {
            return Err(format!(
                "it names the bridge {} after {NETWORKS_MAX} others, which is the limit",
                legacy.bridge
            ));
        }
        let spec = compiled_for_node(legacy).map_err(|error| error.to_string())?;
        let network = Arc::new(spec.on_node(legacy.network_name()));
        self.networks.insert(legacy.network_name(), file_networks::compiled(network));
        Ok(())
    }

    /// The first file that names a bridge defines its network; others join it if their settings
    /// match.
    fn mismatch(&self, owner: &str, legacy: &Legacy) -> Result<(), String> {
        let Some(compiled) = self.networks.get(&legacy.network_name()) else { return Ok(()) };
        let NodeNetwork { engine, bridge, port, gateway, .. } = compiled.network.as_ref();
        let mismatches = legacy.settings.mismatches(*engine, bridge, port, gateway.as_ref());
        match mismatches.first() {
            Some(first) => Err(format!("{first}, which file {owner} defines")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn text(bridge: &str, extra: &Value) -> Result<String, String> {
        let mut host = json!({
            "engine": "ovs-dpdk", "iftype": "vhostuser", "vhost": {"mode": "client"}, "bridge": {"bridgeName": bridge},
        });
        host.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        Ok(json!({"type": "userspace", "host": host}).to_string())
    }

    fn texts<const N: usize>(files: [(&str, Result<String, String>); N]) -> Texts {
        files.into_iter().map(|(file, text)| (file.to_owned(), text)).collect()
    }

    fn names(found: &Found) -> Vec<&str> {
        found.networks.keys().map(NetworkName::as_str).collect()
    }

    #[test]
    fn each_bridge_is_one_network_for_pods_of_all_namespaces() {
        let mut configurations = Configurations::default();
        let files = [("10-a.conf", text("br0", &json!({"mtu": 1400}))), ("20-b.conf", text("br0", &json!({})))];
        let found = configurations.update(texts(files));
        assert_eq!((names(&found), found.problems.len()), (vec!["ovs-br0"], 0));
        let network = &found.networks.values().next().unwrap().network;
        assert!(network.allows("any") && i64::from(network.bridge.mtu) == 1400 && network.generation == 1);

        let found = configurations.update(Texts::new());
        assert_eq!(found, Found::default());
    }

    #[test]
    fn a_file_that_cannot_be_used_keeps_what_it_defined() {
        let mut configurations = Configurations::default();
        configurations.update(texts([("10-a.conf", text("br0", &json!({})))]));
        for bad in [Ok("{\"type\": \"userspace\"".to_owned()), Err("Permission denied".to_owned())] {
            let found = configurations.update(texts([("10-a.conf", bad), ("20-b.conf", text("br1", &json!({})))]));
            assert_eq!(names(&found), ["ovs-br0", "ovs-br1"]);
            let [problem] = found.problems.as_slice() else { panic!("{:?}", found.problems) };
            assert!(problem.contains("10-a.conf"), "{problem}");
        }
    }

    #[test]
    fn settings_that_differ_and_too_many_bridges_are_named() {
        let mut configurations = Configurations::default();
        let files = [("10-a.conf", text("br0", &json!({}))), ("20-b.conf", text("br0", &json!({"mtu": 1400})))];
        let found = configurations.update(texts(files));
        let [problem] = found.problems.as_slice() else { panic!("{:?}", found.problems) };
        assert!(
            problem.contains("20-b.conf") && problem.contains("host.mtu") && problem.contains("10-a.conf"),
            "{problem}"
        );

        let many = (0..40).map(|number| (format!("{number:02}.conf"), text(&format!("br{number}"), &json!({}))));
        let found = configurations.update(many.collect());
        assert_eq!((found.networks.len(), found.problems.len()), (NETWORKS_MAX, 8));
    }

    #[test]
    fn what_no_network_can_have_is_refused() {
        let routed = text("br0", &json!({"netType": "interface"}));
        let found = Configurations::default().update(texts([("a.conf", routed)]));
        assert!(found.networks.is_empty() && found.problems[0].contains("a.conf"), "{found:?}");
    }
}
