//! The network configuration that a runtime writes to a plugin's standard input.

use crate::protocol::error::ErrorCode;
use crate::protocol::version::{SpecVersion, UnsupportedVersion};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use usnet_crds::legacy::{self, InvalidLegacy, Legacy};
use usnet_crds::{InvalidName, NetworkName};

#[cfg(test)]
mod tests;

/// The maximum length of the name of a configuration, in bytes. IPAM plugins name a folder after
/// the configuration, and the kernel accepts no longer file name.
const NAME_LENGTH_MAX: usize = 255;
/// The only valid value of `networks`.
const FROM_POD_ANNOTATIONS: &str = "FromPodAnnotations";

/// The key of `args.cni` with the gateways of the pod's default routes.
pub const DEFAULT_ROUTE: &str = "default-route";

/// The container ids and interface names of the attachments that a runtime lists.
pub type ValidAttachments = BTreeSet<(String, String)>;

#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    #[error("the network configuration on standard input is not a JSON object")]
    NotAnObject(#[source] Option<serde_json::Error>),
    #[error("the network configuration has version {found}, and {verb} needs {since} or later")]
    VerbNotInVersion { verb: &'static str, since: SpecVersion, found: SpecVersion },
    #[error("the network configuration cannot be used")]
    Version(#[from] UnsupportedVersion),
    #[error("{key:?} of the network configuration must be {expected}")]
    WrongType { key: &'static str, expected: &'static str },
    /// The configuration has the result of another sandbox.
    #[error(
        "\"prevResult\" of the network configuration has no interface with \"sandbox\" {0:?}: no plugin before this one in the list made it for this pod. Remove it from the NetworkAttachmentDefinition"
    )]
    ForeignResult(PathBuf),
    #[error(
        "\"name\" of the network configuration is {0:?}: it must begin with a letter or a digit and contain only letters, digits, \"_\", \".\" and \"-\", because IPAM plugins name a folder after it"
    )]
    Name(String),
    #[error("{key:?} of the network configuration is missing: {advice}")]
    Missing { key: &'static str, advice: &'static str },
    /// The configuration selects networks by the pod's annotation, and has a key for a single
    /// network.
    #[error(
        "\"networks\" and {0:?} of the network configuration exclude each other: either all networks are selected by the pod's annotation, or one is named here"
    )]
    MutuallyExclusive(&'static str),
    #[error("\"network\" of the network configuration is not valid")]
    Network(#[source] InvalidName),
    #[error("the network configuration, of Intel's Userspace CNI, cannot be used: {0}")]
    Legacy(InvalidLegacy),
}

impl ConfigurationError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotAnObject(_) => ErrorCode::DecodingFailure,
            Self::Version(_) | Self::VerbNotInVersion { .. } => ErrorCode::IncompatibleVersion,
            Self::MutuallyExclusive(_) => ErrorCode::UnsupportedField,
            Self::WrongType { .. }
            | Self::ForeignResult(_)
            | Self::Name(_)
            | Self::Missing { .. }
            | Self::Network(_)
            | Self::Legacy(_) => ErrorCode::InvalidConfiguration,
        }
    }
}

/// The network to which a configuration attaches pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Network(NetworkName),
    /// The network of the bridge that a legacy configuration names.
    Bridge(Box<Legacy>),
}

/// A network configuration. Only the keys that a verb needs are validated: DEL has to work with a
/// configuration that ADD rejects.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration(Map<String, Value>);

