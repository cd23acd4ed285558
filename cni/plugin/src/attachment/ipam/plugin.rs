//! One IPAM plugin and its verbs.

use super::error::IpamError;
use super::process::{Finished, Run};
use crate::attachment::request::static_ips;
use crate::protocol::environment::Environment;
use crate::protocol::error::ErrorCode;
use crate::protocol::result::Assignment;
use serde::Deserialize;
use serde_json::Value;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use usnet_crds::InterfaceAddress;
use usnet_crds::legacy::PLUGIN;
use usnet_dataplane::journal::LockedAttachment;

/// The timeout of an IPAM plugin. Some contact a server and need seconds, so that a shorter one
/// would kill them in the middle. kubelet waits four minutes for all networks of a pod, which must
/// suffice for the timeout of several networks and their rollback.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// The name of a plugin is part of a path; all that exist are much shorter.
const NAME_MAX: usize = 63;

/// Whether the IPAM plugin sends requests over the pod's interface, which has to exist in the
/// kernel: CNI's `dhcp`.
pub fn needs_interface(configuration: &Value) -> bool {
    configuration.pointer("/ipam/type").and_then(Value::as_str) == Some("dhcp")
}

/// An IPAM plugin and the parameters of its call.
#[derive(Debug, Clone)]
pub struct Ipam<'a> {
    plugin: &'a str,
    program: PathBuf,
    configuration: &'a Value,
    environment: &'a Environment,
    pub(super) timeout: Duration,
    inherited: Option<BorrowedFd<'a>>,
}

impl<'a> Ipam<'a> {
    /// The plugin that `configuration`'s part `ipam` names.
    ///
    /// # Errors
    /// When it names none, or one that is not installed.
    pub fn find(configuration: &'a Value, environment: &'a Environment) -> Result<Self, IpamError> {
        let plugin = configuration.pointer("/ipam/type").and_then(Value::as_str);
        let plugin = plugin.filter(|name| is_plugin_name(name)).ok_or(IpamError::NoType)?;
        if plugin == PLUGIN {
            return Err(IpamError::OwnPlugin(plugin.to_owned()));
        }
        if !environment.allows_ipam_plugin(plugin) {
            return Err(IpamError::NotOfService(plugin.to_owned()));
        }
        let folders = environment.plugin_folders();
        let folders = folders.map_err(|source| IpamError::NoFolders(plugin.to_owned(), source))?;
        let program = folders.iter().map(|folder| folder.join(plugin)).find(|program| program.is_file());
        let program = program.ok_or_else(|| IpamError::NotInstalled {
            plugin: plugin.to_owned(),
            folders: folders.iter().map(|folder| folder.display().to_string()).collect(),
        })?;
        if is_this_program(&program) {
            return Err(IpamError::OwnPlugin(plugin.to_owned()));
        }
        Ok(Self { plugin, program, configuration, environment, timeout: TIMEOUT, inherited: None })
    }

    /// The same, with the attachment's lock inherited by the plugin's process: if this process is
    /// killed, a concurrent DEL releases only after the plugin has assigned.
    pub fn holding_lock(self, locked: &'a LockedAttachment) -> Self {
        Self { inherited: Some(locked.as_fd()), ..self }
    }

    /// The plugin's name.
    pub fn name(&self) -> &str {
        self.plugin
    }

    /// Assigns addresses to the attachment of the environment.
    ///
    /// # Errors
    /// When there are none. The caller then releases, because the plugin may have assigned some.
    pub fn assign(&self) -> Result<Assignment, IpamError> {
        let output = self.call("ADD")?;
        let assignment: Assignment =
            serde_json::from_slice(&output).map_err(|source| IpamError::Undecodable(self.plugin.to_owned(), source))?;
        if assignment.ips.is_empty() { Err(IpamError::NoAddress(self.plugin.to_owned())) } else { Ok(assignment) }
    }

