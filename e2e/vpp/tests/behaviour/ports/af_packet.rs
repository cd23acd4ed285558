//! Interfaces on devices of the kernel.

use crate::{Fixture, on_each};
use nix::sched::{CloneFlags, unshare};
use std::process::Command;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    AfPacketCreateV3, AfPacketCreateV3Reply, AfPacketDelete, AfPacketDump, AfPacketMode, IfStatusFlags,
    SwInterfaceSetFlags,
};
use usnet_vpp::wire::FixedText;

pub(super) fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("ip");
    assert!(status.success(), "ip {arguments}");
}

fn device(name: &str) -> FixedText<64> {
    FixedText::new(name).expect("fits")
}

impl Fixture {
    pub(super) fn on_device(&mut self, name: &str) -> Result<AfPacketCreateV3Reply, ReturnCode> {
        let (mode, host_if_name) = (AfPacketMode::Ethernet, device(name));
        self.request(AfPacketCreateV3 { mode, host_if_name, use_random_hw_addr: true, ..AfPacketCreateV3::default() })
    }

    pub(super) fn on_device_with_mac(&mut self, name: &str, hw_addr: [u8; 6]) -> u32 {
        let (mode, host_if_name) = (AfPacketMode::Ethernet, device(name));
        let create = AfPacketCreateV3 { mode, host_if_name, hw_addr, ..AfPacketCreateV3::default() };
        self.request(create).expect("an interface").sw_if_index
    }

    fn devices(&mut self) -> Vec<(u32, String)> {
        self.dump(AfPacketDump {})
            .into_iter()
            .map(|observed| (observed.sw_if_index, observed.host_if_name.to_string()))
            .collect()
    }
}

pub(super) fn is_up(device: &str) -> bool {
    let output = Command::new("ip").args(["link", "show", "dev", device]).output().expect("ip");
    String::from_utf8_lossy(&output.stdout).contains(",UP")
}

#[test]
fn the_state_of_a_device_is_that_of_its_interface_and_down_without_one() {
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    on_each(|vpp| {
        ip("link add veth0 type veth peer name veth1");
        let sw_if_index = vpp.on_device_with_mac("veth0", [2, 0x75, 0, 0, 0, 7]);
        assert_eq!(vpp.interface(sw_if_index).l2_address, [2, 0x75, 0, 0, 0, 7]);
        let flags =
            |vpp: &mut Fixture, flags| vpp.request(SwInterfaceSetFlags { sw_if_index, flags }).expect("a state");
        flags(vpp, IfStatusFlags::ADMIN_UP);
        assert!(is_up("veth0"));
        flags(vpp, IfStatusFlags::default());
        assert!(!is_up("veth0"));
        flags(vpp, IfStatusFlags::ADMIN_UP);
        vpp.request(AfPacketDelete { host_if_name: device("veth0") }).expect("a deletion");
        assert!(!is_up("veth0"));
        ip("link del veth0");
    });
}

#[test]
fn a_device_has_one_interface_which_goes_by_its_name_also_when_the_device_is_gone() {
    // VPP uses the devices of the network namespace in which it is started.
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    on_each(|vpp| {
        ip("link add veth0 up type veth peer name veth1");
        let index = vpp.on_device("veth0").expect("an interface").sw_if_index;
        let observed = vpp.interface(index);
        assert_eq!((observed.interface_name.as_str(), observed.link_mtu), ("host-veth0", 9000));
        assert_eq!((observed.tag.as_str(), observed.flags.contains(IfStatusFlags::ADMIN_UP)), ("", false));
        vpp.request(SwInterfaceSetFlags { sw_if_index: index, flags: IfStatusFlags::ADMIN_UP }).expect("on");
        assert_eq!(vpp.devices(), [(index, "veth0".to_owned())]);

        assert_eq!(vpp.on_device("veth0").err(), Some(ReturnCode::IfAlreadyExists));
        assert_eq!(vpp.on_device("nothing").err(), Some(ReturnCode::InvalidInterface));
        let delete = |vpp: &mut Fixture, name| vpp.request(AfPacketDelete { host_if_name: device(name) }).map(drop);
        assert_eq!(delete(vpp, "nothing"), Err(ReturnCode::SyscallError1));
        ip("link del veth0");
        assert_eq!(delete(vpp, "veth0"), Ok(()));
        assert_eq!(vpp.devices(), []);
    });
}
