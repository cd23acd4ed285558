//! One node: a process that holds its namespaces, and commands that run in them.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::host::command;
use crate::host::namespaces::{self, NamespaceError};
use crate::testbed::folder::TestbedFolder;
use crate::testbed::settings::Settings;

/// The hidden subcommand that [`hold`] is for.
pub const ROLE: &str = "internal-node";

/// What a holder says when its namespaces are ready.
const READY: &str = "ready";

/// Why a node could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The process that holds its namespaces did not start; its own message is above.
    #[error("cannot make the namespaces of {0}")]
    Holder(String, #[source] io::Error),
    /// A file of the node cannot be written.
    #[error("cannot write {path} on {node}")]
    Write {
        /// The node.
        node: String,
        /// The path as the node sees it.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// A node whose namespaces exist.
#[derive(Debug)]
pub struct Node {
    name: String,
    index: u8,
    /// Ends when its standard input, which this value holds open, ends.
    holder: Child,
    temporary: PathBuf,
}

impl Node {
    /// Makes the namespaces of the node `name`, counted from 0 by `index`.
    ///
    /// # Errors
    /// When the holder does not start.
    pub fn create(folder: &TestbedFolder, settings: &Settings, name: &str, index: u8) -> Result<Self, NodeError> {
        let failed = |source| NodeError::Holder(name.to_owned(), source);
        let mut holder = start_holder(folder, settings, name).map_err(failed)?;
        let mut answer = String::new();
        if let Some(output) = holder.stdout.take() {
            BufReader::new(output).read_line(&mut answer).map_err(failed)?;
        }
        if answer.trim() != READY {
            return Err(failed(io::ErrorKind::UnexpectedEof.into()));
        }
        let node = Self { name: name.to_owned(), index, holder, temporary: folder.temporary() };
        fs::write(folder.node(name).join("pid"), node.process().to_string()).map_err(failed)?;
        Ok(node)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its number, from 0.
    #[must_use]
    pub fn index(&self) -> u8 {
        self.index
    }

    /// The process that holds its namespaces.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.holder.id()
    }

    /// A path of the node as seen from outside.
    #[must_use]
    pub fn path(&self, standard: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{standard}", self.process()))
    }

    /// Gives functions that build a command in this node, for a component's launch.
    pub fn launcher(&self, program: &str, arguments: Vec<String>) -> impl Fn() -> Command + Send + Sync + use<> {
        let (process, program, temporary) = (self.process(), program.to_owned(), self.temporary.clone());
        move || {
            let mut command = enter(process, &program);
            command.args(&arguments).env("TMPDIR", &temporary);
            command
        }
    }

    /// A command in this node.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = enter(self.process(), program);
        command.env("TMPDIR", &self.temporary);
        command
    }

    /// Writes a file of the node, with the folders above it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, standard: &str, content: &str) -> Result<(), NodeError> {
        let path = self.path(standard);
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, content))
            .map_err(|source| self.not_written(standard, source))
    }

    /// The error for a path of the node that could not be written.
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

/// The holder's own process: makes the namespaces and stays until its standard input ends.
///
/// # Errors
/// When the namespaces cannot be made.
pub fn hold(folder: &TestbedFolder, name: &str) -> Result<(), NamespaceError> {
    namespaces::enter_node(folder, name)?;
    // When the other side is gone, so is the test bed.
    let _ = io::Write::write_all(&mut io::stdout(), format!("{READY}\n").as_bytes());
    let _ = io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}
