//! The behaviour of VPP 26.06 after it refused a memif because it could not listen: it miscounts
//! the interfaces of the socket.

use crate::{Fixture, memif, on_each};
use std::fs;
use usnet_vpp::ReturnCode;

/// Adds a socket id whose first memif is refused because its folder is missing. The folder exists
/// afterwards.
fn refused_once(vpp: &mut Fixture) {
    let path = vpp.path("late/m.sock");
    vpp.add_socket(70, &path).expect("socket");
    assert_eq!(vpp.create_memif(70, 0), Err(ReturnCode::SyscallError4));
    fs::create_dir(vpp.path("late")).expect("folder");
}

#[test]
fn socket_id_that_is_added_anew_is_right() {
    on_each(|vpp| {
        refused_once(vpp);
        vpp.delete_socket(70).expect("delete");
        let path = vpp.path("late/m.sock");
        vpp.add_socket(70, &path).expect("socket");
        let index = vpp.create_memif(70, 0).expect("memif");
        assert!(vpp.exists("late/m.sock"));
        assert_eq!(vpp.delete_socket(70), Err(ReturnCode::UnexpectedIntfState));
        vpp.delete_memif(index).expect("delete");
        vpp.delete_socket(70).expect("delete");
    });
}

#[test]
fn next_memif_listens_nowhere_however_often_it_is_made() {
    on_each(|vpp| {
        refused_once(vpp);
        for _ in 0..2 {
            let index = vpp.create_memif(70, 0).expect("a success that is none");
            assert!(!vpp.exists("late/m.sock"));
            assert_eq!(vpp.memifs().len(), 1);
            vpp.delete_memif(index).expect("delete");
        }
        vpp.create_memif(70, 0).expect("a success that is none");
        vpp.delete_socket(70).expect("although it is used");
        assert_eq!(vpp.memifs().first().map(|left| left.socket_id), Some(70));
    });
}

#[test]
fn same_memif_again_ends_vpp() {
    on_each(|vpp| {
        refused_once(vpp);
        vpp.create_memif(70, 0).expect("a success that is none");
        vpp.request_fatal(memif(70, 0));
    });
}

#[test]
fn deleting_both_memifs_ends_vpp() {
    on_each(|vpp| {
        refused_once(vpp);
        let first = vpp.create_memif(70, 0).expect("a success that is none");
        let second = vpp.create_memif(70, 1).expect("memif");
        assert!(vpp.exists("late/m.sock"), "another number listens");
        vpp.delete_memif(second).expect("delete");
        vpp.request_fatal(usnet_vpp::messages::MemifDelete { sw_if_index: first });
    });
}

#[test]
fn socket_id_added_anew_under_a_memif_ends_vpp() {
    on_each(|vpp| {
        refused_once(vpp);
        vpp.create_memif(70, 0).expect("a success that is none");
        vpp.delete_socket(70).expect("although it is used");
        let path = vpp.path("late/m.sock");
        vpp.add_socket(70, &path).expect("socket");
        vpp.request_fatal(memif(70, 0));
    });
}
