//! Operations of the tests on VPP without the plugin.

mod snapshot;

pub(crate) use snapshot::VppSnapshot;
use std::path::Path;
use usnet_test_vpp::Vpp;
use usnet_vpp::messages::{
    BridgeDomainAddDelV2, ClassifyTableByInterface, ClassifyTableIds, CreateVhostUserIfV2, InputAclSetInterface,
    L2PortType, MemifCreate, MemifRole, MemifSocketFilenameAddDelV2, NO_TABLE, SwInterfaceSetL2Bridge,
    SwInterfaceTagAddDel,
};
use usnet_vpp::wire::{FixedText, Text};
use usnet_vpp::{Batch, Request};

/// Sends a request like another client of VPP.
fn request<R: Request>(vpp: &Vpp, request: R) -> R::Reply {
    let mut batch = Batch::new();
    let ticket = batch.request(request);
    vpp.client().unwrap().send(&batch).unwrap().reply(ticket).unwrap()
}

/// Removes a bridge domain. Its ports are kept, without a bridge domain.
pub(crate) fn remove_bridge_domain(vpp: &Vpp, id: &str) {
    let (observed, bd_id) = (VppSnapshot::of(vpp), id.parse().unwrap());
    for member in &observed.domains[&bd_id].sw_if_details {
        request(
            vpp,
            SwInterfaceSetL2Bridge {
                rx_sw_if_index: member.sw_if_index,
                bd_id,
                port_type: L2PortType::Normal,
                shg: 0,
                enable: false,
            },
        );
    }
    request(vpp, BridgeDomainAddDelV2 { bd_id, is_add: false, ..BridgeDomainAddDelV2::default() });
}

/// Creates a bridge domain without usnet's tag.
pub(crate) fn add_bridge_domain(vpp: &Vpp, id: &str) {
    let whole = BridgeDomainAddDelV2 { flood: true, uu_flood: true, forward: true, learn: true, ..Default::default() };
    request(vpp, BridgeDomainAddDelV2 { bd_id: id.parse().unwrap(), is_add: true, ..whole });
}

/// Creates a memif that VPP serves like the legacy plugin: with the lowest free id, and without a
/// tag.
pub(crate) fn add_memif(vpp: &Vpp, socket: &Path, domain: &str) {
    let used = VppSnapshot::of(vpp).socket_ids;
    let socket_id = (1..).find(|id| !used.contains_key(id)).unwrap();
    let socket_filename = Text::from(socket.to_str().unwrap());
    request(vpp, MemifSocketFilenameAddDelV2 { is_add: true, socket_id, socket_filename });
    let created = request(
        vpp,
        MemifCreate {
            role: MemifRole::Master,
            socket_id,
            ring_size: 1024,
            buffer_size: 2048,
            ..MemifCreate::default()
        },
    );
    join(vpp, created.sw_if_index, domain);
}

/// Creates a vhost-user interface where VPP listens, without a tag, like another client.
pub(crate) fn add_vhost_user(vpp: &Vpp, socket: &Path, domain: &str) {
    let sock_filename = socket.to_str().unwrap().try_into().unwrap();
    let created =
        request(vpp, CreateVhostUserIfV2 { is_server: true, sock_filename, ..CreateVhostUserIfV2::default() });
    join(vpp, created.sw_if_index, domain);
}

fn join(vpp: &Vpp, rx_sw_if_index: u32, domain: &str) {
    let bd_id = domain.parse().unwrap();
    let port_type = L2PortType::Normal;
    request(vpp, SwInterfaceSetL2Bridge { rx_sw_if_index, bd_id, port_type, shg: 0, enable: true });
}

/// Tags an interface, like another client.
pub(crate) fn tag(vpp: &Vpp, sw_if_index: u32, tag: &str) {
    request(vpp, SwInterfaceTagAddDel { is_add: true, sw_if_index, tag: FixedText::new(tag).unwrap() });
}

/// The indexes of all classifier tables.
pub(crate) fn tables(vpp: &Vpp) -> Vec<u32> {
    request(vpp, ClassifyTableIds {}).ids
}

/// Has VPP filter nothing that a port receives, like another client.
pub(crate) fn set_no_filter(vpp: &Vpp, port: &str) {
    let sw_if_index = VppSnapshot::of(vpp).interface(port).sw_if_index;
    let l2_table_index = request(vpp, ClassifyTableByInterface { sw_if_index }).l2_table_id;
    let (ip4_table_index, ip6_table_index) = (NO_TABLE, NO_TABLE);
    request(vpp, InputAclSetInterface { sw_if_index, ip4_table_index, ip6_table_index, l2_table_index, is_add: false });
}
