//! Bonds of NICs.

use super::{changed, node, uplink};
use crate::links::nics::{JoinedNic, NicBlocker, NodeNics, ObservedNics, ResolvedUplink, UplinkRequest, resolve};
use crate::links::pci::ObservedPci;
use crate::model::observed::DpdkSupport;
use crate::model::owner::NicIdentity;
use crate::model::port::{Bond, PortBackend};
use crate::model::uplink::DesiredNic;
use usnet_crds::{NodeUplink, UplinkName};

const ETH1: &str = r#"{"type": "Name", "name": "eth1"}"#;
const ETH2: &str = r#"{"type": "PciAddress", "pciAddress": "0000:3b:00.2"}"#;

fn bond(members: [&str; 2]) -> NodeUplink {
    let [first, second] = members;
    uplink("fab", &format!(r#"{{"bond": {{"mode": "LACP", "members": [{first}, {second}]}}}}"#), "Refused")
}

fn resolved(uplink: &NodeUplink, joined: Option<&JoinedNic>, kernel: &ObservedNics) -> ResolvedUplink {
    let request = UplinkRequest { uplink, is_used: true, is_untagged: false, joined };
    let node = NodeNics { kernel, pci: &ObservedPci::default(), dpdk: &DpdkSupport::default(), bound: &[] };
    resolve(&[request], &[], node).remove(&uplink.name).unwrap()
}

fn desired(resolved: &ResolvedUplink) -> Option<DesiredNic> {
    resolved.desired(&"fab".parse::<UplinkName>().unwrap())
}

fn members(nic: &DesiredNic) -> (Vec<String>, Vec<NicIdentity>) {
    let PortBackend::Bond { bond } = &nic.backend else { panic!("{nic:?}") };
    (bond.members().iter().map(|member| member.name.to_string()).collect(), nic.identity.nics().to_vec())
}

fn both() -> (Vec<String>, Vec<NicIdentity>) {
    (vec!["eth1".to_owned(), "eth2".to_owned()], [7, 8].map(NicIdentity::KernelIndex).to_vec())
}

/// The bond of both NICs in the engine.
fn joined() -> JoinedNic {
    let nic = desired(&resolved(&bond([ETH1, ETH2]), None, &node())).unwrap();
    JoinedNic { identity: nic.identity, backend: nic.backend }
}

#[test]
fn a_bond_has_its_members_in_the_order_of_their_names_whatever_describes_them() {
    for described in [[ETH1, ETH2], [ETH2, ETH1]] {
        let found = resolved(&bond(described), None, &node());
        assert_eq!((members(&desired(&found).unwrap()), found.blocker()), (both(), None));
        let port = desired(&found).unwrap().name;
        assert!(port.as_str().starts_with("usp-"), "called after the uplink: {port}");
    }
    assert_eq!(joined().nics().iter().map(JoinedNic::name).collect::<Vec<_>>(), ["eth1", "eth2"]);
}

#[test]
fn a_member_that_the_node_does_not_have_leaves_the_bond_to_the_others() {
    let mut kernel = node();
    kernel.nics.remove(&8);
    let found = resolved(&bond([ETH1, ETH2]), None, &kernel);
    assert_eq!(members(&desired(&found).unwrap()), (vec!["eth1".to_owned()], vec![NicIdentity::KernelIndex(7)]));
    assert_eq!(found.blocker(), None, "the bond works");
    assert!(matches!(found.member_blockers().collect::<Vec<_>>()[..], [NicBlocker::Missing { .. }]));
    kernel.nics.clear();
    let none = resolved(&bond([ETH1, ETH2]), None, &kernel);
    assert!(desired(&none).is_none() && none.blocker().is_some());
}

/// The engine would have to create the port again, and the other member would lose frames.
#[test]
fn a_member_in_the_engine_stays_when_its_nic_is_gone() {
    for gone in [7, 8] {
        let mut kernel = node();
        kernel.nics.remove(&gone);
        let found = resolved(&bond([ETH1, ETH2]), Some(&joined()), &kernel);
        assert_eq!(members(&desired(&found).unwrap()), both(), "without {gone}");
        assert!(matches!(found.member_blockers().collect::<Vec<_>>()[..], [NicBlocker::Lost { .. }]));
    }
    let mut back = node();
    let nic = back.nics.remove(&8).unwrap();
    back.nics.insert(9, nic);
    let found = resolved(&bond([ETH1, ETH2]), Some(&joined()), &back);
    assert_eq!(members(&desired(&found).unwrap()).1, [7, 9].map(NicIdentity::KernelIndex), "it is another device now");
}

#[test]
fn members_that_the_node_uses_are_left_alone() {
    let used = changed(|nic| nic.has_default_route = true);
    let found = resolved(&bond([ETH1, ETH2]), None, &used);
    assert_eq!(members(&desired(&found).unwrap()).0, ["eth2"]);
    assert!(matches!(found.member_blockers().collect::<Vec<_>>()[..], [NicBlocker::CarriesNode { .. }]));
}

/// Two descriptions of one NIC.
#[test]
fn a_nic_is_one_member_at_most() {
    let by_address = ETH2.replace("00.2", "00.1");
    let found = resolved(&bond([ETH1, &by_address]), None, &node());
    assert_eq!(members(&desired(&found).unwrap()).0, ["eth1"]);
    assert!(matches!(found.member_blockers().collect::<Vec<_>>()[..], [NicBlocker::Taken { .. }]));
}

#[test]
fn an_uplink_may_change_between_a_nic_and_a_bond() {
    let single = JoinedNic {
        identity: NicIdentity::KernelIndex(7),
        backend: PortBackend::Device { device: crate::model::port::DeviceName::observed("eth1") },
    };
    let found = resolved(&bond([ETH1, ETH2]), Some(&single), &node());
    assert_eq!(members(&desired(&found).unwrap()), both());
    let back = resolved(&uplink("fab", ETH1, "Refused"), Some(&joined()), &node());
    assert_eq!(desired(&back).unwrap().backend, single.backend);
    let missing = resolved(&uplink("fab", &ETH1.replace("eth1", "eth7"), "Refused"), Some(&joined()), &node());
    assert!(desired(&missing).is_none(), "the bond stays until there is another NIC");
}

#[test]
fn a_rate_matters_with_lacp_alone() {
    let of = |mode, rate| Bond::new(mode, rate, Vec::new());
    use usnet_crds::{BondMode, LacpRate};
    assert_eq!(of(BondMode::ActiveBackup, LacpRate::Slow), of(BondMode::ActiveBackup, LacpRate::Fast));
    assert_ne!(of(BondMode::Lacp, LacpRate::Slow), of(BondMode::Lacp, LacpRate::Fast));
}
