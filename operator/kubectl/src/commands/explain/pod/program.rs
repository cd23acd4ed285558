//! Why the program of a pod is not connected to its port: where the socket is in the containers,
//! whether they run, and what their command lines request instead. Pure.
//!
//! Command lines are those of DPDK (`--vdev=net_virtio_user0,path=…,server=1`). Other programs have
//! configurations that are not in the pod's spec, and nothing is concluded of them.

use super::context::Context;
use super::volume::program_listens;
use crate::commands::explain::finding::Finding;
use crate::commands::explain::remedy::remedy;
use crate::model::pod::Container;
use std::fmt::Write;
use usnet_crds::conditions::reason::NOT_CONNECTED;
use usnet_crds::{MemifSocketKind, Port, PortType};

/// The end of the names of sockets.
const SOCKET: &str = ".sock";
/// The arguments of DPDK's drivers that have the path of a socket.
const PATHS: [&str; 3] = ["path", "iface", "socket"];

/// Explains that no program is connected, with what the agent says.
pub(super) fn not_connected(context: &Context<'_>, message: &str) -> Finding {
    let sockets = sockets(context, message);
    let mut why = message.to_owned();
    if !sockets.is_empty() {
        let places: Vec<String> =
            sockets.iter().map(|(container, path)| format!("{path} in container {container}")).collect();
        let _ = write!(why, ". The socket is {}", places.join(", "));
    }
    for container in context.pod.containers.iter().filter(|container| !container.is_running) {
        let reason = container.reason.as_deref().unwrap_or("not started");
        let Container { name, restarts, .. } = container;
        let _ = write!(why, ". Container {name} does not run ({reason}, {restarts} restarts): see its log");
    }
    let hint = context
        .valid()
        .and_then(|valid| context.pod.containers.iter().find_map(|container| hint(&valid.port, container, &sockets)));
    match hint {
        // This program will never be connected.
        Some((found, remedy)) => Finding::new(NOT_CONNECTED, format!("{why}. {found}"), remedy),
        None => Finding::new(NOT_CONNECTED, why, remedy(NOT_CONNECTED)).warning(),
    }
}

/// The path of the socket in each container that mounts the volume.
fn sockets<'a>(context: &Context<'a>, message: &str) -> Vec<(&'a str, String)> {
    if let Some(path) = &context.socket {
        return context.pod.containers.iter().map(|it| (it.name.as_str(), path.clone())).collect();
    }
    let Some(valid) = context.valid() else { return Vec::new() };
    let is_abstract = valid.port.port_type == PortType::Memif && valid.port.memif.socket == MemifSocketKind::Abstract;
    let mounts = context.pod.mounted.get(valid.port.volume_name()).filter(|_| !is_abstract);
    // A legacy definition may give the socket another name.
    let is_socket = |word: &&str| word.ends_with(SOCKET) && !word.contains('/');
    let named = message.split([' ', ',', ';', ':', '"']).find(is_socket).map(str::to_owned);
    let file = named.unwrap_or_else(|| format!("{}{SOCKET}", context.element.interface));
    let whole = mounts.into_iter().flatten().filter(|mount| mount.sub_path.is_none());
    whole.map(|mount| (mount.container.as_str(), format!("{}/{file}", mount.path.trim_end_matches('/')))).collect()
}

/// What the command line of a container requests that the port is not, and what to write instead.
fn hint(port: &Port, container: &Container, sockets: &[(&str, String)]) -> Option<(String, String)> {
    let expected = sockets.iter().find(|(name, _)| *name == container.name).map(|(_, path)| path.as_str())?;
    // A command line can be the text of a shell.
    let words = container.command.iter().flat_map(|text| text.split([' ', '\n', ';', '"', '\'']));
    let devices: Vec<Device<'_>> = words.filter_map(Device::parse).collect();
    let is_here = |device: &&Device<'_>| device.path == Some(expected);
    // A pod can have devices of several networks.
    if devices.iter().any(|device| is_here(&device) && device.fits(port)) {
        return None;
    }
    let device = devices.iter().find(is_here).or_else(|| devices.iter().find(|device| device.fits(port)));
    let device = device.or(devices.first())?;
    let found = format!("Container {} is started with {}", container.name, device.text);
    let right = right_device(port, expected);
    let what = if device.port_type != port.port_type {
        format!(
            "a program for {} ports, and the port of the network is {}",
            device.port_type.as_str(),
            port.port_type.as_str()
        )
    } else if device.path != Some(expected) {
        format!("and the socket is {expected}")
    } else if program_listens(port) {
        "which connects to the socket, and it has to listen there".to_owned()
    } else {
        "which listens on the socket, and it has to connect to it".to_owned()
    };
    Some((format!("{found}, {what}"), format!("start the program with {right}")))
}

/// The argument for DPDK by which a program uses the port.
fn right_device(port: &Port, path: &str) -> String {
    match port.port_type {
        PortType::Memif => format!("--vdev=net_memif0,role=client,socket={path},socket-abstract=no"),
        _ if program_listens(port) => format!("--vdev=net_virtio_user0,path={path},server=1 --single-file-segments"),
        _ => format!("--vdev=net_virtio_user0,path={path} --single-file-segments"),
    }
}

/// A device of DPDK in a command line.
struct Device<'a> {
    text: &'a str,
    port_type: PortType,
    path: Option<&'a str>,
    listens: bool,
}

impl<'a> Device<'a> {
    /// Parses `--vdev=net_virtio_user0,path=…`, with or without the option; `None` for other words.
    fn parse(word: &'a str) -> Option<Self> {
        let text = word.strip_prefix("--vdev=").unwrap_or(word);
        let (driver, arguments) = text.split_once(',')?;
        let pairs = || arguments.split(',').filter_map(|argument| argument.split_once('='));
        let has = |key: &str, values: &[&str]| pairs().any(|(name, value)| name == key && values.contains(&value));
        let is = |names: &[&str]| names.iter().any(|name| driver.starts_with(name));
        let (port_type, listens) = if is(&["net_virtio_user", "virtio_user"]) {
            (PortType::VhostUser, has("server", &["1"]))
        } else if is(&["net_vhost", "eth_vhost"]) {
            (PortType::VhostUser, !has("client", &["1"]))
        } else if is(&["net_memif"]) {
            (PortType::Memif, has("role", &["server", "master"]))
        } else {
            return None;
        };
        let path = pairs().find(|(name, _)| PATHS.contains(name)).map(|(_, path)| path);
        Some(Self { text, port_type, path, listens })
    }

    /// Whether the device suits the port, but for its path.
    fn fits(&self, port: &Port) -> bool {
        self.port_type == port.port_type && self.listens == program_listens(port)
    }
}
