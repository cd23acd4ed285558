//! The queues of interfaces. Only interfaces on devices of the kernel have one, because no program
//! ever connects to the others.

use crate::simulator::handlers::dispatch::{Failure, Handle, List, Stream};
use crate::simulator::model::interface::Interface;
use crate::simulator::model::state::State;
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{
    NO_INTERFACE, RxMode, SwInterfaceRxPlacementDetails, SwInterfaceRxPlacementDump, SwInterfaceSetRxMode,
    SwInterfaceSetRxModeReply, SwInterfaceSetTxPlacement, SwInterfaceSetTxPlacementReply,
    SwInterfaceTxPlacementDetails, SwInterfaceTxPlacementGet, SwInterfaceTxPlacementGetReply,
};

/// The only thread is the main one.
const THREADS: u32 = 1;

impl Handle for SwInterfaceSetRxMode {
    fn handle(&self, state: &mut State) -> Result<SwInterfaceSetRxModeReply, Failure> {
        let queue = state.interface(self.sw_if_index)?.queue.as_mut();
        match queue {
            None if self.queue_id_valid => return Err(ReturnCode::Unimplemented.into()),
            None => {}
            Some(_) if self.queue_id_valid && self.queue_id != 0 => return Err(ReturnCode::Unimplemented.into()),
            Some(_) if !matches!(self.mode, RxMode::Polling | RxMode::Interrupt) => {
                return Err(ReturnCode::Unimplemented.into());
            }
            Some(queue) => queue.mode = self.mode,
        }
        Ok(SwInterfaceSetRxModeReply::default())
    }
}

impl Handle for SwInterfaceSetTxPlacement {
    fn handle(&self, state: &mut State) -> Result<SwInterfaceSetTxPlacementReply, Failure> {
        let interface = state.interface(self.sw_if_index)?;
        if self.threads.iter().any(|thread| *thread >= THREADS) {
            return Err(ReturnCode::InvalidValue.into());
        }
        let queue = interface.queue.as_mut().filter(|_| self.queue_id == 0).ok_or(ReturnCode::InvalidQueue)?;
        queue.threads.clone_from(&self.threads);
        Ok(SwInterfaceSetTxPlacementReply::default())
    }
}

/// The interfaces with a queue, or one of them.
fn queued(state: &State, sw_if_index: u32) -> impl Iterator<Item = (u32, &Interface)> {
    let is_meant = move |index: u32| sw_if_index == NO_INTERFACE || index == sw_if_index;
    state.interfaces.iter().filter(move |(index, interface)| is_meant(*index) && interface.queue.is_some())
}

impl List for SwInterfaceRxPlacementDump {
    fn list(&self, state: &State) -> Vec<SwInterfaceRxPlacementDetails> {
        let details = |(sw_if_index, interface): (u32, &Interface)| {
            let mode = interface.queue.as_ref()?.mode;
            Some(SwInterfaceRxPlacementDetails { sw_if_index, queue_id: 0, worker_id: 0, mode })
        };
        queued(state, self.sw_if_index).filter_map(details).collect()
    }
}

impl Stream for SwInterfaceTxPlacementGet {
    fn stream(
        &self,
        state: &State,
    ) -> Result<(Vec<SwInterfaceTxPlacementDetails>, SwInterfaceTxPlacementGetReply), Failure> {
        if queued(state, NO_INTERFACE).next().is_none() {
            return Err(ReturnCode::NoSuchEntry.into());
        }
        if self.sw_if_index != NO_INTERFACE && state.interfaces.get(self.sw_if_index).is_none() {
            return Err(ReturnCode::InvalidSwIfIndex.into());
        }
        let details = |(sw_if_index, interface): (u32, &Interface)| {
            let threads = interface.queue.as_ref()?.threads.clone();
            Some(SwInterfaceTxPlacementDetails { sw_if_index, queue_id: 0, shared: 0, threads })
        };
        let all: Vec<_> = queued(state, self.sw_if_index).filter_map(details).collect();
        let Ok(cursor @ 1..) = u32::try_from(all.len()) else { return Err(ReturnCode::InvalidValue.into()) };
        Ok((all, SwInterfaceTxPlacementGetReply { retval: 0, cursor }))
    }
}
