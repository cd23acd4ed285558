//! Whether an image has what an engine needs: run in a pod of the engine with the new image, before
//! the engine is restarted with it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use usnet_crds::EngineKind;

/// Why an image is not suitable.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Settings(#[from] crate::settings::Error),
    #[error("the image has no program {0}: correct spec.image")]
    NoProgram(&'static str),
    #[error("the image has a program {program} that cannot be run: {why}: correct spec.image")]
    Unusable { program: &'static str, why: String },
    #[error("ovs-vswitchd of the image was built without DPDK ({0}): correct spec.image")]
    WithoutDpdk(String),
}

/// Checks the image that this process runs in.
///
/// # Errors
/// It lacks a program of the engine; the text says which.
pub fn check(options: &super::Options) -> Result<String, Error> {
    let (_, valid) = options.read()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    match valid.engine {
        EngineKind::OpenVswitch => open_vswitch(&folders),
        // It has no option that ends it at once.
        EngineKind::Vpp => find("vpp", &folders).map(|program| program.display().to_string()),
    }
}

fn open_vswitch(folders: &[PathBuf]) -> Result<String, Error> {
    for program in ["ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-appctl"] {
        version(program, folders)?;
    }
    let said = version("ovs-vswitchd", folders)?;
    if said.contains("DPDK") { Ok(said) } else { Err(Error::WithoutDpdk(said)) }
}

/// What a program says of its version.
fn version(program: &'static str, folders: &[PathBuf]) -> Result<String, Error> {
    let unusable = |why: String| Error::Unusable { program, why };
    let path = find(program, folders)?;
    let output = Command::new(path).arg("--version").stdin(Stdio::null()).output();
    let Output { status, stdout, stderr } = output.map_err(|error| unusable(error.to_string()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().replace('\n', ", ");
    if status.success() { Ok(text(&stdout)) } else { Err(unusable(format!("{status}: {}", text(&stderr)))) }
}

fn find(program: &'static str, folders: &[PathBuf]) -> Result<PathBuf, Error> {
    let found = folders.iter().map(|folder| folder.join(program)).find(|path| is_file(path));
    found.ok_or(Error::NoProgram(program))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn each_program_has_to_run_and_the_switch_to_have_dpdk() {
        let folder = tempfile::tempdir().unwrap();
        let folders = [folder.path().to_owned()];
        let write = |program: &str, script: &str| {
            let path = folder.path().join(program);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        let refused = || open_vswitch(&folders).unwrap_err().to_string();
        assert!(refused().contains("no program ovsdb-server"), "{}", refused());
        for program in ["ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-appctl"] {
            write(program, "echo 3.1.0");
        }
        write("ovs-vswitchd", "echo no libdpdk.so >&2; exit 127");
        assert!(refused().contains("no libdpdk.so"), "{}", refused());
        write("ovs-vswitchd", "echo '3.1.0'");
        assert!(refused().contains("without DPDK (3.1.0)"), "{}", refused());
        write("ovs-vswitchd", "echo '3.1.0'; echo 'DPDK 22.11.11'");
        assert_eq!(open_vswitch(&folders).unwrap(), "3.1.0, DPDK 22.11.11");
    }
}
