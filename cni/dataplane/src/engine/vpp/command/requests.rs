//! The requests themselves, in the newest form that this VPP knows.

use super::vpp_command::{HostInterfaceName, SocketName, VhostUserPath};
use crate::engine::vpp::qos::Direction;
use crate::engine::vpp::tags::Tag;
use usnet_crds::{Mtu, RingSize, VlanTag};
use usnet_vpp::messages::{
    AfPacketCreateV3, AfPacketFlags, AfPacketMode, BridgeDomainAddDel, BridgeDomainAddDelV2, CreateVhostUserIfV2,
    L2InterfaceVlanTagRewrite, L2PortType, MemifCreate, MemifCreateV2, MemifMode, MemifRole, MemifSocketFilenameAddDel,
    MemifSocketFilenameAddDelV2, PolicerInput, PolicerOutput, SwInterfaceSetL2Bridge, SwInterfaceSetMtu, VtrOp,
};
use usnet_vpp::wire::{FixedText, Secret, Text};
use usnet_vpp::{Answers, Api, Batch, ReplyError, Request};

/// The result of a command: the index of the interface that it created, or 0.
pub(in crate::engine::vpp) type Outcome = Result<u32, ReplyError>;

/// Finds an outcome in the answers.
pub(super) type Find = Box<dyn Fn(&Answers) -> Outcome + Send + Sync>;

/// A request that does not create an interface.
pub(super) fn add<R: Request + 'static>(batch: &mut Batch, request: R) -> Find {
    add_with(batch, request, |_| 0)
}

pub(super) fn add_with<R: Request + 'static>(batch: &mut Batch, request: R, created: fn(&R::Reply) -> u32) -> Find {
    let ticket = batch.request(request);
    Box::new(move |answers| answers.reply(ticket).map(|reply| created(&reply)))
}

/// A bridge domain that forwards and floods and does not answer ARP.
pub(super) fn bridge_domain(id: u32, tag: &Tag, learns: bool, mac_age_minutes: u8) -> BridgeDomainAddDelV2 {
    BridgeDomainAddDelV2 {
        bd_id: id,
        flood: true,
        uu_flood: true,
        forward: true,
        learn: learns,
        mac_age: mac_age_minutes,
        bd_tag: tag.clone(),
        is_add: true,
        ..BridgeDomainAddDelV2::default()
    }
}

pub(super) fn add_bridge_domain(batch: &mut Batch, api: &impl Api, newest: BridgeDomainAddDelV2) -> Find {
    if api.supports::<BridgeDomainAddDelV2>() {
        return add(batch, newest);
    }
    let BridgeDomainAddDelV2 { bd_id, flood, uu_flood, forward, learn, arp_term, arp_ufwd, mac_age, bd_tag, is_add } =
        newest;
    add(
        batch,
        BridgeDomainAddDel { bd_id, flood, uu_flood, forward, learn, arp_term, arp_ufwd, mac_age, bd_tag, is_add },
    )
}

pub(super) fn delete_bridge_domain(batch: &mut Batch, api: &impl Api, id: u32) -> Find {
    let request = BridgeDomainAddDelV2 { bd_id: id, is_add: false, ..BridgeDomainAddDelV2::default() };
    add_bridge_domain(batch, api, request)
}

/// A vhost-user interface with its tag.
pub(super) fn vhost_user(path: &VhostUserPath, is_server: bool, tag: &Tag) -> CreateVhostUserIfV2 {
    CreateVhostUserIfV2 { is_server, sock_filename: path.clone(), tag: tag.clone(), ..CreateVhostUserIfV2::default() }
}

/// Size of a TX frame in bytes: more than the largest MTU with all headers. A power of two, so that
/// pages hold whole frames.
const SENT_FRAME_BYTES: u32 = 16 * 1024;
/// Frames of that ring, which is 4 MiB then; VPP's own would be 66 MiB for each port.
const SENT_FRAMES: u32 = 256;

