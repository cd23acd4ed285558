//! Tap devices, which the kernel really has: in the network namespace that the client names.

use crate::simulator::handlers::dispatch::{Failure, Handle, List};
use crate::simulator::model::device::{Device, Tap};
use crate::simulator::model::interface::Interface;
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    ANY_TAP, NO_INTERFACE, SwInterfaceTapV2Details, SwInterfaceTapV2Dump, TapCreateV3, TapCreateV3Reply, TapDeleteV2,
    TapDeleteV2Reply,
};
use usnet_vpp::wire::FixedText;

impl State {
    fn taps(&self) -> impl Iterator<Item = (u32, &Tap)> {
        self.interfaces.iter().filter_map(|(index, interface)| match &interface.device {
            Device::Tap(tap) => Some((index, tap)),
            _ => None,
        })
    }
}

impl Handle for TapCreateV3 {
    /// A second interface on a device is another queue of it.
    fn handle(&self, state: &mut State) -> Result<TapCreateV3Reply, Failure> {
        let id = (0..ANY_TAP).find(|id| state.taps().all(|(_, tap)| tap.id != *id)).unwrap_or_default();
        let id = if self.id == ANY_TAP { id } else { self.id };
        let tap = Tap {
            id,
            namespace: self.host_namespace.clone(),
            device: self.host_if_name.clone(),
            mac: self.host_mac_addr,
            mtu: self.host_mtu_size,
            flags: self.tap_flags,
        };
        if !tap.open() {
            return Err(ReturnCode::SyscallError2.into());
        }
        let mut interface = Interface::new(format!("tap{id}"), Device::Tap(tap));
        interface.address = if self.use_random_mac { state.new_address() } else { self.mac_address };
        interface.tag = FixedText::new(self.tag.as_str()).unwrap_or_default();
        Ok(TapCreateV3Reply { retval: 0, sw_if_index: state.add_interface(interface) })
    }
}

impl Handle for TapDeleteV2 {
    fn handle(&self, state: &mut State) -> Result<TapDeleteV2Reply, Failure> {
        let Device::Tap(tap) = &state.interface(self.sw_if_index)?.device else {
            return Err(ReturnCode::InvalidSwIfIndex.into());
        };
        tap.delete();
        state.remove_interface(self.sw_if_index);
        Ok(TapDeleteV2Reply::default())
    }
}

impl List for SwInterfaceTapV2Dump {
    fn list(&self, state: &State) -> Vec<SwInterfaceTapV2Details> {
        let is_meant = |index: u32| self.sw_if_index == NO_INTERFACE || index == self.sw_if_index;
        let details = |(sw_if_index, tap): (u32, &Tap)| SwInterfaceTapV2Details {
            sw_if_index,
            id: tap.id,
            host_mtu_size: tap.mtu,
            host_mac_addr: tap.mac,
            tap_flags: tap.flags,
            dev_name: FixedText::new(format!("tap{}", tap.id)).unwrap_or_default(),
            host_if_name: tap.device.clone(),
            host_namespace: tap.namespace.clone(),
            ..SwInterfaceTapV2Details::default()
        };
        state.taps().filter(|(index, _)| is_meant(*index)).map(details).collect()
    }
}
