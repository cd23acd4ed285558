//! The peer of a memif: another VPP.

use usnet_dataplane::port::PortBackend;
use usnet_test_vpp::{Kind, Vpp};
use usnet_vpp::Batch;
use usnet_vpp::messages::{IfStatusFlags, MemifCreateV2, MemifRole, MemifSocketFilenameAddDelV2, SwInterfaceSetFlags};

/// Connects to a socket and stays until it is dropped.
pub(crate) fn connect_to(backend: &PortBackend) -> Vpp {
    connect_with_queues(backend, 1)
}

/// The same with so many queues in each direction.
pub(crate) fn connect_with_queues(backend: &PortBackend, queues: u8) -> Vpp {
    let socket_filename = backend.socket_file().unwrap().display().to_string().into();
    let program = Vpp::start(Kind::Real).unwrap();
    let mut client = program.client().unwrap();
    let mut batch = Batch::new();
    batch.request(MemifSocketFilenameAddDelV2 { is_add: true, socket_id: 1, socket_filename });
    let (rx_queues, tx_queues) = (queues, queues);
    let memif =
        MemifCreateV2 { role: MemifRole::Slave, socket_id: 1, rx_queues, tx_queues, ..MemifCreateV2::default() };
    let made = batch.request(memif);
    let sw_if_index = client.send(&batch).unwrap().reply(made).unwrap().sw_if_index;
    let mut batch = Batch::new();
    batch.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::ADMIN_UP });
    client.send(&batch).unwrap();
    program
}
