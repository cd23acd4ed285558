//! The sidecar of KubeVirt's virt-launcher: gives a virtual machine the vhost-user ports of its
//! pod.
//!
//! KubeVirt calls it over a unix socket before it defines the libvirt domain. [`machine`] reads
//! from the VirtualMachineInstance which interfaces are ports of usnet, [`nic`] converts each to
//! XML, and [`domain`] edits the domain; these are pure, except that [`machine`] reads the
//! descriptions of interfaces. [`server`] (IO) serves the socket. Nothing here has privileges or
//! calls an API server.

pub mod api;
pub mod domain;
pub mod guest_device;
mod machine;
pub mod nic;
mod server;
mod service;

use machine::Binding;
use service::Sidecar;
use std::io;
use std::path::{Path, PathBuf};

/// The folder that KubeVirt mounts into virt-launcher and its sidecars.
const HOOKS: &str = "/var/run/kubevirt-hooks";

/// Options of `usnet kubevirt-sidecar`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The socket that virt-launcher calls, in the folder that KubeVirt mounts. By default it has
    /// the binding's name: virt-launcher distinguishes sidecars by the names of their sockets.
    #[arg(long)]
    pub socket: Option<PathBuf>,
    /// The network binding of KubeVirt whose interfaces are ports of usnet. KubeVirt before 1.9
    /// does not set the variable.
    #[arg(long, env = "NETWORK_BINDING_PLUGIN_NAME", default_value = "usnet")]
    pub binding: String,
    /// The path of the volume that `spec.port.volume` of the networks names, in virt-launcher's
    /// container.
    #[arg(long, default_value = HOOKS)]
    pub sockets: PathBuf,
    /// The path of the same volume in this container. Without it, descriptions of interfaces are
    /// not read: MAC address and queues are those of the VirtualMachine, and no MTU is set.
    #[arg(long)]
    pub descriptions: Option<PathBuf>,
}

/// Why the sidecar ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot listen on {}: the folder must be the one that KubeVirt mounts into sidecars, and writable", path.display())]
    Listen { path: PathBuf, source: io::Error },
}

/// Serves virt-launcher until it reports that the virtual machine has ended.
pub async fn run(options: Options) -> Result<(), Error> {
    let Options { socket, binding, sockets, descriptions } = options;
    let socket = socket.unwrap_or_else(|| Path::new(HOOKS).join(format!("{binding}.sock")));
    let sidecar = Sidecar::new(Binding { name: binding, sockets, descriptions });
    server::serve(&socket, sidecar).await.map_err(|source| Error::Listen { path: socket, source })
}
