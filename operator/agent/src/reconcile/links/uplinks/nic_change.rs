//! Changes NICs before an engine joins them, and after it has released them (IO).

use super::offloads::restore;
use crate::reconcile::links::kernel::with_kernel;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use usnet_crds::{EngineKind, NicDevice, UplinkName};
use usnet_dataplane::links::LinkError;
use usnet_dataplane::links::nics::{
    KernelNic, Nics, ObservedNic, ObservedNics, ReceiveOffload, ReleasedNic, ResolvedMember, ResolvedUplink, described,
};
use usnet_dataplane::nic_offloads::ChangedNic;

/// Observes the NICs, and for those that an uplink describes also the offloads that merge received
/// packets.
pub(super) async fn observe(
    network_namespace: Option<PathBuf>,
    devices: Vec<NicDevice>,
) -> Result<ObservedNics, LinkError> {
    with_kernel(network_namespace, move |kernel| observe_all(kernel, &devices)).await
}

fn observe_all(kernel: &mut impl Nics, devices: &[NicDevice]) -> Result<ObservedNics, LinkError> {
    let mut observed = kernel.observe_nics()?;
    for index in described(devices, &observed) {
        if let Some(nic) = observed.nics.get_mut(&index) {
            nic.offloads = kernel.receive_offloads(index)?;
            nic.queues = kernel.receive_queues(index)?;
        }
    }
    Ok(observed)
}

/// A change that a NIC needs before it is joined.
#[derive(Debug)]
pub(super) struct NicChange {
    pub(super) nic: KernelNic,
    /// The offloads that merge received packets.
    pub(super) disable: BTreeSet<ReceiveOffload>,
    set_up: bool,
    set_promiscuous: bool,
}

impl NicChange {
    pub(super) fn text(&self) -> String {
        let offloads: Vec<_> = self.disable.iter().map(ToString::to_string).collect();
        let parts = [
            self.set_up.then(|| "setting it up".to_owned()),
            self.set_promiscuous.then(|| "setting it promiscuous".to_owned()),
            (!offloads.is_empty()).then(|| format!("disabling {}", offloads.join(", "))),
        ];
        format!("NIC of an uplink: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

pub(super) fn nic_changes(resolved: &BTreeMap<UplinkName, ResolvedUplink>) -> Vec<(UplinkName, NicChange)> {
    let change = |member: &ResolvedMember| {
        let (set_up, set_promiscuous) = (member.must_set_up, member.must_set_promiscuous);
        let disable = member.must_disable.clone();
        let nic = member.kernel_nic().filter(|_| set_up || set_promiscuous || !disable.is_empty())?.clone();
        Some(NicChange { nic, disable, set_up, set_promiscuous })
    };
    let members = resolved.iter().flat_map(|(uplink, resolved)| resolved.members.iter().map(move |it| (uplink, it)));
    members.filter_map(|(uplink, member)| Some((uplink.clone(), change(member)?))).collect()
}

/// Changes NICs, and observes all of them. Changes that failed show in the observation, and the
/// uplink reports them.
pub(super) async fn change_nics(
    network_namespace: Option<PathBuf>,
    devices: Vec<NicDevice>,
    changes: Vec<NicChange>,
) -> Result<ObservedNics, LinkError> {
    with_kernel(network_namespace, move |kernel| {
        for NicChange { nic, disable, set_up, set_promiscuous } in changes {
            for offload in disable {
                let _result = kernel.set_receive_offload(nic.index, offload, false);
            }
            if set_promiscuous {
                let _result = kernel.set_nic_promiscuous(nic.index, true);
            }
            if set_up {
                let _result = kernel.set_nic_up(nic.index);
            }
        }
        observe_all(kernel, &devices)
    })
    .await
}

/// Restores NICs that the engine has released, and the offloads of `changed` ones. Neither VPP nor
/// a killed ovs-vswitchd resets promiscuous mode. VPP also sets the NIC of this name down.
pub(super) async fn release(
    network_namespace: Option<PathBuf>,
    kind: EngineKind,
    released: Vec<ReleasedNic>,
    changed: Vec<ChangedNic>,
) -> Result<(), LinkError> {
    with_kernel(network_namespace, move |kernel| {
        let observed = kernel.observe_nics()?;
        if !observed.may_change {
            return Ok(());
        }
        restore(kernel, &changed, &observed);
        for ReleasedNic { device, index, had_program } in released {
            if let Some(nic) = observed.nics.get(&index) {
                kernel.set_nic_promiscuous(index, false)?;
                if had_program && nic.has_program {
                    kernel.remove_program(index)?;
                }
            }
            let is_down = |nic: &ObservedNic| kind == EngineKind::Vpp && nic.name == device;
            for (present, _) in observed.nics.iter().filter(|(_, nic)| is_down(nic)) {
                kernel.set_nic_up(*present)?;
            }
        }
        Ok(())
    })
    .await
}
