//! vhost-user interfaces.

use crate::{Fixture, on_each};
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    CreateVhostUserIfV2, DeleteVhostUserIf, HwInterfaceSetMtu, NO_INTERFACE, SwInterfaceSetMtu,
    SwInterfaceVhostUserDetails, SwInterfaceVhostUserDump,
};
use usnet_vpp::wire::FixedText;

impl Fixture {
    fn vhost(&mut self, path: &str, is_server: bool) -> Result<u32, ReturnCode> {
        self.request(vhost(path, is_server)).map(|reply| reply.sw_if_index)
    }

    fn delete_vhost(&mut self, sw_if_index: u32) {
        self.request(DeleteVhostUserIf { sw_if_index }).expect("delete");
    }

    fn vhosts(&mut self) -> Vec<SwInterfaceVhostUserDetails> {
        self.dump(SwInterfaceVhostUserDump { sw_if_index: NO_INTERFACE })
    }
}

fn vhost(path: &str, is_server: bool) -> CreateVhostUserIfV2 {
    let sock_filename = FixedText::new(path).expect("fits");
    CreateVhostUserIfV2 { is_server, sock_filename, ..CreateVhostUserIfV2::default() }
}

#[test]
fn server_as_it_is_dumped() {
    on_each(|vpp| {
        let path = vpp.path("v.sock");
        let tag = FixedText::new("t".repeat(63)).expect("fits");
        let (use_custom_mac, mac_address) = (true, [2, 0, 0, 0, 0, 9]);
        let asked = CreateVhostUserIfV2 { tag: tag.clone(), use_custom_mac, mac_address, ..vhost(&path, true) };
        let index = vpp.request(asked).expect("vhost").sw_if_index;
        let file = fs::metadata(&path).expect("the file");
        assert!(file.file_type().is_socket());
        assert_eq!(file.permissions().mode() & 0o777, 0o755);
        let observed = vpp.interface(index);
        assert_eq!(
            (observed.interface_name.as_str(), observed.interface_dev_type.as_str()),
            ("VirtualEthernet0/0/0", "vhost-user")
        );
        assert_eq!((observed.tag, observed.l2_address, observed.link_mtu), (tag, mac_address, 9000));
        let details = vpp.vhosts().pop().expect("the vhost");
        assert_eq!((details.sw_if_index, details.is_server, details.sock_errno), (index, true, 0));
        assert_eq!((details.sock_filename.as_str(), details.num_regions), (path.as_str(), 0));
        vpp.delete_vhost(index);
        assert!(!vpp.exists("v.sock"));
    });
}

#[test]
fn path_is_used_once() {
    on_each(|vpp| {
        let path = vpp.path("v.sock");
        let index = vpp.vhost(&path, true).expect("vhost");
        for is_server in [true, false] {
            assert_eq!(vpp.vhost(&path, is_server), Err(ReturnCode::IfAlreadyExists));
        }
        assert_eq!(vpp.vhosts().len(), 1);
        assert_eq!(vpp.vhost("", true), Err(ReturnCode::InvalidArgument));
        assert_eq!(vpp.vhost("/no/such/folder/v.sock", true), Err(ReturnCode::SyscallError2));
        vpp.delete_vhost(index);
        vpp.vhost(&path, false).expect("free again");
    });
}

#[test]
fn client_is_made_whatever_is_there_and_says_what_is_wrong() {
    on_each(|vpp| {
        let index = vpp.vhost("/no/such/folder/v.sock", false).expect("vhost");
        let details = vpp.vhosts().pop().expect("the vhost");
        assert_eq!((details.sw_if_index, details.is_server, details.sock_errno), (index, false, 2));
        let path = vpp.path("v.sock");
        drop(UnixListener::bind(&path).expect("bind"));
        let refused = vpp.vhost(&path, false).expect("vhost");
        let details = vpp.vhosts().into_iter().find(|vhost| vhost.sw_if_index == refused).expect("the vhost");
        assert_eq!(details.sock_errno, 111);
        vpp.delete_vhost(refused);
        assert!(vpp.exists("v.sock"), "a client removes nothing");
    });
}

#[test]
fn server_takes_whatever_is_at_its_path_but_a_folder() {
    on_each(|vpp| {
        let [file, link, live, folder] = ["file", "link", "live", "folder"].map(|name| vpp.path(name));
        fs::write(&file, "text").expect("write");
        symlink(vpp.path("nowhere"), &link).expect("link");
        let listener = UnixListener::bind(&live).expect("bind");
        fs::create_dir(&folder).expect("folder");
        for path in [&file, &link, &live] {
            vpp.vhost(path, true).expect("vhost");
            assert!(fs::symlink_metadata(path).expect("file").file_type().is_socket(), "{path}");
        }
        UnixStream::connect(&live).expect("connect");
        listener.set_nonblocking(true).expect("set");
        assert!(listener.accept().is_err(), "the first listener is unreachable");
        assert_eq!(vpp.vhost(&folder, true), Err(ReturnCode::SyscallError2));
        vpp.vhost(&vpp.path("any: character+@"), true).expect("vhost");
    });
}

#[test]
fn long_path_is_cut_and_its_file_left() {
    on_each(|vpp| {
        let folder = vpp.path("");
        let long = format!("{folder}{}", "x".repeat(250 - folder.len()));
        let (cut, _) = long.split_at(107);
        let index = vpp.vhost(&long, true).expect("vhost");
        assert!(Path::new(cut).exists());
        assert_eq!(vpp.vhosts().pop().expect("the vhost").sock_filename.as_str(), long);
        assert_eq!(vpp.vhost(&format!("{cut}other"), true), Err(ReturnCode::SyscallError2), "the same when cut");
        vpp.delete_vhost(index);
        assert!(Path::new(cut).exists());
    });
}

#[test]
fn link_mtu_stays_and_that_of_layer_3_can_be_set() {
    on_each(|vpp| {
        let sw_if_index = vpp.vhost(&vpp.path("v.sock"), true).expect("vhost");
        let set = HwInterfaceSetMtu { sw_if_index, mtu: 1500 };
        assert_eq!(vpp.request(set).err(), Some(ReturnCode::Unsupported));
        vpp.request(SwInterfaceSetMtu { sw_if_index, mtu: [1200, 0, 0, 0] }).expect("layer 3");
        let observed = vpp.interface(sw_if_index);
        assert_eq!((observed.link_mtu, observed.mtu), (9000, [1200, 0, 0, 0]));
    });
}

#[test]
fn numbers_in_names_are_used_again_or_chosen() {
    on_each(|vpp| {
        let paths = ["a", "b", "c", "d"].map(|name| vpp.path(name));
        let [first, second, third, fourth] = &paths;
        let made = [vpp.vhost(first, true).expect("vhost"), vpp.vhost(second, true).expect("vhost")];
        vpp.delete_vhost(made[0]);
        assert_eq!(vpp.vhost(third, true), Ok(made[0]));
        assert_eq!(vpp.interface(made[0]).interface_name.as_str(), "VirtualEthernet0/0/0");
        let asked = CreateVhostUserIfV2 { renumber: true, custom_dev_instance: 77, ..vhost(fourth, true) };
        let index = vpp.request(asked).expect("vhost").sw_if_index;
        assert_eq!(vpp.interface(index).interface_name.as_str(), "VirtualEthernet0/0/77");
        let details = |vpp: &mut Fixture, sw_if_index| vpp.dump(SwInterfaceVhostUserDump { sw_if_index }).len();
        assert_eq!((details(vpp, index), details(vpp, 0), details(vpp, 99)), (1, 0, 0));
    });
}