/// The host interface on a device. VPP completes checksums: the device has no offload for them.
pub(super) fn af_packet(host_if_name: HostInterfaceName) -> AfPacketCreateV3 {
    AfPacketCreateV3 {
        mode: AfPacketMode::Ethernet,
        use_random_hw_addr: true,
        host_if_name,
        tx_frame_size: SENT_FRAME_BYTES,
        tx_frames_per_block: SENT_FRAMES,
        flags: AfPacketFlags::QDISC_BYPASS,
        num_rx_queues: 1,
        num_tx_queues: 1,
        ..AfPacketCreateV3::default()
    }
}

/// Adds the id of a socket, or deletes it if there is no name: VPP ignores the name then.
pub(super) fn memif_socket(batch: &mut Batch, api: &impl Api, socket_id: u32, name: Option<&SocketName>) -> Find {
    let (is_add, name) = (name.is_some(), name.cloned().unwrap_or_default());
    if api.supports::<MemifSocketFilenameAddDelV2>() {
        let socket_filename = Text::from(name.as_str());
        return add(batch, MemifSocketFilenameAddDelV2 { is_add, socket_id, socket_filename });
    }
    add(batch, MemifSocketFilenameAddDel { is_add, socket_id, socket_filename: name })
}

/// The only memif of a socket. The application in the pod decides on the number of queues.
pub(super) fn add_memif(
    batch: &mut Batch,
    api: &impl Api,
    socket_id: u32,
    ring_size: RingSize,
    secret: Option<&Secret>,
) -> Find {
    let newest = MemifCreateV2 {
        role: MemifRole::Master,
        mode: MemifMode::Ethernet,
        socket_id,
        ring_size: ring_size.get().into(),
        secret: secret.cloned().unwrap_or_default(),
        ..MemifCreateV2::default()
    };
    if api.supports::<MemifCreateV2>() {
        return add_with(batch, newest, |reply| reply.sw_if_index);
    }
    let MemifCreateV2 { role, mode, ring_size, secret, .. } = newest;
    let request = MemifCreate { role, mode, socket_id, ring_size, secret, ..MemifCreate::default() };
    add_with(batch, request, |reply| reply.sw_if_index)
}

/// Frames from the pod get the tag of its VLAN, frames to the pod lose it.
pub(super) fn vlan_tag_rewrite(index: u32, vlan: Option<VlanTag>) -> L2InterfaceVlanTagRewrite {
    let rewrite = L2InterfaceVlanTagRewrite { sw_if_index: index, ..L2InterfaceVlanTagRewrite::default() };
    match vlan {
        Some(tag) => {
            L2InterfaceVlanTagRewrite { vtr_op: VtrOp::Push1, push_dot1q: 1, tag1: tag.get().into(), ..rewrite }
        }
        None => rewrite,
    }
}

/// The only MTU that all kinds of ports support. It does not limit bridged frames, only routed
/// ones.
pub(super) fn mtu(index: u32, mtu: Mtu) -> SwInterfaceSetMtu {
    SwInterfaceSetMtu { sw_if_index: index, mtu: [mtu.get().into(), 0, 0, 0] }
}

pub(super) fn membership(index: u32, domain: u32, enable: bool) -> SwInterfaceSetL2Bridge {
    SwInterfaceSetL2Bridge { rx_sw_if_index: index, bd_id: domain, port_type: L2PortType::Normal, shg: 0, enable }
}

/// By name. VPP replies to the messages that take a policer's index with the message id of these,
/// so that the reply could not be matched.
pub(super) fn attach_policer(
    batch: &mut Batch,
    index: u32,
    policer: &FixedText<64>,
    direction: Direction,
    apply: bool,
) -> Find {
    let (name, sw_if_index) = (policer.clone(), index);
    match direction {
        Direction::Ingress => add(batch, PolicerOutput { name, sw_if_index, apply }),
        Direction::Egress => add(batch, PolicerInput { name, sw_if_index, apply }),
    }
}
