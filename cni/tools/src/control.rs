//! The control socket: abstract, so that it needs no file system, and in the pod's network
//! namespace, so that only the pod reaches it.

use crate::error::Error;
use crate::owner::{Owner, text_of};
use crate::request::{Answer, Request};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// A request is written at once.
const REQUEST_WITHIN: Duration = Duration::from_secs(5);

fn name_of(interface: &str) -> String {
    format!("usnet-tools/{interface}")
}

fn failed(interface: &str) -> impl FnOnce(std::io::Error) -> Error {
    let name = name_of(interface);
    move |source| Error::Control { name, source }
}

/// Requests of other instances, which come with the connection that gets the answer.
pub(crate) type Requests = Receiver<(Request, UnixStream)>;

/// Accepts requests from now on; nothing if another instance has the port.
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

fn accept(listener: &UnixListener, requests: &SyncSender<(Request, UnixStream)>) {
    for connection in listener.incoming().flatten() {
        let mut line = String::new();
        let limited = connection.set_read_timeout(Some(REQUEST_WITHIN));
        let read = limited.and_then(|()| BufReader::new(&connection).read_line(&mut line));
        if let (Ok(_), Ok(request)) = (read, serde_json::from_str(&line)) {
            // The owner lives as long as the program.
            let _sent = requests.send((request, connection));
        }
    }
}

/// Serves the port and requests, until the program ends.
pub(crate) fn serve(mut owner: Owner, requests: &Requests) -> Result<(), Error> {
    loop {
        owner.turn_of_service();
        while let Ok((request, mut connection)) = requests.try_recv() {
            let answer = owner.handle(&request).unwrap_or_else(|error| refused(&error));
            // Who asked may have gone.
            let _written = writeln!(connection, "{}", serde_json::json!(answer));
        }
    }
}

/// The answer to a request that could not be tried.
pub(crate) fn refused(error: &Error) -> Answer {
    Answer { ok: false, result: serde_json::json!({"error": text_of(error)}) }
}

/// Asks the instance that has the port; nothing if there is none.
pub(crate) fn ask(interface: &str, request: &Request) -> Result<Option<Answer>, Error> {
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
