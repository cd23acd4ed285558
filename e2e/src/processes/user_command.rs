//! The command that runs in the test bed, and the programs on its PATH.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::engines::vpp_program::VppProgram;
use crate::host::requirements;
use crate::kubernetes::audit;
use crate::kubernetes::kubectl;
use crate::processes::control;
use crate::testbed::folder::TestbedFolder;
use crate::testbed::settings::Settings;

#[derive(Debug, thiserror::Error)]
pub enum UserCommandError {
    #[error("cannot create {0}")]
    Program(PathBuf, #[source] io::Error),
    #[error("cannot run {0}")]
    Start(String, #[source] io::Error),
}

/// Creates `kubectl` with its plugin `usnet`, `on-node`, `on-fabric` and `component`.
pub fn prepare(folder: &TestbedFolder, settings: &Settings) -> Result<(), UserCommandError> {
    let programs = folder.programs();
    fs::create_dir_all(&programs).map_err(|source| UserCommandError::Program(programs.clone(), source))?;
    let kubectl = requirements::find_in(&settings.tools, "kubectl").unwrap_or_default();
    // The name is that of Debian's alternatives: the tools of Open vSwitch find the process by it.
    let vppctl = settings.vpp.as_ref().and_then(VppProgram::vppctl).map(|vppctl| ("vppctl", vppctl));
    let plugin = settings.binaries.as_ref().map(|binaries| ("kubectl-usnet", kubectl_plugin(binaries)));
    let always = [("kubectl", kubectl), ("ovs-vswitchd", PathBuf::from(requirements::VSWITCHD))];
    for (name, program) in always.into_iter().chain(vppctl).chain(plugin) {
        let link = programs.join(name);
        symlink(program, &link).map_err(|source| UserCommandError::Program(link, source))?;
    }
    let testbed = std::env::current_exe().map_err(|source| UserCommandError::Program(programs.clone(), source))?;
    script(&programs.join("on-node"), &on_node(folder))?;
    script(&programs.join("on-fabric"), &on_fabric(folder))?;
    script(&programs.join("component"), &component(folder, &testbed))
}

/// Returns the plugin, which is part of `usnet` in earlier versions, from which upgrades are
/// tested.
fn kubectl_plugin(binaries: &Path) -> PathBuf {
    let own = binaries.join("kubectl-usnet");
    if own.exists() { own } else { binaries.join("usnet") }
}

/// Runs the user's command with the terminal of the user, and returns its exit status.
pub fn run(folder: &TestbedFolder, settings: &Settings) -> Result<u8, UserCommandError> {
    let mut words = settings.command.iter();
    let program = words.next().cloned().unwrap_or_default();
    let status = Command::new(&program)
        .args(words)
        .env("KUBECONFIG", folder.kubeconfig())
        .env("KUBECACHEDIR", kubectl::cache_folder(folder))
        .env("USNET_WORLD", folder.root())
        .env(audit::VARIABLE, folder.audit_log())
        .envs(settings.vpp.as_ref().map(|vpp| ("USNET_WORLD_VPP", vpp.kind())))
        .status()
        .map_err(|source| UserCommandError::Start(program, source))?;
    Ok(exit_code(status))
}

/// Returns the exit code as shells do: 128 plus the number of the signal that ended the command.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

fn on_node(folder: &TestbedFolder) -> String {
    let nodes = quoted(&folder.root().join("nodes"));
    format!(
        "#!/bin/sh\n\
         # Runs a command in the namespaces of a node: on-node NODE COMMAND...\n\
         [ $# -ge 2 ] || {{ echo 'usage: on-node NODE COMMAND...' >&2; exit 2; }}\n\
         nodes={nodes}\n\
         [ -r \"$nodes/$1/pid\" ] || {{ echo \"on-node: there is no node $1; there are:\" $(ls \"$nodes\") >&2; exit 2; }}\n\
         pid=$(cat \"$nodes/$1/pid\")\n\
         shift\n\
         exec nsenter --net --mount --uts --target \"$pid\" --wdns=\"$PWD\" -- \"$@\"\n"
    )
}

fn on_fabric(folder: &TestbedFolder) -> String {
    format!(
        "#!/bin/sh\n\
         # Runs a command on a host outside of the cluster, whose NIC fab is on the nodes' second network: on-fabric COMMAND...\n\
         [ $# -ge 1 ] || {{ echo 'usage: on-fabric COMMAND...' >&2; exit 2; }}\n\
         exec nsenter --net={} -- \"$@\"\n",
        quoted(&folder.outside()),
    )
}

fn component(folder: &TestbedFolder, testbed: &Path) -> String {
    format!(
        "#!/bin/sh\n\
         # Stops (SIGKILL) or starts a program of the test bed, and waits until that is done: component stop|start NAME [NODE]\n\
         exec {} {} {} \"$@\"\n",
        quoted(testbed),
        control::ROLE,
        quoted(folder.root()),
    )
}

/// Quotes a path for a shell script.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

fn script(path: &Path, text: &str) -> Result<(), UserCommandError> {
    fs::write(path, text)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o755)))
        .map_err(|source| UserCommandError::Program(path.to_owned(), source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_part_of_the_exit_code() {
        assert_eq!(exit_code(ExitStatus::from_raw(9)), 137);
        assert_eq!(exit_code(ExitStatus::from_raw(3 << 8)), 3);
    }

    #[test]
    fn a_quote_in_a_path_is_escaped() {
        assert_eq!(quoted(Path::new("/tmp/it's")), r"'/tmp/it'\''s'");
    }
}
