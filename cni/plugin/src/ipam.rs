//! Addresses, from an IPAM plugin that the configuration names: it is called as the CNI specification has it ("plugin delegation").

mod process;

use crate::cni::environment::{Environment, EnvironmentError};
use crate::cni::result::Assignment;
use process::Finished;
use serde::Deserialize;
use serde_json::Value;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// How long an IPAM plugin may take. Some ask a server, and kubelet waits four minutes for all of a pod's networks.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// The name of a plugin is part of a path.
const NAME_MAX: usize = 63;

/// Why there are no addresses, or they could not be given back.
#[derive(Debug, thiserror::Error)]
pub enum IpamError {
    /// The configuration does not say which plugin.
    #[error("\"ipam\" has no valid \"type\": write the name of an IPAM plugin, for example host-local")]
    NoType,
    /// It is not known where plugins are.
    #[error("cannot look for IPAM plugin {0}")]
    NoFolders(String, #[source] EnvironmentError),
    /// The plugin is not installed.
    #[error("IPAM plugin {plugin} is not on this node: install it in one of {}", folders.join(", "))]
    NotInstalled {
        /// Its name.
        plugin: String,
        /// Where it was looked for.
        folders: Vec<String>,
    },
    /// The plugin could not be started.
    #[error("cannot run IPAM plugin {}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The plugin did not end.
    #[error("IPAM plugin {plugin} did not answer within {} s and was stopped", patience.as_secs())]
    TimedOut {
        /// Its name.
        plugin: String,
        /// How long it was waited for.
        patience: Duration,
    },
    /// The plugin refused, as the specification has it.
    #[error("IPAM plugin {plugin}: {msg}")]
    Refused {
        /// Its name.
        plugin: String,
        /// Its code.
        code: u32,
        /// Its message.
        msg: String,
        /// More of it.
        details: String,
    },
    /// The plugin failed and did not say why as the specification has it.
    #[error("IPAM plugin {plugin} failed ({status}): {output:?}")]
    Failed {
        /// Its name.
        plugin: String,
        /// How it ended.
        status: String,
        /// The end of what it wrote.
        output: String,
    },
    /// The plugin's answer is not a result.
    #[error("IPAM plugin {0} answered what is not a CNI result")]
    Undecodable(String, #[source] serde_json::Error),
    /// The plugin gave no address.
    #[error("IPAM plugin {0} gave no address")]
    NoAddress(String),
}

/// An IPAM plugin and what it is called with.
#[derive(Debug, Clone)]
pub struct Ipam<'a> {
    plugin: &'a str,
    program: PathBuf,
    configuration: &'a Value,
    environment: &'a Environment,
    patience: Duration,
}

impl<'a> Ipam<'a> {
    /// The plugin that `configuration`'s part `ipam` names.
    ///
    /// # Errors
    /// When it names none, or one that is not installed.
    pub fn find(configuration: &'a Value, environment: &'a Environment) -> Result<Self, IpamError> {
        let plugin = configuration.pointer("/ipam/type").and_then(Value::as_str);
        let plugin = plugin.filter(|name| is_plugin_name(name)).ok_or(IpamError::NoType)?;
        let folders = environment.plugin_folders();
        let folders = folders.map_err(|source| IpamError::NoFolders(plugin.to_owned(), source))?;
        let program = folders.iter().map(|folder| folder.join(plugin)).find(|program| program.is_file());
        let program = program.ok_or_else(|| IpamError::NotInstalled {
            plugin: plugin.to_owned(),
            folders: folders.iter().map(|folder| folder.display().to_string()).collect(),
        })?;
        Ok(Self { plugin, program, configuration, environment, patience: PATIENCE })
    }

    /// Takes addresses for the attachment that the environment names.
    ///
    /// # Errors
    /// When there are none. Whoever asked then releases, because the plugin may have taken some.
    pub fn assign(&self) -> Result<Assignment, IpamError> {
        let output = self.call("ADD")?;
        let assignment: Assignment =
            serde_json::from_slice(&output).map_err(|source| IpamError::Undecodable(self.plugin.to_owned(), source))?;
        if assignment.ips.is_empty() { Err(IpamError::NoAddress(self.plugin.to_owned())) } else { Ok(assignment) }
    }

    /// Gives back the addresses of the attachment that the environment names, if it has any.
    ///
    /// # Errors
    /// When the plugin says so.
    pub fn release(&self) -> Result<(), IpamError> {
        self.call("DEL").map(drop)
    }

    fn call(&self, verb: &str) -> Result<Vec<u8>, IpamError> {
        let input = self.configuration.to_string();
        let ended = process::run(&self.program, self.environment.for_delegate(verb), input.as_bytes(), self.patience);
        let ended = ended.map_err(|source| IpamError::Run { program: self.program.clone(), source })?;
        let Some(finished) = ended else {
            return Err(IpamError::TimedOut { plugin: self.plugin.to_owned(), patience: self.patience });
        };
        if finished.status.success() { Ok(finished.stdout) } else { Err(self.failure(&finished)) }
    }

    /// Its error is JSON on standard output, and free text elsewhere.
    fn failure(&self, finished: &Finished) -> IpamError {
        #[derive(Deserialize)]
        struct Reply {
            code: u32,
            #[serde(default)]
            msg: String,
            #[serde(default)]
            details: String,
        }
        let plugin = self.plugin.to_owned();
        match serde_json::from_slice(&finished.stdout) {
            Ok(Reply { code, msg, details }) => IpamError::Refused { plugin, code, msg, details },
            Err(_) => IpamError::Failed { plugin, status: finished.status.to_string(), output: finished.last_words() },
        }
    }
}

/// A plugin is found in folders of plugins and nowhere else.
fn is_plugin_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(allowed) && !name.starts_with('.')
}

#[cfg(test)]
mod tests;
