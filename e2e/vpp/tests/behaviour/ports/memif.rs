//! memifs: VPP's checks, and their details.

use crate::{Fixture, memif, on_each};
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    CreateVhostUserIfV2, DeleteVhostUserIf, IfStatusFlags, MemifCreate, MemifCreateV2, MemifMode, MemifRole,
    SwInterfaceSetFlags,
};

#[test]
fn server_as_it_is_dumped() {
    on_each(|vpp| {
        let path = vpp.path("m.sock");
        vpp.add_socket(5, &path).expect("socket");
        let hw_addr = [2, 0, 0, 0, 0, 9];
        let asked = MemifCreateV2 { ring_size: 2048, buffer_size: 4096, hw_addr, ..memif(5, 7) };
        let index = vpp.request(asked).expect("memif").sw_if_index;
        vpp.request(SwInterfaceSetFlags { sw_if_index: index, flags: IfStatusFlags::ADMIN_UP }).expect("up");
        let observed = vpp.memifs().pop().expect("the memif");
        assert_eq!((observed.sw_if_index, observed.id, observed.socket_id), (index, 7, 5));
        assert_eq!((observed.role, observed.mode), (MemifRole::Master, MemifMode::Ethernet));
        assert_eq!(
            (observed.ring_size, observed.buffer_size, observed.zero_copy),
            (1, 0, false),
            "unknown until connected"
        );
        assert_eq!((observed.hw_addr, observed.flags), (hw_addr, IfStatusFlags::ADMIN_UP));
        let interface = vpp.interface(index);
        assert_eq!((interface.interface_name.as_str(), interface.interface_dev_type.as_str()), ("memif5/7", "memif"));
        assert_eq!((observed.if_name, interface.l2_address), (interface.interface_name, hw_addr));
        assert_eq!(interface.sup_sw_if_index, index);
    });
}

#[test]
fn client_needs_no_server() {
    on_each(|vpp| {
        let path = vpp.path("absent.sock");
        vpp.add_socket(5, &path).expect("socket");
        let asked = MemifCreateV2 { role: MemifRole::Slave, mode: MemifMode::Ip, no_zero_copy: true, ..memif(5, 0) };
        vpp.request(asked).expect("memif");
        vpp.request(MemifCreateV2 { role: MemifRole::Other(9), ..memif(5, 1) }).expect("any other role is a client's");
        let observed: Vec<_> =
            vpp.memifs().into_iter().map(|memif| (memif.role, memif.mode, memif.zero_copy)).collect();
        let expected = [(MemifRole::Slave, MemifMode::Ip, false), (MemifRole::Slave, MemifMode::Ethernet, true)];
        assert_eq!(observed, expected);
        assert!(!vpp.exists("absent.sock"));
    });
}

#[test]
fn what_is_refused() {
    on_each(|vpp| {
        let path = vpp.path("m.sock");
        vpp.add_socket(5, &path).expect("socket");
        vpp.create_memif(5, 0).expect("memif");
        let taken = Err(ReturnCode::SubifAlreadyExists);
        assert_eq!(vpp.create_memif(5, 0), taken);
        let client = MemifCreateV2 { role: MemifRole::Slave, ..memif(5, 1) };
        assert_eq!(vpp.request(client).map(|reply| reply.sw_if_index), taken, "a socket is of servers or of clients");
        let invalid = Some(ReturnCode::InvalidArgument);
        assert_eq!(vpp.create_memif(99, 0).err(), invalid);
        assert_eq!(vpp.request(MemifCreateV2 { ring_size: 1000, ..memif(5, 1) }).err(), invalid);
        let older = MemifCreate { socket_id: 5, id: 1, ring_size: 1000, ..MemifCreate::default() };
        assert_eq!(vpp.request(older).err(), invalid);
        assert_eq!(vpp.memifs().len(), 1);
    });
}

#[test]
fn ring_size_has_no_upper_limit() {
    on_each(|vpp| {
        for (id, ring_size) in [(0, 0), (1, 1), (2, 65536), (3, 1 << 31)] {
            vpp.request(MemifCreateV2 { ring_size, ..memif(0, id) }).expect("memif");
        }
        assert_eq!(vpp.memifs().len(), 4);
    });
}

#[test]
fn only_a_memif_is_deleted_as_one() {
    on_each(|vpp| {
        let loopback = vpp.loopback();
        let vhost = CreateVhostUserIfV2 {
            is_server: true,
            sock_filename: vpp.path("v.sock").as_str().try_into().expect("fits"),
            ..Default::default()
        };
        let vhost = vpp.request(vhost).expect("vhost").sw_if_index;
        let memif = vpp.create_memif(0, 0).expect("memif");
        for index in [0, loopback, vhost, 99] {
            assert_eq!(vpp.delete_memif(index), Err(ReturnCode::InvalidSwIfIndex), "{index}");
        }
        let not_its_kind = vpp.request(DeleteVhostUserIf { sw_if_index: memif }).err();
        assert_eq!(not_its_kind, Some(ReturnCode::InvalidSwIfIndex));
        vpp.delete_memif(memif).expect("delete");
        assert_eq!(vpp.interfaces().len(), 3);
    });
}

fn end_by_mode(vpp: &mut Fixture, mode: MemifMode) {
    vpp.request_fatal(MemifCreateV2 { mode, ..memif(0, 0) });
}

#[test]
fn unknown_mode_ends_vpp() {
    on_each(|vpp| end_by_mode(vpp, MemifMode::Other(9)));
}

#[test]
fn mode_punt_inject_ends_vpp() {
    on_each(|vpp| end_by_mode(vpp, MemifMode::PuntInject));
}
