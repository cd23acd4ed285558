//! What an uplink asks for, and the NIC that it gets. Pure.

use super::model::{JoinedNic, KernelNic, NicBlocker, ResolvedNic};
use super::offloads::ReceiveOffload;
use crate::model::uplink::DesiredNic;
use crate::store::bound_nics::BoundNic;
use std::collections::BTreeSet;
use usnet_crds::{BondMode, LacpRate, MacAddress, NicDevice, NodeUplink, PciAddress, UplinkName};

/// An uplink of this node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResolvedUplink {
    /// The only NIC, or those of a bond.
    pub members: Vec<ResolvedMember>,
    pub bond: Option<(BondMode, LacpRate)>,
}

/// A NIC of an uplink: the only one, or a member of its bond.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResolvedMember {
    /// The NIC, whether it may be joined or not; none if there is none that fits.
    pub nic: Option<ResolvedNic>,
    pub mtu: Option<u32>,
    pub mac: Option<MacAddress>,
    /// The NUMA node that it is nearest to.
    pub numa_node: Option<u32>,
    /// Whether the engine may have it; one that the engine has already stays.
    pub may_join: bool,
    /// Whether it has to be set up before.
    pub must_set_up: bool,
    /// Whether it has to take frames to any address. Open vSwitch cares for that itself.
    pub must_set_promiscuous: bool,
    /// What has to be switched off, because it merges received packets.
    pub must_disable: BTreeSet<ReceiveOffload>,
    /// The NIC that has to be taken from its driver in Linux before, as it is now.
    pub must_bind: Option<BoundNic>,
    pub blocker: Option<NicBlocker>,
    /// The member that the bond in the engine has, if this NIC is not one that may be joined.
    pub kept: Option<DesiredNic>,
}

impl ResolvedMember {
    pub(super) fn blocked(blocker: NicBlocker) -> Self {
        Self { blocker: Some(blocker), ..Self::default() }
    }

    fn refuse_unless_isolated(&mut self, why: &str) {
        if let Some(nic) = self.kernel_nic().map(|nic| nic.device.clone()) {
            (self.may_join, self.must_set_up, self.must_set_promiscuous) = (false, false, false);
            self.blocker = Some(NicBlocker::NotIsolated { nic, why: why.to_owned() });
        }
    }

    /// The NIC to join, if the kernel drives it.
    pub fn kernel_nic(&self) -> Option<&KernelNic> {
        self.nic.as_ref().filter(|_| self.may_join)?.kernel()
    }

    /// What it is in the desired state: the NIC to join, or the one that a bond has already.
    fn desired(&self, uplink: &UplinkName) -> Option<DesiredNic> {
        let nic = self.nic.as_ref().filter(|_| self.may_join).map(|nic| nic.desired(uplink));
        nic.or_else(|| self.kept.clone())
    }
}

impl ResolvedUplink {
    /// Keeps NICs of Linux from being joined that cannot be isolated from the node. One that the
    /// engine has stays.
    pub fn refuse_unless_isolated(&mut self, why: &str) {
        self.members.iter_mut().for_each(|member| member.refuse_unless_isolated(why));
    }

    /// The NICs to join that the kernel drives.
    pub fn kernel_nics(&self) -> impl Iterator<Item = &KernelNic> {
        self.members.iter().filter_map(ResolvedMember::kernel_nic)
    }

    /// The NICs on the PCI bus that the engine drives itself, whether they may be joined or not.
    pub fn pci_nics(&self) -> impl Iterator<Item = PciAddress> {
        self.members.iter().filter_map(|member| match member.nic {
            Some(ResolvedNic::Dpdk { address, .. }) => Some(address),
            _ => None,
        })
    }

    /// The NICs that have to be taken from their drivers before.
    pub fn must_bind(&self) -> impl Iterator<Item = &BoundNic> {
        self.members.iter().filter_map(|member| member.must_bind.as_ref())
    }

    /// What to join, as it is in the desired state. A bond has the members that may be joined, and
    /// those that it has already.
    pub fn desired(&self, uplink: &UplinkName) -> Option<DesiredNic> {
        // The settings are those of the first; of a member that is only kept they are unknown.
        let (joinable, kept): (Vec<_>, Vec<_>) = self.members.iter().partition(|member| member.may_join);
        if joinable.is_empty() {
            return None;
        }
        let mut nics: Vec<_> = joinable.into_iter().chain(kept).filter_map(|member| member.desired(uplink)).collect();
        match self.bond {
            Some(bond) => DesiredNic::bond(uplink, bond, nics),
            None => nics.pop(),
        }
    }

    /// The name of the NIC in logs and reports, whether it may be joined or not; those of all
    /// members of a bond.
    pub fn name(&self) -> Option<String> {
        let names: Vec<_> =
            self.members.iter().filter_map(|member| member.nic.as_ref()).map(ToString::to_string).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// What keeps the uplink from carrying frames: what is wrong with its NIC, or with the first
    /// member of a bond if something is with all of them.
    pub fn blocker(&self) -> Option<&NicBlocker> {
        let first = self.members.first()?.blocker.as_ref();
        first.filter(|_| self.members.iter().all(|member| member.blocker.is_some()))
    }

    /// What is wrong with members of a bond.
    pub fn member_blockers(&self) -> impl Iterator<Item = &NicBlocker> {
        let members = self.bond.iter().flat_map(|_| &self.members);
        members.filter_map(|member| member.blocker.as_ref())
    }

    /// The smallest MTU of its NICs.
    pub fn mtu(&self) -> Option<u32> {
        self.members.iter().filter_map(|member| member.mtu).min()
    }

    /// The MAC address of the first NIC.
    pub fn mac(&self) -> Option<MacAddress> {
        self.members.iter().find_map(|member| member.mac)
    }

    /// The NUMA node that the first NIC is nearest to.
    pub fn numa_node(&self) -> Option<u32> {
        self.members.iter().find_map(|member| member.numa_node)
    }
}

/// What an uplink asks for, and what its engine has.
#[derive(Debug, Clone, Copy)]
pub struct UplinkRequest<'a> {
    pub uplink: &'a NodeUplink,
    /// Whether it has networks here.
    pub is_used: bool,
    /// Whether one of them has untagged frames.
    pub is_untagged: bool,
    /// The NIC, or the bond, that the engine has for it.
    pub joined: Option<&'a JoinedNic>,
}

/// What an uplink asks for with one of its NICs.
#[derive(Debug, Clone, Copy)]
pub(super) struct NicRequest<'a> {
    pub(super) uplink: &'a UplinkRequest<'a>,
    pub(super) device: &'a NicDevice,
    /// The NIC that the engine has for it.
    pub(super) joined: Option<&'a JoinedNic>,
}
