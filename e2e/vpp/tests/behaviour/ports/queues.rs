//! The queues of interfaces: only those with a device or a connected program have any.

use super::af_packet::ip;
use crate::{Fixture, on_each};
use nix::sched::{CloneFlags, unshare};
use usnet_vpp::messages::{
    NO_INTERFACE, RxMode, SwInterfaceRxPlacementDump, SwInterfaceSetRxMode, SwInterfaceSetTxPlacement,
    SwInterfaceTxPlacementDetails, SwInterfaceTxPlacementGet,
};
use usnet_vpp::{Batch, ReturnCode};

impl Fixture {
    fn modes(&mut self) -> Vec<(u32, u32, RxMode)> {
        let all = self.dump(SwInterfaceRxPlacementDump { sw_if_index: NO_INTERFACE });
        all.into_iter().map(|queue| (queue.sw_if_index, queue.queue_id, queue.mode)).collect()
    }

    fn set_mode(&mut self, sw_if_index: u32, mode: RxMode) -> Option<ReturnCode> {
        self.request(SwInterfaceSetRxMode { sw_if_index, queue_id_valid: true, queue_id: 0, mode }).err()
    }

    fn place(&mut self, sw_if_index: u32, queue_id: u32, threads: &[u32]) -> Option<ReturnCode> {
        self.request(SwInterfaceSetTxPlacement { sw_if_index, queue_id, threads: threads.to_vec() }).err()
    }

    fn placement(&mut self, sw_if_index: u32) -> Result<Vec<SwInterfaceTxPlacementDetails>, Option<ReturnCode>> {
        let mut batch = Batch::new();
        let ticket = batch.get(SwInterfaceTxPlacementGet { cursor: 0, sw_if_index });
        let answers = self.client.send(&batch).expect("answers");
        answers.got(ticket).map(|(details, _)| details).map_err(|error| error.code())
    }
}

#[test]
fn queues_of_a_program_that_is_not_connected_cannot_be_set() {
    on_each(|vpp| {
        assert_eq!(vpp.placement(NO_INTERFACE), Err(Some(ReturnCode::NoSuchEntry)));
        let memif = vpp.create_memif(0, 0).expect("memif");
        assert_eq!((vpp.modes(), vpp.placement(memif)), (vec![], Err(Some(ReturnCode::NoSuchEntry))));
        assert_eq!(vpp.set_mode(memif, RxMode::Interrupt), Some(ReturnCode::Unimplemented));
        assert_eq!(vpp.place(memif, 0, &[0]), Some(ReturnCode::InvalidQueue));
        assert_eq!(vpp.place(memif, 0, &[77]), Some(ReturnCode::InvalidValue));
        let gone = Some(ReturnCode::InvalidSwIfIndex);
        assert_eq!((vpp.place(99, 0, &[0]), vpp.set_mode(99, RxMode::Polling)), (gone, gone));
    });
}

#[test]
fn the_queues_of_a_device_are_set_and_read() {
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    on_each(|vpp| {
        ip("link add veth0 type veth peer name veth1");
        let device = vpp.on_device("veth0").expect("an interface").sw_if_index;
        let memif = vpp.create_memif(0, 0).expect("memif");
        assert_eq!(vpp.modes(), [(device, 0, RxMode::Interrupt)]);
        let placed = vpp.placement(NO_INTERFACE).expect("queues");
        assert_eq!(
            placed.iter().map(|queue| (queue.sw_if_index, queue.threads.as_slice())).collect::<Vec<_>>(),
            [(device, &[0][..])]
        );
        assert_eq!(vpp.placement(memif), Err(Some(ReturnCode::InvalidValue)));
        assert_eq!(vpp.placement(99), Err(Some(ReturnCode::InvalidSwIfIndex)));
        assert_eq!(vpp.set_mode(device, RxMode::Polling), None);
        assert_eq!(vpp.modes(), [(device, 0, RxMode::Polling)]);
        assert_eq!(vpp.set_mode(device, RxMode::Adaptive), Some(ReturnCode::Unimplemented));
        assert_eq!(vpp.place(device, 0, &[]), None);
        assert_eq!(vpp.placement(device).expect("queues")[0].threads, [0; 0]);
        assert_eq!(vpp.place(device, 1, &[0]), Some(ReturnCode::InvalidQueue));
        ip("link del veth0");
    });
}
