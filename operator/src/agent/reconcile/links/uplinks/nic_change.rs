//! Changes of NICs: before an engine has them, and after it had them (IO).

use super::offloads::restore;
use crate::agent::reconcile::links::kernel::with_kernel;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use usnet_crds::{EngineKind, NicDevice, UplinkName};
use usnet_dataplane::links::LinkError;
use usnet_dataplane::links::nics::{
    JoinedNic, Nics, ObservedNic, ObservedNics, ReceiveOffload, ResolvedUplink, described,
};
use usnet_dataplane::nic_offloads::ChangedNic;
use usnet_dataplane::uplink::KernelNic;

/// The NICs; of those that are described also what merges packets that they receive.
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
        }
    }
    Ok(observed)
}

/// What a NIC needs before it is joined.
#[derive(Debug)]
pub(super) struct NicChange {
    pub(super) nic: KernelNic,
    /// What merges received packets.
    pub(super) disable: BTreeSet<ReceiveOffload>,
    set_up: bool,
    set_promiscuous: bool,
}

impl NicChange {
    pub(super) fn text(&self) -> String {
        let offloads: Vec<_> = self.disable.iter().map(ToString::to_string).collect();
        let parts = [
            self.set_up.then(|| "setting it up".to_owned()),
            self.set_promiscuous.then(|| "letting it take frames to any address".to_owned()),
            (!offloads.is_empty()).then(|| format!("switching {} off", offloads.join(", "))),
        ];
        format!("NIC of an uplink: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

pub(super) fn nic_changes(resolved: &BTreeMap<UplinkName, ResolvedUplink>) -> Vec<(UplinkName, NicChange)> {
    let change = |(uplink, resolved): (&UplinkName, &ResolvedUplink)| {
        let (set_up, set_promiscuous) = (resolved.must_set_up, resolved.must_set_promiscuous);
        let disable = resolved.must_disable.clone();
        let nic = resolved.nic().filter(|_| set_up || set_promiscuous || !disable.is_empty())?.clone();
        Some((uplink.clone(), NicChange { nic, disable, set_up, set_promiscuous }))
    };
    resolved.iter().filter_map(change).collect()
}

/// Changes NICs, and observes all of them. What is not as it should be afterwards is reported.
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

/// VPP leaves the setting of the agent for frames to any address. So does Open vSwitch if it was
/// killed since it set it: the next process takes that for the NIC's own. VPP sets a NIC down, by
/// its name.
pub(super) async fn release(
    network_namespace: Option<PathBuf>,
    kind: EngineKind,
    (released, changed): (Vec<JoinedNic>, Vec<ChangedNic>),
) -> Result<(), LinkError> {
    with_kernel(network_namespace, move |kernel| {
        let observed = kernel.observe_nics()?;
        if !observed.may_change {
            return Ok(());
        }
        restore(kernel, &changed, &observed);
        for JoinedNic { device, index } in released {
            if observed.nics.contains_key(&index) {
                kernel.set_nic_promiscuous(index, false)?;
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
