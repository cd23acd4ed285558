//! The relevant rows of the database, all of one moment: every one, or those of a few operations or
//! of a port.

mod named_rows;
mod port_rows;

use super::dpdk_support::dpdk_support;
use super::error::EmptyDatabase;
use super::ports;
use crate::engine::error::EngineError;
use crate::model::observed::DpdkSupport;
use crate::plan::Op;
use std::collections::BTreeMap;
use usnet_crds::PortType;
use usnet_ovsdb::{
    Bridge, Cache, Database, Interface, OpenVswitch, Port, Qos, Reply, ReplyError, RowsIndex, TableRow, Transaction,
    Uuid,
};

/// Bridges, ports, interfaces and limits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OvsSnapshot {
    /// Bridges by name, which is unique.
    pub(super) bridges: BTreeMap<String, Bridge>,
    pub(super) ports: BTreeMap<Uuid, Port>,
    pub(super) interfaces: BTreeMap<Uuid, Interface>,
    pub(super) limits: BTreeMap<Uuid, Qos>,
    port_names: BTreeMap<String, Uuid>,
    interface_names: BTreeMap<String, Uuid>,
    /// `next_cfg`: the last configuration that any client requested.
    pub(super) next_cfg: i64,
    /// What the switch cannot have as it runs now; nothing where that was not read.
    pub(super) unusable_port_types: BTreeMap<PortType, String>,
    /// Why it cannot have devices by AF_XDP; it can where that was not read.
    pub(super) without_af_xdp: Option<String>,
    /// Whether the switch is to have segmentation offload; not where that was not read.
    pub(super) has_segmentation: bool,
    /// What it can do with NICs that it drives itself; everything where that was not read.
    pub(super) dpdk: DpdkSupport,
}

/// Where the rows are in a reply.
struct Selected {
    open_vswitch: RowsIndex<OpenVswitch>,
    bridges: RowsIndex<Bridge>,
    ports: RowsIndex<Port>,
    interfaces: RowsIndex<Interface>,
    limits: RowsIndex<Qos>,
}

impl OvsSnapshot {
    /// All rows of one moment.
    pub(super) async fn read(database: &mut impl Database) -> Result<Self, EngineError> {
        let mut transaction = Transaction::new();
        let selected = Self::select(&mut transaction);
        let reply = database.transact(&transaction).await?;
        Self::from_reply(&reply, &selected)
    }

    /// Whether [`Self::read_named`] can be tried for these operations.
    pub(super) fn can_read_named(operations: &[&Op]) -> bool {
        named_rows::are_few(operations)
    }

    /// Only the rows that these operations need, of one moment; `None` if they need more.
    pub(super) async fn read_named(
        database: &mut impl Database,
        operations: &[&Op],
    ) -> Result<Option<Self>, EngineError> {
        named_rows::read(database, operations).await
    }

    /// Only the rows of a port and its bridges, of one moment; `None` if there is no such port.
    pub(super) async fn read_port(database: &mut impl Database, name: &str) -> Result<Option<Self>, EngineError> {
        port_rows::read(database, name).await
    }

    /// Adds the reading of all rows to a transaction.
    fn select(transaction: &mut Transaction) -> Selected {
        Selected {
            open_vswitch: transaction.select_rows(Vec::new()),
            bridges: transaction.select_rows(Vec::new()),
            ports: transaction.select_rows(Vec::new()),
            interfaces: transaction.select_rows(Vec::new()),
            limits: transaction.select_rows(Vec::new()),
        }
    }

    fn from_reply(reply: &Reply, selected: &Selected) -> Result<Self, EngineError> {
        let open_vswitch = reply.rows(selected.open_vswitch)?;
        let (bridges, ports) = (reply.rows(selected.bridges)?, reply.rows(selected.ports)?);
        let rows = Self::new(open_vswitch.first(), bridges, ports, reply.rows(selected.interfaces)?)?;
        Ok(rows.with_limits(reply.rows(selected.limits)?))
    }

    pub(super) fn from_cache(cache: &Cache) -> Result<Self, EngineError> {
        let open_vswitch = cache_rows(cache)?;
        let rows = Self::new(open_vswitch.first(), cache_rows(cache)?, cache_rows(cache)?, cache_rows(cache)?)?;
        Ok(rows.with_limits(cache_rows(cache)?))
    }

    fn new(
        open_vswitch: Option<&OpenVswitch>,
        bridges: Vec<Bridge>,
        ports: Vec<Port>,
        interfaces: Vec<Interface>,
    ) -> Result<Self, EngineError> {
        let open_vswitch = open_vswitch.ok_or(EmptyDatabase)?;
        Ok(Self {
            next_cfg: open_vswitch.next_cfg,
            unusable_port_types: ports::unusable_types(open_vswitch),
            without_af_xdp: ports::without_af_xdp(open_vswitch, has_segmentation(open_vswitch)),
            has_segmentation: has_segmentation(open_vswitch),
            dpdk: dpdk_support(open_vswitch),
            port_names: ports.iter().map(|port| (port.name.clone(), port.uuid)).collect(),
            interface_names: interfaces.iter().map(|interface| (interface.name.clone(), interface.uuid)).collect(),
            bridges: bridges.into_iter().map(|bridge| (bridge.name.clone(), bridge)).collect(),
            ports: ports.into_iter().map(|port| (port.uuid, port)).collect(),
            interfaces: interfaces.into_iter().map(|interface| (interface.uuid, interface)).collect(),
            limits: BTreeMap::new(),
        })
    }

    fn with_limits(self, limits: Vec<Qos>) -> Self {
        Self { limits: limits.into_iter().map(|limit| (limit.uuid, limit)).collect(), ..self }
    }

    /// The port of this name, which is unique.
    pub(super) fn port(&self, name: &str) -> Option<&Port> {
        self.port_names.get(name).and_then(|uuid| self.ports.get(uuid))
    }

    /// The interface of this name, which is unique.
    pub(super) fn interface(&self, name: &str) -> Option<&Interface> {
        self.interface_names.get(name).and_then(|uuid| self.interfaces.get(uuid))
    }

    /// The only interface of a port; none for a bond.
    pub(super) fn interface_of(&self, port: &Port) -> Option<&Interface> {
        let mut uuids = port.interfaces.iter();
        match (uuids.next(), uuids.next()) {
            (Some(uuid), None) => self.interfaces.get(uuid),
            _ => None,
        }
    }

    /// The interfaces of a port.
    pub(super) fn interfaces_of(&self, port: &Port) -> impl Iterator<Item = &Interface> {
        port.interfaces.iter().filter_map(|uuid| self.interfaces.get(uuid))
    }

    /// The ports of a bridge, its own among them.
    pub(super) fn ports_of(&self, bridge: &Bridge) -> impl Iterator<Item = &Port> {
        bridge.ports.iter().filter_map(|uuid| self.ports.get(uuid))
    }
}

fn cache_rows<T: TableRow>(cache: &Cache) -> Result<Vec<T>, EngineError> {
    cache.rows().map_err(|error| ReplyError::from(error).into())
}

/// Whether the switch is to have segmentation offload. It reads the setting when it starts: what it
/// has now may differ until the next start.
fn has_segmentation(open_vswitch: &OpenVswitch) -> bool {
    open_vswitch.other_config.get("userspace-tso-enable").is_some_and(|value| value == "true")
}