impl Configuration {
    pub fn parse(bytes: &[u8]) -> Result<Self, ConfigurationError> {
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(object)) => Ok(Self(object)),
            Ok(_) => Err(ConfigurationError::NotAnObject(None)),
            Err(error) => Err(ConfigurationError::NotAnObject(Some(error))),
        }
    }

    pub fn keys(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The version of the specification that the configuration is written in.
    pub fn version(&self) -> Result<SpecVersion, ConfigurationError> {
        // The first version of the specification had no version key. For the specification's own
        // library an empty one is none, too.
        let text = self.text("cniVersion")?.filter(|version| !version.is_empty());
        text.map_or(Ok(SpecVersion::V0_1_0), |version| Ok(version.parse()?))
    }

    /// Rejects a version that does not have this verb yet.
    pub fn require_version(&self, since: SpecVersion, verb: &'static str) -> Result<(), ConfigurationError> {
        let found = self.version()?;
        if found < since { Err(ConfigurationError::VerbNotInVersion { verb, since, found }) } else { Ok(()) }
    }

    /// The name of the configuration, under which IPAM plugins store their addresses.
    pub fn name(&self) -> Result<&str, ConfigurationError> {
        let advice = "set it in the NetworkAttachmentDefinition";
        let name = self.text("name")?.filter(|name| !name.is_empty());
        let name = name.ok_or(ConfigurationError::Missing { key: "name", advice })?;
        if is_name(name) { Ok(name) } else { Err(ConfigurationError::Name(name.to_owned())) }
    }

    /// Whether the networks are selected by the pod's annotation instead of one network named here.
    pub fn uses_pod_annotations(&self) -> bool {
        self.0.get("networks").is_some_and(|networks| !networks.is_null())
    }

    /// Validates a configuration that selects the networks by the pod's annotation.
    pub fn require_pod_annotations(&self) -> Result<(), ConfigurationError> {
        if self.text("networks")? != Some(FROM_POD_ANNOTATIONS) {
            return Err(ConfigurationError::WrongType { key: "networks", expected: "\"FromPodAnnotations\"" });
        }
        let of_one_network = ["network", "host", "ipam", "args"];
        match of_one_network.into_iter().find(|key| self.0.get(*key).is_some_and(|value| !value.is_null())) {
            Some(key) => Err(ConfigurationError::MutuallyExclusive(key)),
            None => Ok(()),
        }
    }

    /// A configuration of the same version, name and plugin, with these other keys.
    pub fn with_keys(&self, mut keys: Map<String, Value>) -> Self {
        for key in ["cniVersion", "name", "type"] {
            keys.extend(self.0.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        Self(keys)
    }

    /// The network in `network`.
    pub fn network(&self) -> Result<NetworkName, ConfigurationError> {
        let advice = "set it to the name of a UserspaceNetwork";
        let network = self.text("network")?.ok_or(ConfigurationError::Missing { key: "network", advice })?;
        network.parse().map_err(ConfigurationError::Network)
    }

    pub fn target(&self) -> Result<Target, ConfigurationError> {
        if legacy::is_legacy(&self.0) {
            return Legacy::read(&self.0)
                .map(|read| Target::Bridge(Box::new(read)))
                .map_err(ConfigurationError::Legacy);
        }
        self.network().map(Target::Network)
    }

    /// `ipam` of the configuration; none if it names no plugin.
    pub fn ipam(&self) -> Result<Option<Value>, ConfigurationError> {
        if legacy::is_legacy(&self.0) {
            return Legacy::read(&self.0).map(|read| read.ipam).map_err(ConfigurationError::Legacy);
        }
        let is_none = |parts: &Map<String, Value>| {
            parts.is_empty() || parts.get("type").is_some_and(|plugin| plugin.as_str() == Some(""))
        };
        let ipam = self.object("ipam")?;
        Ok(ipam.filter(|ipam| ipam.as_object().is_some_and(|parts| !is_none(parts))).cloned())
    }

    /// The device that Multus found for the pod.
    pub fn device_id(&self) -> Result<Option<&str>, ConfigurationError> {
        self.text("deviceID")
    }

    /// `runtimeConfig`, which has the settings that the runtime passes by capability.
    pub fn runtime_config(&self) -> Result<Option<&Map<String, Value>>, ConfigurationError> {
        Ok(self.object("runtimeConfig")?.and_then(Value::as_object))
    }

    /// `args.cni`, which has the settings of the pod's annotation or the network configuration that
    /// have no capability.
    pub fn cni_args(&self) -> Result<Option<&Map<String, Value>>, ConfigurationError> {
        Ok(self.object("args")?.and_then(|arguments| arguments.get("cni")).and_then(Value::as_object))
    }

    /// `prevResult`: the result of the plugins before this one in a chain or, for CHECK, of ADD.
    pub fn previous_result(&self) -> Result<Option<&Value>, ConfigurationError> {
        self.object("prevResult")
    }

    /// The result of the plugins before this one in a chain. It is an error if it was not made for
    /// this pod: the author of a NetworkAttachmentDefinition could put foreign addresses, routes
    /// and DNS servers there. By the specification every interface of the pod names its network
    /// namespace, which is not known before the sandbox exists.
    pub fn result_of_chain(&self, network_namespace: &Path) -> Result<Option<&Value>, ConfigurationError> {
        let Some(result) = self.previous_result()? else { return Ok(None) };
        let interfaces = result.get("interfaces").and_then(Value::as_array);
        let is_of_pod = |interface: &Value| {
            interface
                .get("sandbox")
                .and_then(Value::as_str)
                .is_some_and(|sandbox| Path::new(sandbox) == network_namespace)
        };
        if interfaces.is_some_and(|interfaces| interfaces.iter().any(is_of_pod)) {
            Ok(Some(result))
        } else {
            Err(ConfigurationError::ForeignResult(network_namespace.to_owned()))
        }
    }

    /// The keys of the attachments that GC keeps. The second is that of the first release of
    /// libcni.
    pub const VALID_ATTACHMENTS: [&str; 2] = ["cni.dev/valid-attachments", "cni.dev/attachments"];

    /// The attachments that GC keeps; none when the key is missing. libcni also omits the key for
    /// an empty list.
    pub fn valid_attachments(&self) -> Result<Option<ValidAttachments>, ConfigurationError> {
        #[derive(Deserialize)]
        struct Entry {
            #[serde(rename = "containerID")]
            container: String,
            ifname: String,
        }
        let list = Self::VALID_ATTACHMENTS.iter().find_map(|key| self.0.get_key_value(*key));
        let Some((_, list)) = list.filter(|(_, list)| !list.is_null()) else { return Ok(None) };
        let expected = "a list of {\"containerID\": …, \"ifname\": …}";
        let wrong = |_| ConfigurationError::WrongType { key: Self::VALID_ATTACHMENTS[0], expected };
        let entries: Vec<Entry> = Vec::deserialize(list).map_err(wrong)?;
        Ok(Some(entries.into_iter().map(|entry| (entry.container, entry.ifname)).collect()))
    }

    /// The configuration for an IPAM plugin: this one with `name` and `ipam` replaced, in a version
    /// in which results are lists of addresses.
    pub fn for_ipam(&self, name: &str, ipam: &Value) -> Value {
        let mut parts = self.0.clone();
        // Plugins in Go match keys case-insensitively, and would find two.
        let replaced = ["ipam", "name", "prevResult"];
        parts.retain(|key, _| !replaced.iter().any(|replaced| key.eq_ignore_ascii_case(replaced)));
        parts.insert("name".to_owned(), name.into());
        parts.insert("ipam".to_owned(), ipam.clone());
        if self.version().is_ok_and(|version| version < SpecVersion::V0_3_0) {
            parts.insert("cniVersion".to_owned(), SpecVersion::V0_3_1.as_str().into());
        }
        Value::Object(parts)
    }

    fn text(&self, key: &'static str) -> Result<Option<&str>, ConfigurationError> {
        match self.0.get(key) {
            None => Ok(None),
            Some(value) => match value.as_str() {
                Some(text) => Ok(Some(text)),
                None => Err(ConfigurationError::WrongType { key, expected: "text" }),
            },
        }
    }

    fn object(&self, key: &'static str) -> Result<Option<&Value>, ConfigurationError> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) if value.is_object() => Ok(Some(value)),
            Some(_) => Err(ConfigurationError::WrongType { key, expected: "an object" }),
        }
    }
}

/// Whether the specification allows a name, and a file can have it.
fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    name.len() <= NAME_LENGTH_MAX
        && name.bytes().all(is_allowed)
        && name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
}
