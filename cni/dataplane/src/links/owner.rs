//! What devices of overlays belong to, as their aliases say.

use crate::model::port::DeviceName;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use usnet_crds::{EngineKind, MacAddress, NetworkName};

/// What a device belongs to; its alias says so. The engine is part of it, because only the engine
/// that has the device's port may delete it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkOwner {
    /// The engine that has the device as a port.
    pub engine: EngineKind,
    pub network: NetworkName,
}

impl LinkOwner {
    /// The owner of a network's device.
    pub(super) fn new(engine: EngineKind, network: &NetworkName) -> Self {
        Self { engine, network: network.clone() }
    }

    /// The name of the VXLAN device.
    pub fn device(&self) -> DeviceName {
        DeviceName::of_vxlan(&self.network)
    }

    /// The device's own MAC address, by which it is recognized until it has its alias: the kernel
    /// cannot set that on creation. No frame carries it.
    pub(super) fn mac(&self, local: IpAddr) -> MacAddress {
        MacAddress::of(&format!("{self} on {local}"))
    }
}

impl fmt::Display for LinkOwner {
    /// The alias of the device.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "usnet {} {}", self.engine.traits().api_name, self.network)
    }
}

/// An alias that usnet does not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an alias of usnet")]
pub struct ForeignAlias;

impl FromStr for LinkOwner {
    type Err = ForeignAlias;

    fn from_str(alias: &str) -> Result<Self, ForeignAlias> {
        let (engine, network) =
            alias.strip_prefix("usnet ").and_then(|rest| rest.split_once(' ')).ok_or(ForeignAlias)?;
        let engine = EngineKind::ALL.into_iter().find(|kind| kind.traits().api_name == engine).ok_or(ForeignAlias)?;
        Ok(Self { engine, network: network.parse().map_err(|_| ForeignAlias)? })
    }
}
