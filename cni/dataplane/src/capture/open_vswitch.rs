//! Captures of Open vSwitch: a `Mirror` with a port of its own, in one transaction.

use super::{Error, TIMEOUT};
use crate::engine::EngineError;
use crate::engine::ovs::{CAPTURE_KEY, VHOST_USER_CLIENT, port_value};
use crate::model::capture::{Capture, CaptureNumber};
use crate::model::owner::PortOwner;
use std::path::Path;
use usnet_crds::EngineKind;
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{
    Condition, Error as DatabaseError, ErrorCode, FromValue, Interface, Mutation, Port, Row, RowsIndex, SelectIndex,
    Transaction, Uuid, Value, statistics,
};

const ENGINE: EngineKind = EngineKind::OpenVswitch;
const MIRROR: &str = "Mirror";
/// Frames that the port's program did not take.
const LOST: &str = "ovs_tx_failure_drops";

fn engine(error: impl Into<EngineError>) -> Error {
    Error::Engine(error.into())
}

fn connect(socket: &Path) -> Result<Client, Error> {
    Client::connect(socket, TIMEOUT).map_err(engine)
}

fn mark(number: CaptureNumber) -> Value {
    Value::map([(CAPTURE_KEY, number.to_string())])
}

pub(super) fn start(socket: &Path, capture: &Capture, owner: &PortOwner) -> Result<(), Error> {
    let mut client = connect(socket)?;
    let no_port = || Error::NoPort { engine: ENGINE, port: capture.port.clone() };
    let owned =
        vec![Condition::equal("name", capture.port.as_str()), Condition::includes("external_ids", port_value(owner))];
    let mut transaction = Transaction::new();
    let found = transaction.select_columns::<Port>(owned.clone(), ["name"]);
    let found = client.transact(&transaction).map_err(engine)?.rows(found).map_err(engine)?;
    let port = found.first().ok_or_else(no_port)?.uuid;

    let mut transaction = Transaction::new();
    transaction.require_row("Port", owned);
    let bridge = vec![Condition::includes("ports", port)];
    transaction.require_row("Bridge", bridge.clone());
    add(&mut transaction, capture, port, bridge);
    let next_cfg = transaction.bump_next_cfg();
    let reply = client.transact(&transaction).map_err(|error| match error.code() {
        // A guard.
        Some(ErrorCode::TimedOut) => no_port(),
        _ => refused("mirror the port", error),
    })?;
    let next_cfg = reply.next_cfg(next_cfg).map_err(engine)?;
    wait(&mut client, next_cfg)?;
    verify(&mut client, capture.number)
}

/// Adds interface, port and mirror. Mirrors of others stay.
fn add(transaction: &mut Transaction, capture: &Capture, port: Uuid, bridge: Vec<Condition>) {
    let name = capture.number.port();
    // The switch must not wait for a program that is too slow.
    let socket = capture.socket.to_string_lossy();
    let options = Value::map([("vhost-server-path", socket.as_ref()), ("tx-retries-max", "0")]);
    let interface = Row::new().with("name", name.as_str()).with("type", VHOST_USER_CLIENT).with("options", options);
    let interface = transaction.insert("Interface", interface);
    let output =
        Row::new().with("name", name.as_str()).with("interfaces", interface).with("external_ids", mark(capture.number));
    let output = transaction.insert("Port", output);
    let selected = |is_selected: bool| if is_selected { Value::from(port) } else { Value::empty() };
    // The switch's directions: what arrives on a port, its pod has sent.
    let mut mirror = Row::new()
        .with("name", name.as_str())
        .with("select_src_port", selected(capture.direction.has_sent()))
        .with("select_dst_port", selected(capture.direction.has_received()))
        .with("output_port", output)
        .with("external_ids", mark(capture.number));
    if let Some(snaplen) = capture.snaplen {
        mirror.set("snaplen", i64::from(snaplen));
    }
    let mirror = transaction.insert(MIRROR, mirror);
    let join = vec![Mutation::insert("ports", output), Mutation::insert("mirrors", mirror)];
    let _guarded = transaction.mutate("Bridge", bridge, join);
}

fn refused(action: &'static str, error: DatabaseError) -> Error {
    match error {
        DatabaseError::Transaction { source, .. } => {
            Error::Refused { engine: ENGINE, action, reason: source.to_string() }
        }
        other => engine(other),
    }
}

