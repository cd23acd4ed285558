//! The state file of one interface, and the removal of the port and the files that it describes.

use super::error::LegacyStateError;
use super::error::file_error;
use super::folders::LegacyFolders;
use crate::attachment::engine::EngineClient;
use crate::attachment::ipam::IpamPlugin;
use crate::attachment::node::Node;
use crate::error::with_causes;
use crate::protocol::configuration::Configuration;
use crate::protocol::environment::Environment;
use serde::Deserialize;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use usnet_crds::legacy::HostConf;
use usnet_crds::{EngineKind, PortType};
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::legacy_annotation::{file_name, short_id, socket_name, state_file_name};
use usnet_dataplane::legacy_port::{LegacyPort, LegacyPortLocation};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::paths::NodePaths;

/// The folder of the state files, below the root of the legacy plugin's paths.
const FOLDER: &str = "var/lib/cni/usrspcni/data";

/// The content of a state file in the legacy plugin's format: for VPP it has `swIfIndex` and
/// `memifSocketId`, for Open vSwitch `vhostname`.
#[derive(Debug, Clone, Default, Deserialize)]
struct Content {
    #[serde(rename = "vhostname")]
    port: Option<String>,
    #[serde(rename = "swIfIndex")]
    interface_index: Option<u32>,
}

#[derive(Debug)]
pub struct LegacyState {
    path: PathBuf,
    content: Content,
}

impl LegacyState {
    /// Finds the state file of this interface. An unreadable one counts, because the names of port
    /// and files are derived from the interface as well.
    pub fn find(paths: &NodePaths, id: &AttachmentId) -> Option<Self> {
        let path = folder(paths).join(state_file_name(id));
        // A link is not accepted: the folder is root's, and the legacy plugin creates no links.
        if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
            return None;
        }
        let content = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        Some(Self { path, content })
    }

    /// Removes the attachment. Returns a note for the runtime's log if something was kept.
    ///
    /// # Errors
    /// Something remains that another DEL can remove.
    pub fn remove(
        self,
        node: &Node,
        environment: &Environment,
        configuration: &Configuration,
        id: &AttachmentId,
    ) -> Result<Option<String>, LegacyStateError> {
        let host = HostConf::read(configuration.keys());
        let port = self.remove_port(node, &host, id)?;
        let folders = LegacyFolders::new(&node.paths, host.shared_dir.as_deref(), id);
        folders.remove(&self.sockets(&host, id), &file_name(id))?;
        let pod = environment.arguments().ok().and_then(|arguments| arguments.pod().ok());
        if let Some(pod) = pod.filter(|_| !self.has_siblings(id)) {
            folders.unmount(&pod.uid)?;
        }
        let unreleased = release(&host, environment, configuration)?;
        match port {
            LegacyPort::Absent => {
                remove_file(&self.path)?;
                Ok(unreleased)
            }
            // The state file is the only trace of the port.
            LegacyPort::Foreign { found } => Ok(Some(format!(
                "{found}, so it was not created by Intel's Userspace CNI for interface {} and was not changed; if it was, delete it and {}",
                id.interface,
                self.path.display()
            ))),
        }
    }

    /// Removes the files of an attachment that was taken over. Its record says where they are.
    pub fn clear(paths: &NodePaths, record: &Record) -> Result<(), LegacyStateError> {
        let id = &record.id;
        let path = folder(paths).join(state_file_name(id));
        let state = Self { path, content: Content::default() };
        let folders = LegacyFolders::of_socket(paths, record.port.backend.socket_file(), id);
        folders.remove(&state.sockets(&HostConf::default(), id), &file_name(id))?;
        if !state.has_siblings(id) {
            folders.unmount(&record.pod.uid)?;
        }
        remove_file(&state.path)
    }

    fn engine(&self, host: &HostConf) -> EngineKind {
        match (&self.content, host.engine) {
            (Content { port: Some(_), .. }, _) => EngineKind::OpenVswitch,
            (Content { interface_index: Some(_), .. }, _) => EngineKind::Vpp,
            (_, configured) => configured.unwrap_or(EngineKind::OpenVswitch),
        }
    }

    fn remove_port(&self, node: &Node, host: &HostConf, id: &AttachmentId) -> Result<LegacyPort, LegacyStateError> {
        let engine = self.engine(host);
        let sockets = self.sockets(host, id);
        let client = EngineClient::connect_to(engine, &engine_socket(node, engine), MemifSocketIds::default())?;
        let own_name = socket_name(PortType::VhostUser, id);
        let port = self.content.port.as_deref().filter(|name| !name.is_empty()).unwrap_or(&own_name);
        Ok(client.remove_legacy_port(LegacyPortLocation {
            bridge: host.bridge.as_deref(),
            port,
            // Other pods use a configured socket name as well, each in a separate folder.
            owns_socket: &|path: &str| {
                let path = Path::new(path);
                let has_name = path.file_name().is_some_and(|name| sockets.iter().any(|socket| **socket == *name));
                let has_id = path.to_string_lossy().contains(&short_id(id));
                has_name && has_id && path.is_absolute()
            },
        })?)
    }

    /// The possible names of the socket.
    fn sockets(&self, host: &HostConf, id: &AttachmentId) -> Vec<String> {
        let own = [PortType::VhostUser, PortType::Memif].map(|port_type| socket_name(port_type, id));
        own.into_iter().chain(host.socket_file.clone()).collect()
    }

    /// Whether the legacy plugin attached other interfaces of the sandbox that are not removed yet.
    fn has_siblings(&self, id: &AttachmentId) -> bool {
        let prefix = format!("local-{}-", short_id(id));
        let folder = self.path.parent().and_then(|folder| fs::read_dir(folder).ok());
        let is_sibling = |entry: fs::DirEntry| {
            Some(entry.file_name().as_os_str()) != self.path.file_name()
                && entry.file_name().to_string_lossy().starts_with(&prefix)
        };
        folder.into_iter().flatten().flatten().any(is_sibling)
    }
}

/// Releases the addresses. As in DEL of an attachment with a record, a failure only makes a note if
/// the sandbox has ended.
fn release(
    host: &HostConf,
    environment: &Environment,
    configuration: &Configuration,
) -> Result<Option<String>, LegacyStateError> {
    let (Some(ipam), Ok(name)) = (&host.ipam, configuration.name()) else { return Ok(None) };
    let configuration = configuration.for_ipam(name, ipam);
    match IpamPlugin::find(&configuration, environment).and_then(|plugin| plugin.release()) {
        Err(error) if environment.network_namespace().try_exists().unwrap_or(true) => Err(error.into()),
        released => Ok(released.err().map(|error| with_causes(&error))),
    }
}

fn folder(paths: &NodePaths) -> PathBuf {
    paths.legacy_root.join(FOLDER)
}

/// The engine's socket according to the agent, or its default.
fn engine_socket(node: &Node, engine: EngineKind) -> PathBuf {
    let names = node.networks.list().unwrap_or_default();
    let files = names.iter().filter_map(|name| node.networks.read(name).ok().flatten());
    let configured = files.filter_map(|file| match file {
        NetworkFile::Programmed(programmed) if programmed.network.engine == engine => Some(programmed.engine_socket),
        _ => None,
    });
    configured.into_iter().next().unwrap_or_else(|| node.paths.engine_socket(engine))
}

fn remove_file(path: &Path) -> Result<(), LegacyStateError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(file_error("remove", path, error)),
        _ => Ok(()),
    }
}
