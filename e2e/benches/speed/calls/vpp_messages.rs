//! The least that any program has to say to VPP, as raw requests.

use std::path::Path;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{
    BridgeDomainAddDelV2, BridgeDomainDump, IfStatusFlags, L2InterfaceVlanTagRewrite, L2PortType, MemifCreateV2,
    MemifSocketFilenameAddDelV2, NO_INTERFACE, SwInterfaceSetFlags, SwInterfaceSetL2Bridge, SwInterfaceSetMtu,
    SwInterfaceTagAddDel,
};
use usnet_vpp::{Answers, Batch, ReplyError};

/// A bridge domain as usnet makes it.
pub(crate) fn bridge_domain(id: u32, tag: &str) -> BridgeDomainAddDelV2 {
    BridgeDomainAddDelV2 {
        bd_id: id,
        flood: true,
        uu_flood: true,
        forward: true,
        learn: true,
        mac_age: 5,
        bd_tag: tag.try_into().expect("a short tag"),
        is_add: true,
        ..BridgeDomainAddDelV2::default()
    }
}

/// Does requests in one go; none may be refused.
pub(crate) fn send(client: &mut Client, batch: &Batch) -> Answers {
    client.send(batch).expect("VPP answers")
}

/// Ports of one bridge domain, in three goes: sockets, interfaces, and what interfaces need.
pub(crate) fn add_ports(client: &mut Client, domain: u32, ports: &[(u32, &Path)]) {
    let mut batch = Batch::new();
    for (socket_id, path) in ports {
        let socket_filename = path.to_str().expect("a path of text").into();
        batch.request(MemifSocketFilenameAddDelV2 { is_add: true, socket_id: *socket_id, socket_filename });
    }
    send(client, &batch);
    let mut batch = Batch::new();
    let create = |socket_id| MemifCreateV2 { socket_id, ring_size: 1024, ..MemifCreateV2::default() };
    let made: Vec<_> = ports.iter().map(|(socket_id, _)| batch.request(create(*socket_id))).collect();
    let answers = send(client, &batch);
    let mut batch = Batch::new();
    let mut last = None;
    for ticket in made {
        let index = answers.reply(ticket).expect("a memif").sw_if_index;
        last = Some(settle(&mut batch, domain, index));
    }
    let answers = send(client, &batch);
    last.map_or(Ok(()), |ticket| answers.reply(ticket).map(drop)).expect("it is switched on");
}

/// What every interface needs: tag, MTU, bridge domain, no VLAN, up.
pub(super) fn settle(batch: &mut Batch, bd_id: u32, index: u32) -> usnet_vpp::Ticket<SwInterfaceSetFlags> {
    let tag = format!("usn={index:058}");
    let tag = tag.as_str().try_into().expect("a short tag");
    batch.request(SwInterfaceTagAddDel { is_add: true, sw_if_index: index, tag });
    batch.request(SwInterfaceSetMtu { sw_if_index: index, mtu: [1500, 0, 0, 0] });
    let port_type = L2PortType::Normal;
    batch.request(SwInterfaceSetL2Bridge { rx_sw_if_index: index, bd_id, port_type, shg: 0, enable: true });
    batch.request(L2InterfaceVlanTagRewrite { sw_if_index: index, ..L2InterfaceVlanTagRewrite::default() });
    batch.request(SwInterfaceSetFlags { sw_if_index: index, flags: IfStatusFlags::ADMIN_UP })
}

/// Reads bridge domains: the answer that what was asked for is there.
pub(crate) fn count_domains(client: &mut Client, id: u32) -> Result<usize, ReplyError> {
    let mut batch = Batch::new();
    let ticket = batch.dump(BridgeDomainDump { bd_id: id, sw_if_index: NO_INTERFACE });
    send(client, &batch).details(ticket).map(|details| details.len())
}
