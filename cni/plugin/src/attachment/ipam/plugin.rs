//! The call of an IPAM plugin with each verb.

use super::error::IpamError;
use super::process::{Output, Program};
use crate::attachment::request::{host_local, static_ips};
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

/// The timeout of an IPAM plugin. Some plugins contact a server and need seconds, so that a shorter
/// timeout would kill them in the middle. kubelet waits four minutes for all networks of a pod,
/// which must suffice for the timeout of several networks and their rollback.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum length of a plugin's name, which is part of a path. All known plugins have much
/// shorter names.
const NAME_MAX: usize = 63;

/// The text of host-local when a requested address is in no range.
const NOT_IN_RANGES: &str = "failed to allocate all requested IPs";

/// An IPAM plugin and the parameters of its calls.
#[derive(Debug, Clone)]
pub struct IpamPlugin<'a> {
    plugin: &'a str,
    program: PathBuf,
    configuration: &'a Value,
    environment: &'a Environment,
    pub(super) timeout: Duration,
    inherited: Option<BorrowedFd<'a>>,
}

impl<'a> IpamPlugin<'a> {
    /// Finds the program of the plugin that `configuration` names in `ipam`.
    pub fn find(configuration: &'a Value, environment: &'a Environment) -> Result<Self, IpamError> {
        let plugin = configuration.pointer("/ipam/type").and_then(Value::as_str);
        let plugin = plugin.filter(|name| is_plugin_name(name)).ok_or(IpamError::NoType)?;
        if plugin == PLUGIN {
            return Err(IpamError::IsThisPlugin(plugin.to_owned()));
        }
        if !environment.allows_ipam_plugin(plugin) {
            return Err(IpamError::NotAllowedByService(plugin.to_owned()));
        }
        let folders = environment.plugin_folders();
        let folders = folders.map_err(|source| IpamError::NoSearchPath(plugin.to_owned(), source))?;
        let program = folders.iter().map(|folder| folder.join(plugin)).find(|program| program.is_file());
        let program = program.ok_or_else(|| IpamError::NotInstalled {
            plugin: plugin.to_owned(),
            folders: folders.iter().map(|folder| folder.display().to_string()).collect(),
        })?;
        if is_this_program(&program) {
            return Err(IpamError::IsThisPlugin(plugin.to_owned()));
        }
        Ok(Self { plugin, program, configuration, environment, timeout: TIMEOUT, inherited: None })
    }

    /// Has the plugin's process inherit the attachment's lock: if this process is killed, a
    /// concurrent DEL releases the address only after the plugin has assigned it.
    pub fn holding_lock(self, locked: &'a LockedAttachment) -> Self {
        Self { inherited: Some(locked.as_fd()), ..self }
    }

    pub fn name(&self) -> &str {
        self.plugin
    }

    /// Assigns addresses to the attachment of the environment. If it fails, the caller has to
    /// release them: the plugin may have assigned some.
    pub fn assign(&self) -> Result<Assignment, IpamError> {
        let output = self.call("ADD").map_err(|error| self.add_ranges(error))?;
        let assignment: Assignment =
            serde_json::from_slice(&output).map_err(|source| IpamError::Undecodable(self.plugin.to_owned(), source))?;
        if assignment.ips.is_empty() { Err(IpamError::NoAddress(self.plugin.to_owned())) } else { Ok(assignment) }
    }

    /// Adds the addresses that host-local assigns to its error about others, which lacks them.
    fn add_ranges(&self, error: IpamError) -> IpamError {
        match error {
            IpamError::Rejected { plugin, code, msg, details } if msg.contains(NOT_IN_RANGES) => {
                let assigned = self.configuration.get("ipam").and_then(host_local::assigned);
                let advice = assigned.map(|assigned| {
                    format!(
                        " (this node assigns {assigned}, of which some may be taken: request another address, or none)"
                    )
                });
                IpamError::Rejected { plugin, code, msg: msg + &advice.unwrap_or_default(), details }
            }
            other => other,
        }
    }

    /// Assigns static addresses, which are in the configuration. The plugin may ignore them and
    /// assign others, which is an error.
    pub fn assign_static(&self, ips: &[InterfaceAddress]) -> Result<Assignment, IpamError> {
        let assignment = self.assign().map_err(|source| Self::add_static_ip_advice(ips, source))?;
        match static_ips::first_unassigned(ips, &assignment) {
            None => Ok(assignment),
            Some(address) => Err(IpamError::StaticIpNotAssigned { plugin: self.plugin.to_owned(), address }),
        }
    }

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
    pub fn release(&self) -> Result<(), IpamError> {
        self.call("DEL").map(drop)
    }

    /// Checks that the plugin still holds the addresses of the attachment, and that the ADD result
    /// has them.
    pub fn check(&self, previous: &Value) -> Result<(), IpamError> {
        let mut configuration = self.configuration.clone();
        if let Some(parts) = configuration.as_object_mut() {
            parts.insert("prevResult".to_owned(), previous.clone());
        }
        self.call_with("CHECK", &configuration).map(drop)
    }

    /// Checks that the plugin can assign addresses. A plugin that does not support STATUS passes.
    pub fn status(&self) -> Result<(), IpamError> {
        self.call("STATUS").map(drop).or_else(ignore_unknown_verb)
    }

    /// Delegates GC to the plugin. A plugin that does not support GC keeps its addresses.
    pub fn collect_garbage(&self) -> Result<(), IpamError> {
        self.call("GC").map(drop).or_else(ignore_unknown_verb)
    }

    fn call(&self, verb: &str) -> Result<Vec<u8>, IpamError> {
        self.call_with(verb, self.configuration)
    }

    fn call_with(&self, verb: &str, configuration: &Value) -> Result<Vec<u8>, IpamError> {
        let input = configuration.to_string();
        let program =
            Program { path: &self.program, input: input.as_bytes(), inherited: self.inherited, timeout: self.timeout };
        let output = program.run(self.environment.for_delegate(verb));
        let output = output.map_err(|source| IpamError::Run { program: self.program.clone(), source })?;
        let Some(output) = output else {
            return Err(IpamError::TimedOut { plugin: self.plugin.to_owned(), timeout: self.timeout });
        };
        if output.status.success() { Ok(output.stdout) } else { Err(self.failure(&output)) }
    }

    /// The error of the plugin, which is JSON on standard output or free text.
    fn failure(&self, output: &Output) -> IpamError {
        #[derive(Deserialize)]
        struct Reply {
            code: u32,
            #[serde(default)]
            msg: String,
            #[serde(default)]
            details: String,
        }
        let plugin = self.plugin.to_owned();
        match serde_json::from_slice(&output.stdout) {
            Ok(Reply { code, msg, details }) => IpamError::Rejected { plugin, code, msg, details },
            Err(_) => IpamError::Failed { plugin, status: output.status.to_string(), output: output.tail() },
        }
    }
}

/// Whether a program is this one under another name.
fn is_this_program(program: &Path) -> bool {
    let file = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    file(program).is_some_and(|found| Some(found) == file(Path::new("/proc/self/exe")))
}

/// Ignores that a plugin does not know a verb. Plugins before version 1.1.0 reject STATUS and GC
/// with the code of an invalid variable.
fn ignore_unknown_verb(error: IpamError) -> Result<(), IpamError> {
    match error {
        IpamError::Rejected { code, .. } if code == ErrorCode::InvalidEnvironment.number() => Ok(()),
        other => Err(other),
    }
}

/// Whether a name stays in the folders of plugins when it is appended to their paths.
fn is_plugin_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(allowed) && !name.starts_with('.')
}