/// Waits until the switch has acted.
fn wait(client: &mut Client, next_cfg: i64) -> Result<(), Error> {
    let mut transaction = Transaction::new();
    transaction.wait_for_cur_cfg(next_cfg, TIMEOUT);
    client.transact(&transaction).map(drop).map_err(|error| match error.code() {
        Some(ErrorCode::TimedOut) => EngineError::NotActing { engine: ENGINE, seconds: TIMEOUT.as_secs() }.into(),
        _ => engine(error),
    })
}

/// What the database accepted the switch may have failed to do.
fn verify(client: &mut Client, number: CaptureNumber) -> Result<(), Error> {
    let mut transaction = Transaction::new();
    let name = vec![Condition::equal("name", number.port().as_str())];
    let interface = transaction.select_columns::<Interface>(name, ["error", "ofport"]);
    let found = client.transact(&transaction).map_err(engine)?.rows(interface).map_err(engine)?;
    match found.first().and_then(|interface| interface.error.clone()) {
        Some(reason) => Err(Error::Refused { engine: ENGINE, action: "create the port of the capture", reason }),
        None => Ok(()),
    }
}

/// Where the marked rows are.
struct Marked {
    mirrors: SelectIndex,
    ports: RowsIndex<Port>,
}

impl Marked {
    fn select(transaction: &mut Transaction, number: CaptureNumber) -> Self {
        let marked = || vec![Condition::includes("external_ids", mark(number))];
        Self {
            mirrors: transaction.select(MIRROR, marked(), &["name"]),
            ports: transaction.select_columns(marked(), ["name"]),
        }
    }
}

pub(super) fn stop(socket: &Path, number: CaptureNumber) -> Result<bool, Error> {
    let mut client = connect(socket)?;
    let mut transaction = Transaction::new();
    let marked = Marked::select(&mut transaction, number);
    let reply = client.transact(&transaction).map_err(engine)?;
    let rows = reply.raw_rows(marked.mirrors).map_err(engine)?.iter();
    let mirrors: Vec<Uuid> = rows.filter_map(|row| row.get("_uuid").and_then(Option::<Uuid>::from_value)?).collect();
    let ports: Vec<Uuid> = reply.rows(marked.ports).map_err(engine)?.into_iter().map(|port| port.uuid).collect();
    if mirrors.is_empty() && ports.is_empty() {
        return Ok(false);
    }
    let mut transaction = Transaction::new();
    for (column, rows) in [("mirrors", mirrors), ("ports", ports)] {
        for row in rows {
            let of_bridge = vec![Condition::includes(column, row)];
            let _may_be_gone = transaction.mutate("Bridge", of_bridge, vec![Mutation::delete(column, row)]);
        }
    }
    let next_cfg = transaction.bump_next_cfg();
    let reply = client.transact(&transaction).map_err(|error| refused("remove the mirror", error))?;
    // Until then it would connect to the socket of the next capture. A switch that does not act
    // does it as soon as it can, also after its own restart.
    let _acted = wait(&mut client, reply.next_cfg(next_cfg).map_err(engine)?);
    Ok(true)
}

pub(super) fn list(socket: &Path) -> Result<Vec<CaptureNumber>, Error> {
    let mut client = connect(socket)?;
    let mut transaction = Transaction::new();
    let marked: Vec<_> =
        CaptureNumber::all().map(|number| (number, Marked::select(&mut transaction, number))).collect();
    let reply = client.transact(&transaction).map_err(engine)?;
    let mut found = Vec::new();
    for (number, marked) in marked {
        let mirrors = reply.raw_rows(marked.mirrors).map_err(engine)?;
        if !mirrors.is_empty() || !reply.rows::<Port>(marked.ports).map_err(engine)?.is_empty() {
            found.push(number);
        }
    }
    Ok(found)
}

/// Up to five seconds old.
pub(super) fn lost(socket: &Path, number: CaptureNumber) -> Option<u64> {
    let interfaces = statistics::read(socket, TIMEOUT, |key| key == LOST).ok()?;
    let interface = interfaces.into_iter().find(|interface| interface.name == number.port().as_str())?;
    interface.statistics.get(LOST).copied()
}
