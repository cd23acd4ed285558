//! What the `ipam` of a network configuration may contain. The author of a
//! NetworkAttachmentDefinition could otherwise choose any program of the node as IPAM plugin, and
//! have it read and write any file. It is configured at the agent, which writes this file for the
//! plugin. The `ipam` of a UserspaceNetwork is the cluster administrator's, and not restricted.

use crate::store::atomic_file::{self, Durability};
use crate::store::paths::NodePaths;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use usnet_crds::ipam;

pub use crate::store::atomic_file::Error;

/// Largest file that is read, in bytes: names that an administrator wrote by hand.
const SIZE_MAX: u64 = 64 << 10;

/// What a network configuration may request of IPAM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionIpam {
    /// The layout of this file; [`DefinitionIpam::VERSION`] when written by this release.
    pub version: u32,
    pub plugins: BTreeSet<String>,
    /// The keys in addition to [`DefinitionIpam::KEYS`].
    #[serde(default)]
    pub keys: BTreeSet<String>,
}

/// Why an `ipam` is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAllowed {
    Plugin,
    Key(String),
}

impl DefinitionIpam {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;
    /// The IPAM plugins that are allowed by default.
    pub const PLUGINS: [&str; 4] = ipam::PLUGINS;
    /// The keys that are always allowed: addresses, routes and DNS.
    pub const KEYS: [&str; 21] = ipam::KEYS;

    /// Reads the file; before the agent has written it the defaults apply.
    ///
    /// # Errors
    /// The file cannot be read or was written by a later release.
    pub fn read(paths: &NodePaths) -> Result<Self, Error> {
        Ok(atomic_file::read(&paths.definition_ipam_file(), Self::VERSION, SIZE_MAX)?.unwrap_or_default())
    }

    /// Writes the file.
    pub fn write(&self, paths: &NodePaths) -> Result<(), Error> {
        // Not for root only: engines may run as another user and have sockets below this directory.
        atomic_file::create_folder(&paths.run, 0o755)?;
        atomic_file::write_if_changed(&paths.definition_ipam_file(), self, Durability::Process).map(drop)
    }

    /// Checks an `ipam`.
    ///
    /// # Errors
    /// What of it is not allowed.
    pub fn check(&self, ipam: &Map<String, Value>) -> Result<(), NotAllowed> {
        let plugin = ipam.get("type").and_then(Value::as_str).unwrap_or_default();
        if !self.plugins.contains(plugin) {
            return Err(NotAllowed::Plugin);
        }
        // Plugins in Go match keys case-insensitively.
        let is_allowed = |key: &str| {
            let mut allowed = Self::KEYS.into_iter().chain(self.keys.iter().map(String::as_str));
            allowed.any(|allowed| allowed.eq_ignore_ascii_case(key))
        };
        match ipam.keys().find(|key| !is_allowed(key)) {
            Some(key) => Err(NotAllowed::Key(key.clone())),
            None => Ok(()),
        }
    }
}

impl Default for DefinitionIpam {
    fn default() -> Self {
        let plugins = Self::PLUGINS.map(str::to_owned).into();
        Self { version: Self::VERSION, plugins, keys: BTreeSet::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::node_paths;
    use serde_json::json;

    fn check(policy: &DefinitionIpam, ipam: &Value) -> Result<(), NotAllowed> {
        policy.check(ipam.as_object().unwrap())
    }

    #[test]
    fn keys_that_name_files_and_other_plugins_are_not_allowed_by_default() {
        let policy = DefinitionIpam::default();
        for allowed in [
            json!({"type": "host-local", "ranges": [], "routes": [], "Subnet": "10.0.0.0/24"}),
            json!({"type": "static", "addresses": [], "dns": {}}),
            json!({"type": "whereabouts", "range": "10.0.0.0/24", "exclude": []}),
        ] {
            assert_eq!(check(&policy, &allowed), Ok(()), "{allowed}");
        }
        for key in ["dataDir", "datadir", "resolvConf", "daemonSocketPath", "log_file", "kubernetes", "ſubnet"] {
            let ipam = json!({"type": "host-local", key: "/etc/passwd"});
            assert_eq!(check(&policy, &ipam), Err(NotAllowed::Key(key.to_owned())));
        }
        for ipam in [json!({}), json!({"type": 7}), json!({"type": "multus"}), json!({"TYPE": "host-local"})] {
            assert_eq!(check(&policy, &ipam), Err(NotAllowed::Plugin), "{ipam}");
        }
    }

    #[test]
    fn what_the_agent_allows_is_read_and_without_its_file_the_defaults_apply() {
        let (_folder, paths) = node_paths();
        assert_eq!(DefinitionIpam::read(&paths).unwrap(), DefinitionIpam::default());
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let policy = DefinitionIpam { plugins: list(&["host-local"]), keys: list(&["dataDir"]), ..Default::default() };
        policy.write(&paths).unwrap();
        let read = DefinitionIpam::read(&paths).unwrap();
        assert_eq!(read, policy);
        assert_eq!(check(&read, &json!({"type": "host-local", "dataDir": "/x"})), Ok(()));
        assert_eq!(check(&read, &json!({"type": "static"})), Err(NotAllowed::Plugin));
    }
}
