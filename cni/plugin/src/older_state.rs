//! Pods that the older userspace CNI attached, before the program of its name was replaced by ours. It kept a file for each interface, and DEL takes apart what that file and the
//! configuration say.
//!
//! Each step can be repeated and the file goes last, so that a DEL that fails is called again and finds it. An engine that is down is such a failure: no record of ours is there, by which the
//! agent could do it later. A bridge is never removed.

mod files;

use crate::cni::configuration::Configuration;
use crate::cni::environment::Environment;
use crate::engine::{OlderPlace, Switch};
use crate::error::Error;
use crate::ipam::Ipam;
use crate::node::Node;
use files::Places;
use serde::Deserialize;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use usnet_crds::legacy::HostConf;
use usnet_crds::{Engine, PortType};
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::configuration_data::{file_name, short_id, socket_name, state_file_name};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::older_port::OlderPort;
use usnet_dataplane::roots::Roots;

/// Where the files are, below the root of that plugin's paths.
const FOLDER: &str = "var/lib/cni/usrspcni/data";

/// Why what the older plugin made could not be taken apart.
#[derive(Debug, thiserror::Error)]
pub enum OlderStateError {
    /// A file or folder of it.
    #[error("cannot {action} {}, which the older userspace CNI made for this interface: mend that, or remove it by hand", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// What the older plugin kept of an interface. The form is its own: VPP's has `swIfIndex` and `memifSocketId`, that of Open vSwitch `vhostname`.
#[derive(Debug, Clone, Default, Deserialize)]
struct Content {
    #[serde(rename = "vhostname")]
    port: Option<String>,
    #[serde(rename = "swIfIndex")]
    interface_index: Option<u32>,
}

/// The older plugin's file about an interface.
#[derive(Debug)]
pub struct OlderState {
    path: PathBuf,
    content: Content,
}

impl OlderState {
    /// The file about this interface, if there is one. One that cannot be read counts: names follow from the interface, too.
    pub fn find(roots: &Roots, id: &AttachmentId) -> Option<Self> {
        let path = folder(roots).join(state_file_name(id));
        // No link: the folder is root's, and the older plugin makes none.
        if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
            return None;
        }
        let content = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        Some(Self { path, content })
    }

    /// Takes the interface apart. Gives what was left alone, for the runtime's log.
    ///
    /// # Errors
    /// When something is left that another DEL can take away.
    pub fn remove(
        self,
        node: &Node,
        environment: &Environment,
        configuration: &Configuration,
        id: &AttachmentId,
    ) -> Result<Option<String>, Error> {
        let host = HostConf::read(configuration.keys());
        let port = self.remove_port(node, &host, id)?;
        let places = Places::new(&node.roots, host.shared_dir.as_deref(), id);
        places.remove(&self.sockets(&host, id), &file_name(id))?;
        let pod = environment.arguments().ok().and_then(|arguments| arguments.pod().ok());
        if let Some(pod) = pod.filter(|_| !self.has_siblings(id)) {
            places.unmount(&pod.uid)?;
        }
        if let (Some(ipam), Ok(name)) = (&host.ipam, configuration.name()) {
            Ipam::find(&configuration.for_ipam(name, ipam), environment)?.release()?;
        }
        match port {
            OlderPort::Gone => {
                remove_file(&self.path)?;
                Ok(None)
            }
            // The file is all that still tells of it.
            OlderPort::Foreign { found } => Ok(Some(format!(
                "{found}, so it is not what the older userspace CNI made for interface {} and was left alone; if it is, remove it and {}",
                id.interface,
                self.path.display()
            ))),
        }
    }

    fn engine(&self, host: &HostConf) -> Engine {
        match (&self.content, host.engine) {
            (Content { port: Some(_), .. }, _) => Engine::OpenVswitch,
            (Content { interface_index: Some(_), .. }, _) => Engine::Vpp,
            (_, told) => told.unwrap_or(Engine::OpenVswitch),
        }
    }

    fn remove_port(&self, node: &Node, host: &HostConf, id: &AttachmentId) -> Result<OlderPort, Error> {
        let engine = self.engine(host);
        let sockets = self.sockets(host, id);
        let switch = Switch::to(engine, &engine_socket(node, engine), MemifSocketIds::default())?;
        let own_name = socket_name(PortType::VhostUser, id);
        let port = self.content.port.as_deref().filter(|name| !name.is_empty()).unwrap_or(&own_name);
        Ok(switch.remove_older_port(OlderPlace {
            bridge: host.bridge.as_deref(),
            port,
            // A name that a definition gave is that of other pods as well, each in a folder of its own.
            is_its_socket: &|path: &str| {
                let path = Path::new(path);
                let has_name = path.file_name().is_some_and(|name| sockets.iter().any(|socket| **socket == *name));
                let has_id = path.to_string_lossy().contains(&short_id(id));
                has_name && has_id && path.is_absolute()
            },
        })?)
    }

    /// What the socket can be called.
    fn sockets(&self, host: &HostConf, id: &AttachmentId) -> Vec<String> {
        let own = [PortType::VhostUser, PortType::Memif].map(|port_type| socket_name(port_type, id));
        own.into_iter().chain(host.socket_file.clone()).collect()
    }

    /// Whether the older plugin attached other interfaces of the sandbox, and we have not taken them apart yet.
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

fn folder(roots: &Roots) -> PathBuf {
    roots.older_plugin.join(FOLDER)
}

/// Where the agent found the engine, or where it usually is.
fn engine_socket(node: &Node, engine: Engine) -> PathBuf {
    let names = node.networks.list().unwrap_or_default();
    let files = names.iter().filter_map(|name| node.networks.read(name).ok().flatten());
    let told = files.filter_map(|file| match file {
        NetworkFile::Programmed(programmed) if programmed.network.engine == engine => Some(programmed.engine_socket),
        _ => None,
    });
    let usual = || match engine {
        Engine::OpenVswitch => node.roots.open_vswitch_socket.clone(),
        Engine::Vpp => node.roots.vpp_socket.clone(),
    };
    told.into_iter().next().unwrap_or_else(usual)
}

fn remove_file(path: &Path) -> Result<(), OlderStateError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(file_error("remove", path, error)),
        _ => Ok(()),
    }
}

fn file_error(action: &'static str, path: &Path, source: io::Error) -> OlderStateError {
    OlderStateError::File { action, path: path.to_owned(), source }
}
