//! Captures of VPP: SPAN from the port to a vhost-user interface with a tag of its own, which is in
//! no bridge domain.
//!
//! At the device, frames are copied as the pod sends and receives them, before and after a VLAN is
//! pushed or popped.

use super::{Error, TIMEOUT};
use crate::engine::EngineError;
use crate::engine::vpp::owner_of;
use crate::engine::vpp::spans::SpansTicket;
use crate::model::capture::{Capture, CaptureNumber, Direction};
use crate::model::owner::PortOwner;
use std::path::Path;
use usnet_crds::EngineKind;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{
    CreateVhostUserIfV2, DeleteVhostUserIf, IfStatusFlags, NO_INTERFACE, SpanState, SwInterfaceDetails,
    SwInterfaceDump, SwInterfaceSetFlags, SwInterfaceSpanEnableDisable,
};
use usnet_vpp::stats::Reader;
use usnet_vpp::wire::FixedText;
use usnet_vpp::{Batch, ReplyError};

const ENGINE: EngineKind = EngineKind::Vpp;
/// The start of the tag of an interface that frames are copied to.
const TAG: &str = "usnet-capture=";
/// VPP's own name for the socket, beside that of the binary API.
const STATS_SOCKET: &str = "stats.sock";

fn engine(error: impl Into<EngineError>) -> Error {
    Error::Engine(error.into())
}

fn refused(action: &'static str, error: ReplyError) -> Error {
    match error {
        ReplyError::Refused { .. } => Error::Refused { engine: ENGINE, action, reason: error.to_string() },
        other => engine(other),
    }
}

fn connect(socket: &Path) -> Result<Client, Error> {
    Client::connect(socket, TIMEOUT).map_err(engine)
}

fn tag(number: CaptureNumber) -> String {
    format!("{TAG}{number}")
}

fn interfaces(client: &mut Client) -> Result<Vec<SwInterfaceDetails>, Error> {
    let mut batch = Batch::new();
    let dump = batch.dump(SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() });
    client.send(&batch).map_err(engine)?.details(dump).map_err(engine)
}

pub(super) fn start(socket: &Path, capture: &Capture, owner: &PortOwner) -> Result<(), Error> {
    let mut client = connect(socket)?;
    let all = interfaces(&mut client)?;
    let port = all.iter().find(|found| owner_of(found).as_ref() == Some(&owner.owner));
    let port = port.ok_or_else(|| Error::NoPort { engine: ENGINE, port: capture.port.clone() })?;

    let unusable = |what: String| Error::Refused { engine: ENGINE, action: "connect to the capture", reason: what };
    let sock_filename = FixedText::new(capture.socket.to_string_lossy().into_owned());
    let interface = CreateVhostUserIfV2 {
        sock_filename: sock_filename.map_err(|error| unusable(error.to_string()))?,
        tag: FixedText::new(tag(capture.number)).map_err(|error| unusable(error.to_string()))?,
        ..CreateVhostUserIfV2::default()
    };
    let mut batch = Batch::new();
    let created = batch.request(interface);
    let created = client.send(&batch).map_err(engine)?.reply(created);
    let to = created.map_err(|error| refused("create the interface of the capture", error))?.sw_if_index;

    let mut batch = Batch::new();
    let up = batch.request(SwInterfaceSetFlags { sw_if_index: to, flags: IfStatusFlags::ADMIN_UP });
    let span = batch.request(SwInterfaceSpanEnableDisable {
        sw_if_index_from: port.sw_if_index,
        sw_if_index_to: to,
        state: state(capture.direction),
        is_l2: false,
    });
    let answers = client.send(&batch).map_err(engine)?;
    answers.reply(up).map_err(|error| refused("set the interface of the capture up", error))?;
    answers.reply(span).map(drop).map_err(|error| refused("mirror the interface", error))
}

/// VPP's directions: what it receives, its pod has sent.
const fn state(direction: Direction) -> SpanState {
    match direction {
        Direction::Received => SpanState::Tx,
        Direction::Sent => SpanState::Rx,
        Direction::Both => SpanState::RxTx,
    }
}

pub(super) fn stop(socket: &Path, number: CaptureNumber) -> Result<bool, Error> {
    let mut client = connect(socket)?;
    let mut batch = Batch::new();
    let dump = batch.dump(SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() });
    let spans = SpansTicket::request(&mut batch, &client);
    let answers = client.send(&batch).map_err(engine)?;
    let interfaces = answers.details(dump).map_err(engine)?;
    let spans = spans.read(&answers)?;
    let tag = tag(number);
    let marked = interfaces.iter().filter(|found| found.tag.as_str() == tag);
    let marked: Vec<u32> = marked.map(|found| found.sw_if_index).collect();
    if marked.is_empty() {
        return Ok(false);
    }
    let mut batch = Batch::new();
    let requests = marked.iter().flat_map(|index| spans.stop_requests(*index));
    let off: Vec<_> = requests.map(|request| batch.request(request)).collect();
    if !batch.is_empty() {
        let answers = client.send(&batch).map_err(engine)?;
        for ticket in off {
            answers.reply(ticket).map_err(|error| refused("end the mirror", error))?;
        }
    }
    let mut batch = Batch::new();
    let deleted: Vec<_> =
        marked.iter().map(|sw_if_index| batch.request(DeleteVhostUserIf { sw_if_index: *sw_if_index })).collect();
    let answers = client.send(&batch).map_err(engine)?;
    for ticket in deleted {
        answers.reply(ticket).map_err(|error| refused("delete the interface of the capture", error))?;
    }
    Ok(true)
}

pub(super) fn list(socket: &Path) -> Result<Vec<CaptureNumber>, Error> {
    let all = interfaces(&mut connect(socket)?)?;
    let has = |number: &CaptureNumber| all.iter().any(|found| found.tag.as_str() == tag(*number));
    Ok(CaptureNumber::all().filter(has).collect())
}

/// What VPP dropped instead of sending it to the program.
pub(super) fn lost(socket: &Path, number: CaptureNumber) -> Option<u64> {
    let all = interfaces(&mut connect(socket).ok()?).ok()?;
    let index = all.iter().find(|found| found.tag.as_str() == tag(number))?.sw_if_index;
    let is_wanted = |name: &str| matches!(name, "/if/drops" | "/if/tx-error");
    let snapshot = Reader::new(socket.with_file_name(STATS_SOCKET), TIMEOUT, is_wanted).read().ok()?;
    let counts = ["/if/drops", "/if/tx-error"].map(|entry| snapshot.simple(entry, index));
    counts.into_iter().flatten().reduce(u64::saturating_add)
}
