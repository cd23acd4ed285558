//! NICs that an engine drives itself.

use super::{joined_nic, node, only, uplink};
use crate::links::nics::{
    JoinedNic, NicBlocker, NodeNics, NodeUse, ObservedNics, ResolvedMember, UplinkRequest, resolve,
};
use crate::links::pci::{ObservedPci, ObservedPciNic, PciBlocker, VFIO_DRIVER};
use crate::model::observed::DpdkSupport;
use crate::model::owner::NicIdentity;
use crate::model::port::{DeviceName, PortBackend};
use crate::store::bound_nics::BoundNic;
use usnet_crds::{Binding, NicDriver, NodeUplink, PciAddress};

const BY_ADDRESS: &str = r#"{"type": "PciAddress", "pciAddress": "0000:3b:00.1"}"#;
const BY_NAME: &str = r#"{"type": "Name", "name": "eth1"}"#;

fn address(function: u8) -> PciAddress {
    format!("0000:3b:00.{function}").parse().unwrap()
}

fn dpdk(device: &str, bind: Binding) -> NodeUplink {
    let mut uplink = uplink("fab", device, "Refused");
    (uplink.nic.driver, uplink.nic.bind) = (NicDriver::Dpdk, bind);
    uplink
}

/// The bus of the node with `eth1` and `eth2`, whose first NIC has this driver.
fn bus(driver: &str) -> ObservedPci {
    let nic = |driver: &str, device: Option<&str>| ObservedPciNic {
        driver: Some(driver.to_owned()),
        device: device.map(DeviceName::observed),
        iommu_group: Some(7),
        ..ObservedPciNic::default()
    };
    let first = nic(driver, (driver == "e1000e").then_some("eth1"));
    ObservedPci { nics: [(address(1), first), (address(2), nic("e1000e", Some("eth2")))].into(), has_vfio: true }
}

struct Facts {
    kernel: ObservedNics,
    pci: ObservedPci,
    dpdk: DpdkSupport,
    bound: Vec<BoundNic>,
    joined: Option<JoinedNic>,
}

impl Facts {
    fn new(driver: &str) -> Self {
        let mut kernel = node();
        kernel.nics.retain(|index, _| *index != 7 || driver == "e1000e");
        Self { kernel, pci: bus(driver), dpdk: DpdkSupport::default(), bound: Vec::new(), joined: None }
    }

    fn resolve(&self, uplink: &NodeUplink) -> ResolvedMember {
        let request = UplinkRequest { uplink, is_used: true, is_untagged: false, joined: self.joined.as_ref() };
        let node = NodeNics { kernel: &self.kernel, pci: &self.pci, dpdk: &self.dpdk, bound: &self.bound };
        only(resolve(&[request], &[], node).remove(&uplink.name).unwrap())
    }
}

fn joined_address() -> JoinedNic {
    let backend = PortBackend::Dpdk { address: address(1) };
    JoinedNic { identity: NicIdentity::PciAddress(address(1)), backend }
}

#[test]
fn a_nic_on_vfio_is_joined_by_its_address_with_its_settings() {
    let mut uplink = dpdk(BY_ADDRESS, Binding::Never);
    uplink.nic.mtu = Some(9000.try_into().unwrap());
    let resolved = Facts::new(VFIO_DRIVER).resolve(&uplink);
    assert_eq!((resolved.blocker.as_ref(), resolved.mtu, resolved.must_bind.as_ref()), (None, Some(9000), None));
    let desired = resolved.nic.as_ref().unwrap().desired(&uplink.name);
    assert_eq!(desired.backend, PortBackend::Dpdk { address: address(1) });
    assert_eq!(desired.mtu.requested().map(i64::from), Some(9000));
    assert_eq!(desired.receive_queues.map(i64::from), Some(1));
    assert!(desired.name.as_str().starts_with("usp-"), "{}", desired.name);
    assert_eq!(resolved.nic.unwrap().to_string(), "0000:3b:00.1");
}

#[test]
fn a_nic_of_linux_is_left_alone_unless_the_agent_may_take_it() {
    let facts = Facts::new("e1000e");
    let refused = facts.resolve(&dpdk(BY_ADDRESS, Binding::Never));
    let not_bound =
        PciBlocker::NotBound { driver: Some("e1000e".to_owned()), device: Some(DeviceName::observed("eth1")) };
    assert_eq!(refused.blocker, Some(NicBlocker::Pci { nic: address(1), blocker: not_bound }));
    assert_eq!((refused.must_bind, refused.may_join), (None, false));
    let taken = facts.resolve(&dpdk(BY_NAME, Binding::WhenFree));
    let bound = taken.must_bind.clone().unwrap();
    assert_eq!((bound.address, bound.device.as_deref(), bound.was_up), (address(1), Some("eth1"), true));
    assert_eq!(bound.mac.unwrap().to_string(), "02:00:00:00:00:01");
    assert_eq!((taken.blocker, taken.may_join), (None, false), "not before it is bound");

    // Afterwards Linux knows neither its name nor its MAC address.
    let facts = Facts { bound: vec![bound], ..Facts::new(VFIO_DRIVER) };
    let by_mac = r#"{"type": "MacAddress", "macAddress": "02:00:00:00:00:01"}"#;
    for device in [BY_NAME, by_mac] {
        let resolved = facts.resolve(&dpdk(device, Binding::WhenFree));
        assert!(resolved.may_join && resolved.must_bind.is_none(), "{device}: {:?}", resolved.blocker);
    }
}

