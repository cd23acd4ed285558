//! The rows around one port, wherever it is: its interfaces, and the bridges that have it.

use super::OvsSnapshot;
use super::named_rows::PORTS;
use crate::engine::error::EngineError;
use usnet_ovsdb::{Bridge, Condition, Database, Interface, OpenVswitch, Port, TableRow, Transaction};

/// All rows are of one moment; `None` if there is no port of this name. The bridges have this port
/// alone.
pub(super) async fn read(database: &mut impl Database, name: &str) -> Result<Option<OvsSnapshot>, EngineError> {
    let mut transaction = Transaction::new();
    let found = transaction.select_rows::<Port>(vec![Condition::equal("name", name)]);
    let found = database.transact(&transaction).await?.rows(found)?;
    let Some(Port { uuid: port, interfaces, .. }) = found.into_iter().next() else { return Ok(None) };

    // The port again, because another client may have removed it since.
    let mut transaction = Transaction::new();
    let open_vswitch = transaction.select_columns::<OpenVswitch>(Vec::new(), ["next_cfg"]);
    let bridge_columns = Bridge::TABLE.columns.iter().map(|column| column.name).filter(|column| *column != PORTS);
    let bridges = transaction.select_columns::<Bridge>(vec![Condition::includes(PORTS, port)], bridge_columns);
    let ports = transaction.select_rows::<Port>(vec![Condition::uuid(port)]);
    let of_port = |uuid| transaction.select_rows::<Interface>(vec![Condition::uuid(uuid)]);
    let interfaces: Vec<_> = interfaces.into_iter().map(of_port).collect();
    let reply = database.transact(&transaction).await?;
    let mut bridges = reply.rows(bridges)?;
    bridges.iter_mut().for_each(|bridge| bridge.ports = [port].into());
    let mut interface_rows = Vec::new();
    for index in interfaces {
        interface_rows.extend(reply.rows(index)?);
    }
    let open_vswitch = reply.rows(open_vswitch)?;
    OvsSnapshot::new(open_vswitch.first(), bridges, reply.rows(ports)?, interface_rows).map(Some)
}
