//! Sets the addresses between which overlays of the engine run (IO). With Open vSwitch, the local
//! port of an uplink's bridge is a kernel device, which gets the address of this node. VPP has the
//! address itself.

use super::prepared::PreparedUplinks;
use crate::reconcile::links::kernel::with_kernel;
use std::collections::BTreeMap;
use std::path::PathBuf;
use usnet_crds::{BridgeName, InterfaceAddress, UplinkName};
use usnet_dataplane::links::LinkError;
use usnet_dataplane::links::nics::{Nics, ObservedNics};
use usnet_dataplane::observed::Observed;

/// The devices that need an address, and their last observed state.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    wanted: BTreeMap<UplinkName, Wanted>,
    last: BTreeMap<UplinkName, State>,
    failures: BTreeMap<UplinkName, LinkError>,
}

/// A device and the address that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wanted {
    device: BridgeName,
    address: InterfaceAddress,
}

/// The observed state of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    index: u32,
    is_up: bool,
    has_address: bool,
}

impl Addresses {
    /// Whether the devices differ from the last observation.
    pub(super) fn have_changed(&self, observed: &ObservedNics) -> bool {
        states(&self.wanted, observed) != self.last
    }

    /// Whether the device of an uplink is up and has its address, or needs none.
    pub(super) fn is_set(&self, uplink: &UplinkName) -> bool {
        let is_complete = |state: &State| state.is_up && state.has_address;
        !self.wanted.contains_key(uplink) || self.last.get(uplink).is_some_and(is_complete)
    }

    /// Returns why the address of an uplink could not be set, with the device.
    pub(super) fn failure(&self, uplink: &UplinkName) -> Option<(&BridgeName, &LinkError)> {
        Some((&self.wanted.get(uplink)?.device, self.failures.get(uplink)?))
    }

    /// Sets missing addresses, and the devices up; calls `log` for each.
    pub(super) async fn set(
        &mut self,
        network_namespace: Option<PathBuf>,
        prepared: &PreparedUplinks,
        log: impl Fn(&UplinkName, InterfaceAddress),
    ) -> Result<(), LinkError> {
        let wanted = prepared.uplinks.iter().filter_map(|uplink| {
            let (bridge, wanted) = uplink.bridge.as_ref().zip(uplink.address.as_ref())?;
            Some((uplink.name.clone(), Wanted { device: bridge.name.clone(), address: wanted.address }))
        });
        self.wanted = wanted.collect();
        self.failures.clear();
        if self.wanted.is_empty() {
            self.last.clear();
            return Ok(());
        }
        let wanted = self.wanted.clone();
        let (before, after, failures) = with_kernel(network_namespace, move |kernel| set_all(kernel, &wanted)).await?;
        for (uplink, state) in before.iter().filter(|(uplink, _)| !failures.contains_key(*uplink)) {
            if let Some(wanted) = self.wanted.get(uplink).filter(|_| !(state.is_up && state.has_address)) {
                log(uplink, wanted.address);
            }
        }
        (self.last, self.failures) = (after, failures);
        Ok(())
    }
}

type States = BTreeMap<UplinkName, State>;

fn states(wanted: &BTreeMap<UplinkName, Wanted>, observed: &ObservedNics) -> States {
    let state = |(uplink, wanted): (&UplinkName, &Wanted)| {
        let (index, device) = observed.named(wanted.device.as_str())?;
        let has_address = device.addresses.contains(&wanted.address);
        Some((uplink.clone(), State { index, is_up: device.is_up, has_address }))
    };
    wanted.iter().filter_map(state).collect()
}

/// Returns the states before and after, and the failures.
fn set_all(
    kernel: &mut impl Nics,
    wanted: &BTreeMap<UplinkName, Wanted>,
) -> Result<(States, States, BTreeMap<UplinkName, LinkError>), LinkError> {
    let before = states(wanted, &kernel.observe_nics()?);
    let (mut failures, mut is_changed) = (BTreeMap::new(), false);
    for (uplink, state) in before.iter().filter(|(_, state)| !(state.is_up && state.has_address)) {
        let Some(Wanted { address, .. }) = wanted.get(uplink) else { continue };
        is_changed = true;
        // The device is set up first: one that is down loses its IPv6 addresses.
        let result = kernel.set_nic_up(state.index).and_then(|()| kernel.set_address(state.index, *address, true));
        failures.extend(result.err().map(|error| (uplink.clone(), error)));
    }
    let after = if is_changed { states(wanted, &kernel.observe_nics()?) } else { before.clone() };
    Ok((before, after, failures))
}

/// Removes addresses that usnet has set and that are no longer wanted. Other addresses of the
/// devices stay.
pub(super) async fn remove_stale(
    network_namespace: Option<PathBuf>,
    prepared: &PreparedUplinks,
    engine: &Observed,
) -> Result<(), LinkError> {
    let stale: Vec<Wanted> = engine
        .addresses
        .iter()
        .filter_map(|(name, found)| {
            let desired = prepared.uplinks.iter().find(|uplink| uplink.name == *name)?;
            let is_wanted = desired.address.as_ref().is_some_and(|wanted| wanted.address == found.address);
            let device = desired.bridge.as_ref()?.name.clone();
            (!is_wanted).then_some(Wanted { device, address: found.address })
        })
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    with_kernel(network_namespace, move |kernel| {
        let observed = kernel.observe_nics()?;
        for Wanted { device, address } in stale {
            if let Some((index, _)) = observed.named(device.as_str()) {
                kernel.set_address(index, address, false)?;
            }
        }
        Ok(())
    })
    .await
}
