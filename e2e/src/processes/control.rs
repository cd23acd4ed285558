//! Stopping and starting programs of a running test bed: the user's `component` talks to the
//! orchestrator over a unix socket.
//!
//! The question is one line, `stop|start PROGRAM [NODE]`; the answer is `ok` or the reason why not,
//! until the end of the connection.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::host::component::{Component, ComponentError, ComponentName};
use crate::testbed::progress::with_causes;

/// The hidden subcommand that [`ask`] is for.
pub const ROLE: &str = "internal-component";

const OK: &str = "ok";

/// Why a program was not stopped or started.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The question is not one.
    #[error("usage: component stop|start NAME [NODE]")]
    Usage,
    /// There is no such program.
    #[error("there is no {name}; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: ComponentName,
        /// What there is.
        known: String,
    },
    /// It did not stop or start.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// The test bed does not answer.
    #[error("cannot reach the test bed at {0}")]
    Connection(PathBuf, #[source] io::Error),
    /// The test bed answered with a reason.
    #[error("{0}")]
    Refused(String),
}

/// Every program of a test bed, shared with the threads that start them.
#[derive(Debug, Default)]
pub struct Components {
    known: Mutex<BTreeMap<ComponentName, Arc<Component>>>,
}

impl Components {
    /// Adds a program and starts it.
    ///
    /// # Errors
    /// When it does not start.
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

    /// Does what one line asks for.
    fn obey(&self, line: &str) -> Result<(), ControlError> {
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

/// Answers questions on the socket at `path` for as long as the test bed lives.
///
/// # Errors
/// When the socket cannot be made.
pub fn serve(path: &Path, components: Arc<Components>) -> io::Result<()> {
    let listener = UnixListener::bind(path)?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let components = Arc::clone(&components);
            thread::spawn(move || answer(stream, &components));
        }
    });
    Ok(())
}

fn answer(mut stream: UnixStream, components: &Components) {
    let mut line = String::new();
    if BufReader::new(&stream).read_line(&mut line).is_err() {
        return;
    }
    let answer = match components.obey(&line) {
        Ok(()) => OK.to_owned(),
        Err(error) => with_causes(&error),
    };
    // The one who asked may have gone.
    let _ = stream.write_all(answer.as_bytes());
}

/// Asks the test bed at the socket `path`, as the user's `component` does.
///
/// # Errors
/// When the test bed does not answer or says no.
pub fn ask(path: &Path, words: &[String]) -> Result<(), ControlError> {
    let failed = |source| ControlError::Connection(path.to_owned(), source);
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    stream.write_all(format!("{}\n", words.join(" ")).as_bytes()).map_err(failed)?;
    stream.shutdown(Shutdown::Write).map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    if answer == OK { Ok(()) } else { Err(ControlError::Refused(answer)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn sleeper(logs: &Path) -> Arc<Component> {
        let launch = || {
            let mut command = Command::new("sleep");
            command.arg("1000");
            command
        };
        Arc::new(Component::new(ComponentName::on("node-a", "kubelet"), logs, launch, || true))
    }

    #[test]
    fn stops_and_starts_what_it_knows() {
        let folder = tempfile::tempdir().unwrap();
        let components = Arc::new(Components::default());
        components.start(&sleeper(folder.path())).unwrap();
        let socket = folder.path().join("control.sock");
        serve(&socket, Arc::clone(&components)).unwrap();
        let ask = |line: &str| ask(&socket, &line.split(' ').map(str::to_owned).collect::<Vec<_>>());

        let refused = ask("start kubelet node-a").unwrap_err().to_string();
        assert_eq!(refused, "kubelet on node-a is running already");
        ask("stop kubelet node-a").unwrap();
        ask("start kubelet node-a").unwrap();
        let unknown = ask("stop kubelet node-b").unwrap_err().to_string();
        assert_eq!(unknown, "there is no kubelet on node-b; there are: kubelet on node-a");
        let usage = ask("pause kubelet node-a").unwrap_err().to_string();
        assert!(usage.starts_with("usage:"), "{usage}");
        ask("stop kubelet node-a").unwrap();
    }
}
