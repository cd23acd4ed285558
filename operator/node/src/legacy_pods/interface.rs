//! An interface of a pod that the legacy plugin attached: its state file, and the call that made
//! it.

use super::cached_call::CachedCall;
use super::problem::Problem;
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;
use usnet_crds::legacy::Legacy;
use usnet_crds::{EngineKind, MacAddress, SocketRole};
use usnet_dataplane::attachment::{AttachmentId, Pod};
use usnet_dataplane::network_namespace;
use usnet_plugin::attachment::request::mac::generated_mac;
use usnet_plugin::protocol::configuration::{Configuration, Target};
use usnet_plugin::protocol::result::Assignment;

/// The content of a state file: for VPP it has `swIfIndex` and `memifSocketId`, for Open vSwitch
/// `vhostname`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Content {
    #[serde(default)]
    vhostname: Option<String>,
    #[serde(default, rename = "swIfIndex")]
    interface_index: Option<u32>,
}

/// The interface that a state file is about, by the file's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StateFile {
    pub(super) path: PathBuf,
    /// The first characters of the container's id.
    pub(super) short_id: String,
    pub(super) interface: String,
}

/// How much of a container's id is in names, in bytes.
const SHORT_ID: usize = 12;

impl StateFile {
    pub(super) fn of(path: PathBuf) -> Result<Self, (PathBuf, Problem)> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let parts = || {
            let (short_id, rest) = name.strip_prefix("local-")?.strip_suffix(".json")?.split_at_checked(SHORT_ID)?;
            Some((short_id.to_owned(), rest.strip_prefix('-').filter(|rest| !rest.is_empty())?.to_owned()))
        };
        match parts() {
            Some((short_id, interface)) => Ok(Self { path, short_id, interface }),
            None => Err((path, Problem::Name)),
        }
    }
}

/// An interface of a living pod.
#[derive(Debug, Clone, PartialEq)]
pub struct LegacyInterface {
    pub id: AttachmentId,
    pub file: PathBuf,
    pub engine: EngineKind,
    /// The name of the port in Open vSwitch.
    pub port: Option<String>,
    pub legacy: Legacy,
    pub pod: Pod,
    pub(super) network_namespace: PathBuf,
    pub(super) network_namespace_inode: u64,
    pub(super) configuration: Configuration,
    pub(super) assignment: Assignment,
    pub(super) mac: MacAddress,
}

impl LegacyInterface {
    /// # Errors
    /// Something is damaged or not known, or the pod is gone.
    pub(super) fn new(file: &StateFile, content: &Content, call: &CachedCall) -> Result<Self, Problem> {
        let configuration = call.configuration()?.ok_or(Problem::CachedConfiguration)?;
        let Target::Bridge(legacy) = configuration.target()? else { return Err(Problem::CachedConfiguration) };
        let (engine, port) = content.port()?;
        if engine != legacy.engine {
            return Err(Problem::Engine { configured: legacy.engine, found: engine });
        }
        if engine == EngineKind::OpenVswitch && legacy.settings.engine_role == SocketRole::Server {
            return Err(Problem::Listens);
        }
        let id = AttachmentId { container: call.container_id.parse()?, interface: call.if_name.parse()? };
        let network_namespace = call.network_namespace().ok_or(Problem::NoNamespace)?;
        let inode = network_namespace::inode(&network_namespace);
        let mac = call.entry_in_pod().and_then(|entry| entry.get("mac")?.as_str()?.parse().ok()).or(legacy.mac);
        Ok(Self {
            file: file.path.clone(),
            engine,
            port,
            legacy: *legacy,
            pod: call.pod()?,
            network_namespace_inode: inode.ok_or_else(|| Problem::Gone(network_namespace.clone()))?,
            network_namespace,
            configuration,
            assignment: Assignment::deserialize(Value::Object(call.result.clone())).map_err(Problem::Addresses)?,
            mac: mac.unwrap_or_else(|| generated_mac(&id)),
            id,
        })
    }
}

impl Content {
    /// The engine, and the name of the port in Open vSwitch.
    fn port(&self) -> Result<(EngineKind, Option<String>), Problem> {
        match (&self.vhostname, self.interface_index) {
            (Some(name), None) if is_port_name(name) => Ok((EngineKind::OpenVswitch, Some(name.clone()))),
            (Some(name), None) => Err(Problem::PortName(name.clone())),
            (None, Some(_)) => Ok((EngineKind::Vpp, None)),
            _ => Err(Problem::Content),
        }
    }
}

/// The name is also that of the socket's file.
fn is_port_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}
