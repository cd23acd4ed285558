//! The control socket: abstract, so that it needs no file system, and in the pod's network
//! namespace, so that only the pod reaches it.

use crate::error::{self, Error};
use crate::owner::{Owner, WAIT};
use crate::request::{Answer, Request};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// A client writes its request at once: more time only blocks other clients.
const REQUEST_WITHIN: Duration = Duration::from_secs(5);

fn name_of(interface: &str) -> String {
    format!("usnet-tools/{interface}")
}

fn failed(interface: &str) -> impl FnOnce(std::io::Error) -> Error {
    let name = name_of(interface);
    move |source| Error::Control { name, source }
}

/// The requests of other instances.
pub(crate) type Requests = Receiver<Received>;

pub(crate) struct Received {
    request: Request,
    /// The answer is written to it.
    connection: UnixStream,
}

/// Accepts requests from now on. Returns nothing if another instance has the port.
pub(crate) fn listen(interface: &str) -> Result<Option<Requests>, Error> {
    let address = SocketAddr::from_abstract_name(name_of(interface)).map_err(failed(interface))?;
    let listener = match UnixListener::bind_addr(&address) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => return Ok(None),
        bound => bound.map_err(failed(interface))?,
    };
    let (sender, receiver) = sync_channel(16);
    std::thread::spawn(move || accept(&listener, &sender));
    Ok(Some(receiver))
}

fn accept(listener: &UnixListener, requests: &SyncSender<Received>) {
    for connection in listener.incoming().flatten() {
        let mut line = String::new();
        let limited = connection.set_read_timeout(Some(REQUEST_WITHIN));
        let read = limited.and_then(|()| BufReader::new(&connection).read_line(&mut line));
        if let (Ok(_), Ok(request)) = (read, serde_json::from_str(&line)) {
            // The receiver lives as long as the program.
            let _sent = requests.send(Received { request, connection });
        }
    }
}

/// Serves the port and requests until the program ends.
pub(crate) fn serve(mut owner: Owner, requests: &Requests) -> Result<(), Error> {
    loop {
        owner.work(WAIT);
        while let Ok(Received { request, mut connection }) = requests.try_recv() {
            let answer = owner.handle(&request).unwrap_or_else(|error| error_answer(&error));
            // The client may have closed the connection.
            let _written = writeln!(connection, "{}", serde_json::json!(answer));
        }
    }
}

/// Returns the answer to a request that could not be executed.
pub(crate) fn error_answer(error: &Error) -> Answer {
    Answer { ok: false, result: serde_json::json!({"error": error::chain(error)}) }
}

/// Sends a request to the instance that has the port. Returns nothing if there is none.
pub(crate) fn call(interface: &str, request: &Request) -> Result<Option<Answer>, Error> {
    let address = SocketAddr::from_abstract_name(name_of(interface)).map_err(failed(interface))?;
    let mut connection = match UnixStream::connect_addr(&address) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(None),
        connected => connected.map_err(failed(interface))?,
    };
    writeln!(connection, "{}", serde_json::json!(request)).map_err(failed(interface))?;
    let mut line = String::new();
    BufReader::new(connection).read_line(&mut line).map_err(failed(interface))?;
    serde_json::from_str(&line).map(Some).map_err(Error::Answer)
}
