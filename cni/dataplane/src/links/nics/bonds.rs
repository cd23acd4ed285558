//! Which NIC of an uplink in its engine is meant by each description of one. Pure.

use super::dpdk::address_of;
use super::find::find;
use super::model::{JoinedNic, NodeNics};
use super::resolved_uplink::{NicRequest, UplinkRequest};
use crate::model::owner::NicIdentity;
use crate::model::port::{BondMember, PortBackend};
use crate::model::uplink::DesiredNic;
use usnet_crds::{NicDevice, NicDriver, UplinkDevice};

/// One NIC that an uplink asks for, and the one in the engine that is meant.
#[derive(Debug)]
pub(super) struct OneOfUplink<'a> {
    uplink: &'a UplinkRequest<'a>,
    device: &'a NicDevice,
    joined: Option<JoinedNic>,
    /// The member of a bond in the engine that this is.
    member: Option<BondMember>,
}

impl OneOfUplink<'_> {
    pub(super) const fn request(&self) -> NicRequest<'_> {
        NicRequest { uplink: self.uplink, device: self.device, joined: self.joined.as_ref() }
    }

    /// What stays in the bond if this NIC is not one that may be joined.
    pub(super) fn kept(&self) -> Option<DesiredNic> {
        let (joined, member) = self.joined.as_ref().zip(self.member.as_ref())?;
        Some(DesiredNic::of_member(joined.identity.clone(), member.clone()))
    }
}

/// What an uplink asks for, NIC by NIC.
pub(super) fn nic_requests<'a>(uplink: &'a UplinkRequest<'a>, node: NodeNics<'_>) -> Vec<OneOfUplink<'a>> {
    let bond = match &uplink.uplink.nic.device {
        UplinkDevice::Nic(device) => {
            let joined = uplink.joined.filter(|joined| !matches!(joined.backend, PortBackend::Bond { .. }));
            return vec![OneOfUplink { uplink, device, joined: joined.cloned(), member: None }];
        }
        UplinkDevice::Bond { bond } => bond,
    };
    let mut present = joined_members(uplink.joined);
    let found = bond.members.iter().map(|device| {
        let is_it = |(joined, _): &(JoinedNic, Option<BondMember>)| is_meant((uplink, device), joined, node);
        (device, present.iter().position(is_it).map(|at| present.remove(at)))
    });
    let found: Vec<_> = found.collect();
    // What is left belongs to NICs that the node does not have any more.
    let mut left = present.into_iter();
    let one = |(device, found): (&'a NicDevice, Option<_>)| {
        let (joined, member) = found.or_else(|| left.next()).unzip();
        OneOfUplink { uplink, device, joined, member: member.flatten() }
    };
    found.into_iter().map(one).collect()
}

/// The NICs that the engine has for an uplink; those of a bond as its members.
fn joined_members(joined: Option<&JoinedNic>) -> Vec<(JoinedNic, Option<BondMember>)> {
    let Some(joined) = joined else { return Vec::new() };
    let members = match &joined.backend {
        PortBackend::Bond { bond } => bond.members().iter().cloned().map(Some).collect(),
        _ => vec![None],
    };
    joined.nics().into_iter().zip(members).collect()
}

fn is_meant((uplink, device): (&UplinkRequest<'_>, &NicDevice), joined: &JoinedNic, node: NodeNics<'_>) -> bool {
    if uplink.uplink.nic.driver == NicDriver::Dpdk {
        let address = address_of(NicRequest { uplink, device, joined: None }, node);
        return address.is_ok_and(|address| joined.identity == NicIdentity::PciAddress(address));
    }
    match device {
        NicDevice::Name { name } => joined.name() == name.as_str(),
        NicDevice::MacAddress { .. } | NicDevice::PciAddress { .. } => {
            find(device, node.kernel).is_ok_and(|(index, _)| joined.identity == NicIdentity::KernelIndex(index))
        }
    }
}
