//! One node: a process that holds its namespaces, and commands that run in them.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::host::command;
use crate::host::namespaces::{self, NamespaceError};
use crate::testbed::folder::TestbedFolder;
use crate::testbed::settings::Settings;

/// The hidden subcommand of [`hold`].
pub const ROLE: &str = "internal-node";

/// The output of a holder when its namespaces are ready.
const READY: &str = "ready";

#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("cannot create the namespaces of {0}; the message of its process is above")]
    Holder(String, #[source] io::Error),
    #[error("cannot write {path} on {node}")]
    Write {
        node: String,
        /// The path on the node.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// A node whose namespaces exist.
#[derive(Debug)]
pub struct Node {
    name: String,
    index: u8,
    /// The process exits when its standard input, which this value keeps open, is closed.
    holder: Child,
    temporary: PathBuf,
}

impl Node {
    /// Creates the namespaces of the node `name`; `index` counts from 0.
    pub fn create(folder: &TestbedFolder, settings: &Settings, name: &str, index: u8) -> Result<Self, NodeError> {
        let failed = |source| NodeError::Holder(name.to_owned(), source);
        let mut holder = start_holder(folder, settings, name).map_err(failed)?;
        let mut line = String::new();
        if let Some(output) = holder.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(failed)?;
        }
        if line.trim() != READY {
            return Err(failed(io::ErrorKind::UnexpectedEof.into()));
        }
        let node = Self { name: name.to_owned(), index, holder, temporary: folder.temporary() };
        fs::write(folder.node(name).join("pid"), node.process().to_string()).map_err(failed)?;
        Ok(node)
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn index(&self) -> u8 {
        self.index
    }

    /// Returns the process that holds the namespaces.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.holder.id()
    }

    /// Returns a path of the node as seen from outside.
    #[must_use]
    pub fn path(&self, standard: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{standard}", self.process()))
    }

    /// Returns a function that builds a command on this node, for the launch of a component.
    pub fn launcher(&self, program: &str, arguments: Vec<String>) -> impl Fn() -> Command + Send + Sync + use<> {
        let (process, program, temporary) = (self.process(), program.to_owned(), self.temporary.clone());
        move || {
            let mut command = enter(process, &program);
            command.args(&arguments).env("TMPDIR", &temporary);
            command
        }
    }

    /// Returns a command on this node.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = enter(self.process(), program);
        command.env("TMPDIR", &self.temporary);
        command
    }

    /// Writes a file of the node, and creates its folder.
    pub fn write(&self, standard: &str, content: &str) -> Result<(), NodeError> {
        let path = self.path(standard);
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, content))
            .map_err(|source| self.not_written(standard, source))
    }

    /// Returns the error for a path of the node that could not be written.
    pub(crate) fn not_written(&self, standard: &str, source: io::Error) -> NodeError {
        NodeError::Write { node: self.name.clone(), path: Path::new(standard).to_owned(), source }
    }
}

fn start_holder(folder: &TestbedFolder, settings: &Settings, name: &str) -> io::Result<Child> {
    command::this_program()?
        .arg(ROLE)
        .arg(folder.root())
        .arg(name)
        .env("PATH", settings.program_path(folder))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
}

fn enter(process: u32, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["--net", "--mount", "--uts", "--target", &process.to_string(), "--", program]);
    command
}

/// Runs the holder: creates the namespaces and waits for the end of its standard input.
pub fn hold(folder: &TestbedFolder, name: &str) -> Result<(), NamespaceError> {
    namespaces::enter_node(folder, name)?;
    // Errors do not matter: without the other side there is no test bed.
    let _ = io::Write::write_all(&mut io::stdout(), format!("{READY}\n").as_bytes());
    let _ = io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}
