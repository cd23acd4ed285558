//! Taps: a device in the network namespace of a pod, whose other end VPP has.
//!
//! The device is persistent. When VPP ends it stays, with the addresses and routes that the plugin
//! has set, and has no carrier; when the port is created again VPP attaches it.

use super::missing::missing;
use super::traits::{ExistingInterface, InterfaceCommand, InterfaceToCreate};
use crate::engine::error::EngineError;
use crate::engine::vpp::request::{Find, add, add_with};
use crate::engine::vpp::tags::Tag;
use crate::model::port::{DesiredPort, PortBackend, TapDevice};
use usnet_vpp::messages::{
    ANY_TAP, NO_INTERFACE, SwInterfaceTapV2Details, SwInterfaceTapV2Dump, TapCreateV3, TapDeleteV2, TapFlags,
};
use usnet_vpp::wire::{FixedText, Text, TextError};
use usnet_vpp::{Answers, Api, Batch, DumpTicket};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct TapInterface {
    /// Its device, as [`PortBackend::endpoint_name`] has it.
    endpoint: String,
    device: Option<TapDevice>,
}

impl TapInterface {
    fn new(details: &SwInterfaceTapV2Details) -> Self {
        let (name, namespace) = (details.host_if_name.as_str(), details.host_namespace.as_str());
        let is_tap = !details.tap_flags.contains(TapFlags::TUN);
        let device = TapDevice::observed(name, namespace).filter(|_| is_tap);
        Self { endpoint: TapDevice::endpoint(name, namespace), device }
    }

    /// A tap that usnet created on this device.
    pub(super) fn recognise(kind: &str, device: &TapDevice, endpoint: String) -> Option<Self> {
        (kind == "tap").then(|| Self { endpoint, device: Some(device.clone()) })
    }
}

impl ExistingInterface for TapInterface {
    type Command = TapCommand;

    fn endpoint(&self) -> &str {
        &self.endpoint
    }

    fn backend(&self) -> Option<PortBackend> {
        Some(PortBackend::Tap { device: self.device.clone()? })
    }

    fn delete(&self, index: u32) -> TapCommand {
        TapCommand::Delete { index }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct NewTap {
    name: FixedText<64>,
    namespace: FixedText<64>,
    mac: [u8; 6],
    mtu: u32,
}

impl NewTap {
    pub(super) fn new(port: &DesiredPort, device: &TapDevice) -> Result<Self, TextError> {
        Ok(Self {
            name: FixedText::new(device.interface.as_str())?,
            namespace: FixedText::new(device.namespace.to_string_lossy().as_ref())?,
            mac: port.creation.mac.unwrap_or_default(),
            mtu: port.settings.mtu.requested().map_or(0, |mtu| mtu.get().into()),
        })
    }
}

impl InterfaceToCreate for NewTap {
    type Command = TapCommand;

    /// The request has a field for it.
    const IS_CREATED_WITH_TAG: bool = true;

    fn missing_message(api: &impl Api) -> Option<String> {
        let is_known = api.supports::<TapCreateV3>();
        (!is_known).then(|| missing::<TapCreateV3>(api.supports::<SwInterfaceTapV2Dump>()))
    }

    fn create(&self, tag: &Tag) -> TapCommand {
        TapCommand::Create { tap: self.clone().into(), tag: tag.clone() }
    }

    fn delete(&self, index: u32) -> TapCommand {
        TapCommand::Delete { index }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) enum TapCommand {
    Create { tap: Box<NewTap>, tag: Tag },
    Delete { index: u32 },
}

impl InterfaceCommand for TapCommand {
    fn creates_interface(&self) -> bool {
        matches!(self, Self::Create { .. })
    }

    fn add_to(&self, batch: &mut Batch, _api: &impl Api) -> Find {
        match self {
            Self::Create { tap, tag } => add_with(batch, create(tap, tag), |reply| reply.sw_if_index),
            Self::Delete { index } => add(batch, TapDeleteV2 { sw_if_index: *index }),
        }
    }
}

/// Without offloads: the pod's kernel splits packets and completes checksums, because other ports
/// of the bridge domain would pass on what is unfinished.
fn create(NewTap { name, namespace, mac, mtu }: &NewTap, tag: &Tag) -> TapCreateV3 {
    TapCreateV3 {
        id: ANY_TAP,
        use_random_mac: true,
        num_rx_queues: 1,
        num_tx_queues: 1,
        host_mtu_set: *mtu > 0,
        host_mtu_size: *mtu,
        host_mac_addr_set: true,
        host_mac_addr: *mac,
        tap_flags: TapFlags::PERSIST,
        host_namespace_set: true,
        host_namespace: namespace.clone(),
        host_if_name_set: true,
        host_if_name: name.clone(),
        tag: Text::from(tag.as_str()),
        ..TapCreateV3::default()
    }
}

/// Where the interfaces are in the answers.
#[derive(Debug)]
pub(in crate::engine::vpp) struct TapDumps(DumpTicket<SwInterfaceTapV2Dump>);

impl TapDumps {
    pub(super) fn request(batch: &mut Batch, api: &impl Api) -> Option<Self> {
        let is_known = api.supports::<SwInterfaceTapV2Dump>();
        is_known.then(|| Self(batch.dump(SwInterfaceTapV2Dump { sw_if_index: NO_INTERFACE })))
    }

    pub(super) fn read(self, answers: &Answers) -> Result<Vec<(u32, TapInterface)>, EngineError> {
        let details = answers.details(self.0)?;
        Ok(details.iter().map(|tap| (tap.sw_if_index, TapInterface::new(tap))).collect())
    }
}
