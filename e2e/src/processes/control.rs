//! Stops and starts programs of a running test bed: the user's program `component` sends requests
//! to the orchestrator over a unix socket.
//!
//! A request is one line, `stop|start PROGRAM [NODE]`. The response, up to the end of the
//! connection, is `ok` or an error.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::host::component::{Component, ComponentError, ComponentName};
use crate::testbed::progress::with_causes;

/// The hidden subcommand of [`send`].
pub const ROLE: &str = "internal-component";

const OK: &str = "ok";

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("usage: component stop|start NAME [NODE]")]
    Usage,
    #[error("there is no {name}; there are: {known}")]
    Unknown { name: ComponentName, known: String },
    #[error(transparent)]
    Component(#[from] ComponentError),
    #[error("cannot reach the test bed at {0}")]
    Connection(PathBuf, #[source] io::Error),
    #[error("{0}")]
    Refused(String),
}

/// All programs of a test bed, shared by the threads that start them.
#[derive(Debug, Default)]
pub struct Components {
    known: Mutex<BTreeMap<ComponentName, Arc<Component>>>,
}

impl Components {
    /// Adds a program and starts it.
    pub fn start(&self, component: &Arc<Component>) -> Result<(), ComponentError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(component.name().clone(), Arc::clone(component));
        drop(known);
        component.start()
    }

    fn find(&self, name: &ComponentName) -> Result<Arc<Component>, ControlError> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(name).cloned().ok_or_else(|| ControlError::Unknown {
            name: name.clone(),
            known: known.keys().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        })
    }

    /// Executes one request.
    fn execute(&self, line: &str) -> Result<(), ControlError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (verb, name) = match *words.as_slice() {
            [verb, program] => (verb, ComponentName::control_plane(program)),
            [verb, program, node] => (verb, ComponentName::on(node, program)),
            _ => return Err(ControlError::Usage),
        };
        match verb {
            "stop" => Ok(self.find(&name)?.stop()?),
            "start" => Ok(self.find(&name)?.start()?),
            _ => Err(ControlError::Usage),
        }
    }
}

/// Serves requests on the socket at `path` until the end of the test bed.
pub fn serve(path: &Path, components: Arc<Components>) -> io::Result<()> {
    let listener = UnixListener::bind(path)?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let components = Arc::clone(&components);
            thread::spawn(move || respond(stream, &components));
        }
    });
    Ok(())
}

fn respond(mut stream: UnixStream, components: &Components) {
    let mut line = String::new();
    if BufReader::new(&stream).read_line(&mut line).is_err() {
        return;
    }
    let response = match components.execute(&line) {
        Ok(()) => OK.to_owned(),
        Err(error) => with_causes(&error),
    };
    // The client may be gone.
    let _ = stream.write_all(response.as_bytes());
}

/// Sends a request to the test bed at the socket `path`.
pub fn send(path: &Path, words: &[String]) -> Result<(), ControlError> {
    let failed = |source| ControlError::Connection(path.to_owned(), source);
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    stream.write_all(format!("{}\n", words.join(" ")).as_bytes()).map_err(failed)?;
    stream.shutdown(Shutdown::Write).map_err(failed)?;
    let mut response = String::new();
    stream.read_to_string(&mut response).map_err(failed)?;
    if response == OK { Ok(()) } else { Err(ControlError::Refused(response)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn sleeping_component(logs: &Path) -> Arc<Component> {
        let launch = || {
            let mut command = Command::new("sleep");
            command.arg("1000");
            command
        };
        Arc::new(Component::new(ComponentName::on("node-a", "kubelet"), logs, launch, || true))
    }

    #[test]
    fn known_programs_are_stopped_and_started() {
        let folder = tempfile::tempdir().unwrap();
        let components = Arc::new(Components::default());
        components.start(&sleeping_component(folder.path())).unwrap();
        let socket = folder.path().join("control.sock");
        serve(&socket, Arc::clone(&components)).unwrap();
        let send = |line: &str| send(&socket, &line.split(' ').map(str::to_owned).collect::<Vec<_>>());

        let refused = send("start kubelet node-a").unwrap_err().to_string();
        assert_eq!(refused, "kubelet on node-a is running already");
        send("stop kubelet node-a").unwrap();
        send("start kubelet node-a").unwrap();
        let unknown = send("stop kubelet node-b").unwrap_err().to_string();
        assert_eq!(unknown, "there is no kubelet on node-b; there are: kubelet on node-a");
        let usage = send("pause kubelet node-a").unwrap_err().to_string();
        assert!(usage.starts_with("usage:"), "{usage}");
        send("stop kubelet node-a").unwrap();
    }
}
