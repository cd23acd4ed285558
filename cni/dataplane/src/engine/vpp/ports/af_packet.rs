//! Host interfaces (af_packet): the engine's end of a veth pair, whose other end is the interface
//! in the pod's network namespace.

use super::missing::missing;
use super::traits::{ExistingInterface, InterfaceCommand, InterfaceToCreate};
use crate::engine::error::EngineError;
use crate::engine::vpp::request::{Find, add, add_with};
use crate::engine::vpp::tags::Tag;
use crate::model::memif::MemifSocketIds;
use crate::model::port::{DeviceName, PortBackend};
use usnet_vpp::messages::{
    AfPacketCreateV3, AfPacketDelete, AfPacketDetails, AfPacketDump, AfPacketFlags, AfPacketMode,
};
use usnet_vpp::wire::{FixedText, TextError};
use usnet_vpp::{Answers, Api, Batch, DumpTicket};

/// The name of a kernel device.
type HostInterfaceName = FixedText<64>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct AfPacketInterface {
    name: String,
}

impl AfPacketInterface {
    fn new(details: &AfPacketDetails) -> Self {
        Self { name: details.host_if_name.to_string() }
    }

    /// The one on this device, after which VPP names it.
    pub(super) fn recognise(kind: &str, name: &str, device: String) -> Option<Self> {
        let is_on_device = name.strip_prefix("host-") == Some(device.as_str());
        (kind == "af-packet" && is_on_device).then_some(Self { name: device })
    }
}

impl ExistingInterface for AfPacketInterface {
    type Command = AfPacketCommand;

    fn endpoint(&self) -> &str {
        &self.name
    }

    fn backend(&self) -> Option<PortBackend> {
        Some(PortBackend::Device { device: DeviceName::observed(&self.name) })
    }

    /// Names of devices are generated.
    fn has_own_endpoint(&self, _own_socket_ids: MemifSocketIds) -> bool {
        DeviceName::observed(&self.name).has_generated_name()
    }

    /// VPP reported the name in a field of this size. It deletes by name and not by index.
    fn delete(&self, _index: u32) -> AfPacketCommand {
        AfPacketCommand::Delete { name: HostInterfaceName::new(self.name.as_str()).unwrap_or_default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct NewAfPacket {
    name: HostInterfaceName,
    /// The MAC address of the interface; `None` means a random one.
    mac: Option<[u8; 6]>,
}

impl NewAfPacket {
    pub(super) fn new(device: String) -> Result<Self, TextError> {
        Ok(Self { name: HostInterfaceName::new(device)?, mac: None })
    }

    pub(super) fn with_mac(self, mac: [u8; 6]) -> Self {
        Self { mac: Some(mac), ..self }
    }
}

impl InterfaceToCreate for NewAfPacket {
    type Command = AfPacketCommand;

    /// VPP creates it without a tag.
    const IS_CREATED_WITH_TAG: bool = false;

    fn missing_message(api: &impl Api) -> Option<String> {
        let is_known = api.supports::<AfPacketCreateV3>();
        (!is_known).then(|| missing::<AfPacketCreateV3>(api.supports::<AfPacketDump>()))
    }

    fn create(&self, _tag: &Tag) -> AfPacketCommand {
        AfPacketCommand::Create { name: self.name.clone(), mac: self.mac }
    }

    fn delete(&self, _index: u32) -> AfPacketCommand {
        AfPacketCommand::Delete { name: self.name.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) enum AfPacketCommand {
    Create { name: HostInterfaceName, mac: Option<[u8; 6]> },
    Delete { name: HostInterfaceName },
}

impl InterfaceCommand for AfPacketCommand {
    fn creates_interface(&self) -> bool {
        matches!(self, Self::Create { .. })
    }

    fn add_to(&self, batch: &mut Batch, _api: &impl Api) -> Find {
        match self {
            Self::Create { name, mac } => add_with(batch, create(name.clone(), *mac), |reply| reply.sw_if_index),
            Self::Delete { name } => add(batch, AfPacketDelete { host_if_name: name.clone() }),
        }
    }
}

/// Size of a frame of the rings in bytes: more than the largest MTU with all headers, because the
/// kernel cuts off what does not fit. A power of two, so that pages hold whole frames.
const FRAME_BYTES: u32 = 16 * 1024;
/// Frames of the TX ring, which is 4 MiB then: VPP's own default would be 66 MiB for each port.
const TX_FRAMES: u32 = 256;
/// Frames of the RX ring, 8 MiB, where VPP's own default would be 66 MiB: as many as arrive in 2 ms
/// from a pod that sends as fast as its kernel can.
const RX_FRAMES: u32 = 512;

/// VPP completes checksums: the device has no offload for them. The rings are those of version 2 of
/// the kernel: with version 3, VPP's default, a frame waits for others for a millisecond. Every
/// release that usnet supports knows the flag (since 22.10).
fn create(host_if_name: HostInterfaceName, mac: Option<[u8; 6]>) -> AfPacketCreateV3 {
    AfPacketCreateV3 {
        mode: AfPacketMode::Ethernet,
        use_random_hw_addr: mac.is_none(),
        hw_addr: mac.unwrap_or_default(),
        host_if_name,
        rx_frame_size: FRAME_BYTES,
        rx_frames_per_block: RX_FRAMES,
        tx_frame_size: FRAME_BYTES,
        tx_frames_per_block: TX_FRAMES,
        flags: AfPacketFlags::QDISC_BYPASS | AfPacketFlags::VERSION_2,
        num_rx_queues: 1,
        num_tx_queues: 1,
    }
}

/// Where the interfaces are in the answers.
#[derive(Debug)]
pub(in crate::engine::vpp) struct AfPacketDumps(DumpTicket<AfPacketDump>);

impl AfPacketDumps {
    pub(super) fn request(batch: &mut Batch, api: &impl Api) -> Option<Self> {
        api.supports::<AfPacketDump>().then(|| Self(batch.dump(AfPacketDump {})))
    }

    pub(super) fn read(self, answers: &Answers) -> Result<Vec<(u32, AfPacketInterface)>, EngineError> {
        let details = answers.details(self.0)?;
        Ok(details.iter().map(|device| (device.sw_if_index, AfPacketInterface::new(device))).collect())
    }
}
