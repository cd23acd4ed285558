//! Domains before and after.

use super::{DomainError, with_nics};
use crate::guest_device::GuestDevice;
use crate::nic::Nic;

const SHARED: &str = "<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>";
const BLUE: &str = "<interface type='vhostuser'><source type='unix' path='/s/net1.sock' mode='server'/><mac address='02:00:00:00:00:07'/><mtu size='1400'/><model type='virtio-non-transitional'/><driver name='vhost' queues='2' rx_queue_size='1024' tx_queue_size='1024'/><alias name='ua-blue'/></interface>";

fn blue() -> Nic {
    Nic {
        network: "blue".into(),
        socket: "/s/net1.sock".into(),
        listens: true,
        mac: "02:00:00:00:00:07".parse().ok(),
        mtu: Some(1400),
        queues: 2,
        ring_size: 4096,
        device: GuestDevice::default(),
    }
}

/// Edits twice, because KubeVirt calls the sidecar several times.
#[track_caller]
fn check(before: &str, nics: &[Nic], after: &str) {
    let edited = with_nics(before, nics).unwrap();
    assert_eq!(edited, after);
    assert_eq!(with_nics(&edited, nics).unwrap(), after, "a second edit changes something");
}

#[test]
fn a_domain_without_interface() {
    let before = "<?xml version=\"1.0\"?>\n<domain type=\"kvm\"  xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\n  <!-- kept -->\n  <name>a&amp;b</name>\n  <devices>\n    <x:unknown  odd = 'y'/>\n  </devices>\n  <qemu:commandline/>\n</domain>\n";
    let after =
        before.replace("<devices>", &format!("{SHARED}<devices>")).replace("</devices>", &format!("{BLUE}</devices>"));
    check(before, &[blue()], &after);
    check("<domain><devices /></domain>", &[blue()], &format!("<domain>{SHARED}<devices>{BLUE}</devices></domain>"));
    check(before, &[], before);
}

#[test]
fn a_domain_with_one_interface_of_another_network() {
    let other = "<interface type='ethernet'><mac address='02:00:00:00:00:01'/><alias name='ua-default'/></interface>";
    let before = format!("<domain><devices>{other}</devices></domain>");
    check(&before, &[blue()], &format!("<domain>{SHARED}<devices>{other}{BLUE}</devices></domain>"));
}

#[test]
fn a_domain_with_several_interfaces_of_which_one_is_replaced() {
    let other = |name: &str| format!("<interface type='bridge'>\n<alias name=\"ua-{name}\"/></interface>\n");
    let address = "<address type='pci' slot='0x00'/>";
    let old = format!("<interface type='ethernet'><alias name='ua-blue'/><rom/>{address}</interface>");
    let red = Nic { network: "red".into(), listens: false, mac: None, mtu: None, queues: 1, ring_size: 16, ..blue() };
    let red_element = "<interface type='vhostuser'><source type='unix' path='/s/net1.sock' mode='client'><reconnect enabled='yes' timeout='1'/></source><model type='virtio-non-transitional'/><driver name='vhost' queues='1' rx_queue_size='256' tx_queue_size='256'/><alias name='ua-red'/></interface>";
    let before = format!("<domain><devices>{}{old}{}</devices></domain>", other("a"), other("b"));
    let new = BLUE.replace("</interface>", &format!("{address}</interface>"));
    let after = format!("<domain>{SHARED}<devices>{}{new}{}{red_element}</devices></domain>", other("a"), other("b"));
    check(&before, &[blue(), red], &after);
}

#[test]
fn memory_backing_that_is_there_is_completed() {
    let devices = format!("<devices>{BLUE}</devices>");
    for (before, after) in [
        (
            "<memoryBacking>\n<hugepages><page size='2' unit='M'/></hugepages>\n</memoryBacking>",
            "<memoryBacking>\n<hugepages><page size='2' unit='M'/></hugepages>\n<source type='memfd'/><access mode='shared'/></memoryBacking>",
        ),
        ("<memoryBacking/>", SHARED),
        (
            "<memoryBacking><access mode='private'/><nosharepages/><source type='anonymous'/></memoryBacking>",
            "<memoryBacking><access mode='shared'/><nosharepages/><source type='memfd'/></memoryBacking>",
        ),
        (
            "<memoryBacking><source type=\"file\"/><access mode=\"shared\"/></memoryBacking>",
            "<memoryBacking><source type=\"file\"/><access mode=\"shared\"/></memoryBacking>",
        ),
    ] {
        check(&format!("<domain>{before}{devices}</domain>"), &[blue()], &format!("<domain>{after}{devices}</domain>"));
    }
}

#[test]
fn numa_cells_share_their_memory() {
    let cells =
        |a: &str, b: &str| format!("<domain><cpu><numa>{a}{b}</numa></cpu>{SHARED}<devices>{BLUE}</devices></domain>");
    let before = cells("<cell id='0' cpus='0-1'/>", "<cell id='1' memAccess='private'><distances/></cell>");
    let after = cells(
        "<cell id=\"0\" cpus=\"0-1\" memAccess=\"shared\"/>",
        "<cell id=\"1\" memAccess=\"shared\"><distances/></cell>",
    );
    check(&before, &[blue()], &after);
}

#[test]
fn names_cannot_leave_their_attribute() {
    let nic = Nic { network: "x'/><evil".into(), ..blue() };
    let edited = with_nics("<domain><devices/></domain>", std::slice::from_ref(&nic)).unwrap();
    assert!(edited.contains("<alias name='ua-x&apos;/&gt;&lt;evil'/>"), "{edited}");
    assert_eq!(with_nics(&edited, &[nic]).unwrap(), edited);
}

#[test]
fn what_is_no_domain_is_refused() {
    let refused = |xml: &str| with_nics(xml, &[blue()]).unwrap_err();
    for xml in
        ["<domain><devices>", "<domain><devices></domain>", "<domain a=b><devices/></domain>", "<domain", "</domain>"]
    {
        let error = refused(xml);
        assert!(matches!(error, DomainError::Malformed { .. }), "{xml}: {error}");
    }
    for xml in [
        "",
        "text",
        "<vm/>",
        "<domain/>",
        "<domain><devices/><devices/></domain>",
        "<x><domain><devices/></domain></x>",
    ] {
        let error = refused(xml);
        assert!(matches!(error, DomainError::Count { .. }), "{xml}: {error}");
    }
    let twice = format!("<domain><devices>{BLUE}{BLUE}</devices></domain>");
    assert!(matches!(refused(&twice), DomainError::AliasTwice(_)));
    let backings = "<domain><memoryBacking/><memoryBacking/><devices/></domain>";
    assert!(matches!(refused(backings), DomainError::Count { .. }));
}
