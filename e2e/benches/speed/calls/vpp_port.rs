//! One port of VPP of any kind, as raw requests.

use super::device::Device;
use super::vpp_messages::{count_domains, send, settle};
use crate::host::namespaces;
use crate::host::node::Node;
use std::fs;
use usnet_crds::{MemifSocketKind, Port as PortSpec, PortType, SocketRole};
use usnet_vpp::Batch;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{
    AfPacketCreateV3, AfPacketDelete, AfPacketFlags, AfPacketMode, CreateVhostUserIfV2, DeleteVhostUserIf,
    MemifCreateV2, MemifDelete, MemifSocketFilenameAddDelV2,
};

/// What a port is made of.
pub(crate) enum Backend {
    /// The id of the socket, and its name.
    Memif(u32, String),
    /// The socket, and whether VPP listens.
    VhostUser(String, bool),
    /// The device.
    Veth(String),
}

/// A port that was created.
pub(crate) struct Port {
    index: u32,
    backend: Backend,
}

/// Below the ids of usnet.
const FIRST_SOCKET_ID: u32 = 1000;

impl Backend {
    /// Of the floor's port with this number.
    pub(crate) fn new(node: &Node, port: &PortSpec, number: usize, device: Option<&Device>) -> Self {
        let file = node.folder.join(format!("floor{number}.sock")).display().to_string();
        let id = FIRST_SOCKET_ID + u32::try_from(number).expect("a small number");
        match (port.port_type, device) {
            (_, Some(device)) => Self::Veth(device.name()),
            (PortType::Memif, None) if port.memif.socket == MemifSocketKind::Abstract => {
                let namespace = namespaces::of_pod(number);
                Self::Memif(id, format!("abstract:floor{number},netns_name={}", namespace.display()))
            }
            (PortType::Memif, None) => Self::Memif(id, file),
            (_, None) => Self::VhostUser(file, port.vhost_user.engine_role == SocketRole::Server),
        }
    }

    fn create(&self, client: &mut Client) -> u32 {
        let mut batch = Batch::new();
        match self {
            Self::Memif(socket_id, name) => {
                let mut sockets = Batch::new();
                let (is_add, socket_id, socket_filename) = (true, *socket_id, name.as_str().into());
                let socket = sockets.request(MemifSocketFilenameAddDelV2 { is_add, socket_id, socket_filename });
                send(client, &sockets).reply(socket).expect("a socket");
                let request = MemifCreateV2 { socket_id, ring_size: 1024, ..MemifCreateV2::default() };
                let created = batch.request(request);
                send(client, &batch).reply(created).expect("a memif").sw_if_index
            }
            Self::VhostUser(path, is_server) => {
                let sock_filename = path.as_str().try_into().expect("a short path");
                let tag = "usn=floor".try_into().expect("a short tag");
                let is_server = *is_server;
                let created = batch.request(CreateVhostUserIfV2 {
                    is_server,
                    sock_filename,
                    tag,
                    ..CreateVhostUserIfV2::default()
                });
                send(client, &batch).reply(created).expect("a vhost-user interface").sw_if_index
            }
            Self::Veth(device) => {
                let created = batch.request(host_interface(device));
                send(client, &batch).reply(created).expect("a host interface").sw_if_index
            }
        }
    }
}

/// With the rings that usnet requests.
fn host_interface(device: &str) -> AfPacketCreateV3 {
    AfPacketCreateV3 {
        mode: AfPacketMode::Ethernet,
        use_random_hw_addr: true,
        host_if_name: device.try_into().expect("a short name"),
        tx_frame_size: 16 * 1024,
        tx_frames_per_block: 256,
        flags: AfPacketFlags::QDISC_BYPASS,
        num_rx_queues: 1,
        num_tx_queues: 1,
        ..AfPacketCreateV3::default()
    }
}

/// Creates a port on a bridge domain: that there is one, its socket, its interface, what the
/// interface needs, and that the bridge domain is still there.
pub(crate) fn add_port(client: &mut Client, domain: u32, backend: Backend) -> Port {
    assert_eq!(count_domains(client, domain), Ok(1));
    let index = backend.create(client);
    let mut batch = Batch::new();
    let last = settle(&mut batch, domain, index);
    send(client, &batch).reply(last).expect("it is up");
    assert_eq!(count_domains(client, domain), Ok(1));
    Port { index, backend }
}

/// Removes it.
pub(crate) fn remove_port(client: &mut Client, port: &Port) {
    let (sw_if_index, mut batch) = (port.index, Batch::new());
    match &port.backend {
        Backend::Memif(socket_id, name) => {
            batch.request(MemifDelete { sw_if_index });
            let (is_add, socket_id, socket_filename) = (false, *socket_id, name.as_str().into());
            batch.request(MemifSocketFilenameAddDelV2 { is_add, socket_id, socket_filename });
            send(client, &batch);
            // VPP leaves it.
            let _gone = fs::remove_file(name);
        }
        Backend::VhostUser(..) => {
            let removed = batch.request(DeleteVhostUserIf { sw_if_index });
            send(client, &batch).reply(removed).expect("it is removed");
        }
        Backend::Veth(device) => {
            let host_if_name = device.as_str().try_into().expect("a short name");
            let removed = batch.request(AfPacketDelete { host_if_name });
            send(client, &batch).reply(removed).expect("it is removed");
        }
    }
}