    /// The same, for requested static addresses.
    ///
    /// # Errors
    /// As [`assign`](Self::assign), and when the plugin assigned others.
    pub fn assign_static(&self, ips: &[InterfaceAddress]) -> Result<Assignment, IpamError> {
        let assignment = self.assign().map_err(|source| Self::add_static_ip_advice(ips, source))?;
        match static_ips::missing(ips, &assignment) {
            None => Ok(assignment),
            Some(address) => Err(IpamError::StaticIpNotAssigned { plugin: self.plugin.to_owned(), address }),
        }
    }

    /// Adds advice about static addresses to the plugin's error.
    fn add_static_ip_advice(ips: &[InterfaceAddress], error: IpamError) -> IpamError {
        match error {
            IpamError::Rejected { plugin, code, msg, details } => {
                let ips: Vec<String> = ips.iter().map(ToString::to_string).collect();
                let advice = "spec.attachments of the network reserves them for this pod; they must be in the plugin's ranges and not be assigned to another pod";
                IpamError::Rejected {
                    plugin,
                    code,
                    msg: format!("{msg} (requested {}: {advice})", ips.join(", ")),
                    details,
                }
            }
            other => other,
        }
    }

    /// Releases the addresses of the attachment of the environment, if it has any.
    ///
    /// # Errors
    /// When the plugin fails.
    pub fn release(&self) -> Result<(), IpamError> {
        self.call("DEL").map(drop)
    }

    /// Checks that the plugin still holds the addresses of the attachment, and that the ADD result
    /// has them.
    ///
    /// # Errors
    /// When it does not.
    pub fn check(&self, previous: &Value) -> Result<(), IpamError> {
        let mut configuration = self.configuration.clone();
        if let Some(parts) = configuration.as_object_mut() {
            parts.insert("prevResult".to_owned(), previous.clone());
        }
        self.call_with("CHECK", &configuration).map(drop)
    }

    /// Checks whether the plugin can assign addresses. One that does not support STATUS is assumed
    /// to.
    ///
    /// # Errors
    /// When it cannot.
    pub fn status(&self) -> Result<(), IpamError> {
        self.call("STATUS").map(drop).or_else(ignore_unknown_verb)
    }

    /// Delegates GC to the plugin. One that does not support GC keeps its addresses.
    ///
    /// # Errors
    /// When the plugin fails.
    pub fn collect_garbage(&self) -> Result<(), IpamError> {
        self.call("GC").map(drop).or_else(ignore_unknown_verb)
    }

    fn call(&self, verb: &str) -> Result<Vec<u8>, IpamError> {
        self.call_with(verb, self.configuration)
    }

    fn call_with(&self, verb: &str, configuration: &Value) -> Result<Vec<u8>, IpamError> {
        let input = configuration.to_string();
        let run =
            Run { program: &self.program, input: input.as_bytes(), inherited: self.inherited, timeout: self.timeout };
        let ended = run.with(self.environment.for_delegate(verb));
        let ended = ended.map_err(|source| IpamError::Run { program: self.program.clone(), source })?;
        let Some(finished) = ended else {
            return Err(IpamError::TimedOut { plugin: self.plugin.to_owned(), timeout: self.timeout });
        };
        if finished.status.success() { Ok(finished.stdout) } else { Err(self.failure(&finished)) }
    }

    /// Its error is JSON on standard output or, otherwise, free text.
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
            Ok(Reply { code, msg, details }) => IpamError::Rejected { plugin, code, msg, details },
            Err(_) => IpamError::Failed { plugin, status: finished.status.to_string(), output: finished.output_tail() },
        }
    }
}

/// Whether a program is this one under another name.
fn is_this_program(program: &Path) -> bool {
    let file = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    file(program).is_some_and(|found| Some(found) == file(Path::new("/proc/self/exe")))
}

/// Plugins before version 1.1.0 reject its verbs with the code of an invalid variable.
fn ignore_unknown_verb(error: IpamError) -> Result<(), IpamError> {
    match error {
        IpamError::Rejected { code, .. } if code == ErrorCode::InvalidEnvironment.number() => Ok(()),
        other => Err(other),
    }
}

/// A plugin is found in folders of plugins and nowhere else.
fn is_plugin_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(allowed) && !name.starts_with('.')
}