#[test]
fn a_nic_is_not_taken_from_the_node_or_from_virtual_functions_or_without_an_iommu() {
    let uplink = dpdk(BY_NAME, Binding::WhenFree);
    let mut facts = Facts::new("e1000e");
    facts.kernel.nics.get_mut(&7).unwrap().has_default_route = true;
    let what = NodeUse::DefaultRoute;
    let carries = NicBlocker::CarriesNode { nic: DeviceName::observed("eth1"), what };
    let refused = facts.resolve(&uplink);
    assert_eq!((refused.blocker, refused.must_bind), (Some(carries), None));
    let with = |change: fn(&mut ObservedPciNic)| {
        let mut facts = Facts::new("e1000e");
        change(facts.pci.nics.get_mut(&address(1)).unwrap());
        let refused = facts.resolve(&uplink);
        assert_eq!(refused.must_bind, None);
        match refused.blocker {
            Some(NicBlocker::Pci { blocker, .. }) => blocker,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(with(|nic| nic.virtual_functions = 3), PciBlocker::HasFunctions { count: 3 });
    assert_eq!(with(|nic| nic.iommu_group = None), PciBlocker::NoVfio { has_iommu: false });
    let mut facts = Facts::new("e1000e");
    facts.pci.has_vfio = false;
    let blocker = PciBlocker::NoVfio { has_iommu: true };
    assert_eq!(facts.resolve(&uplink).blocker, Some(NicBlocker::Pci { nic: address(1), blocker }));
}

#[test]
fn an_engine_that_takes_all_devices_gets_none_while_there_are_others() {
    let uplink = dpdk(BY_ADDRESS, Binding::Never);
    let takes_all = DpdkSupport { takes_all: true, ..DpdkSupport::default() };
    let alone = Facts { dpdk: takes_all.clone(), ..Facts::new(VFIO_DRIVER) };
    assert_eq!(alone.resolve(&uplink).blocker, None);
    let mut beside = Facts { dpdk: takes_all, ..Facts::new(VFIO_DRIVER) };
    beside.pci.nics.get_mut(&address(2)).unwrap().driver = Some(VFIO_DRIVER.to_owned());
    let refused = NicBlocker::TakesAll { nic: address(1), others: vec![address(2)] };
    assert_eq!(beside.resolve(&uplink).blocker, Some(refused));
    beside.joined = Some(joined_address());
    assert_eq!(beside.resolve(&uplink).blocker, None, "what it has already stays");
    let why = "runs without DPDK".to_owned();
    let without = DpdkSupport { unusable: Some(why.clone()), takes_all: false };
    let without = Facts { dpdk: without, ..Facts::new(VFIO_DRIVER) };
    assert_eq!(without.resolve(&uplink).blocker, Some(NicBlocker::NoDpdk { why }));
}

#[test]
fn a_device_that_was_joined_and_is_gone_is_lost_and_one_that_never_was_is_missing() {
    let mut facts = Facts::new(VFIO_DRIVER);
    facts.pci.nics.remove(&address(1));
    let missing = facts.resolve(&dpdk(BY_ADDRESS, Binding::Never)).blocker;
    assert_eq!(missing, Some(NicBlocker::Missing { wanted: "at PCI address 0000:3b:00.1".to_owned() }));
    facts.joined = Some(joined_address());
    let lost = NicBlocker::Lost { nic: "0000:3b:00.1".to_owned(), renamed: None };
    assert_eq!(facts.resolve(&dpdk(BY_ADDRESS, Binding::Never)).blocker, Some(lost));
}

#[test]
fn one_nic_is_not_for_two_uplinks_whatever_drives_it() {
    let facts = Facts::new("e1000e");
    let kernel = NodeUplink { name: "dci".parse().unwrap(), ..uplink("dci", BY_NAME, "Refused") };
    let dpdk = dpdk(BY_ADDRESS, Binding::WhenFree);
    let joined = joined_nic("eth1", 7);
    let requests = [
        UplinkRequest { uplink: &dpdk, is_used: true, is_untagged: false, joined: None },
        UplinkRequest { uplink: &kernel, is_used: true, is_untagged: false, joined: Some(&joined) },
    ];
    let node = NodeNics { kernel: &facts.kernel, pci: &facts.pci, dpdk: &facts.dpdk, bound: &[] };
    let resolved = resolve(&requests, &[], node);
    let taken = NicBlocker::Taken { nic: "0000:3b:00.1".to_owned(), uplink: kernel.name.clone() };
    assert_eq!(resolved[&dpdk.name].blocker(), Some(&taken));
    assert_eq!(resolved[&dpdk.name].must_bind().count(), 0);
    assert_eq!(resolved[&kernel.name].kernel_nics().count(), 1);
}
