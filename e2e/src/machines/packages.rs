//! QEMU and the kernel of machines, in the folders that `e2e/tools/machines` prints.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use super::model::NicModel;
use crate::host::requirements;

/// The variables that `e2e/tools/machines` sets.
const QEMU_VARIABLE: &str = "USNET_MACHINE_QEMU";
const KERNEL_VARIABLE: &str = "USNET_MACHINE_KERNEL";

const PROGRAM: &str = "qemu-system-x86_64";

/// What is needed to start machines.
#[derive(Debug, Clone)]
pub struct Packages {
    /// The unpacked packages; none if QEMU is the one of this machine.
    qemu: Option<PathBuf>,
    kernel: PathBuf,
}

impl Packages {
    /// Finds the folders. The error says what is missing.
    pub fn find() -> Result<Self, String> {
        let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let kernel = folder(KERNEL_VARIABLE);
        let kernel = kernel.ok_or("there is no kernel for machines: `eval $(e2e/tools/machines)` gets one")?;
        let qemu = folder(QEMU_VARIABLE);
        if qemu.is_none() && requirements::find_program(PROGRAM).is_none() {
            return Err(format!("there is no {PROGRAM}: `e2e/scripts/setup` installs it"));
        }
        Ok(Self { qemu, kernel })
    }

    /// Whether machines can have such NICs. The error says why not.
    pub fn check(&self, model: NicModel) -> Result<(), String> {
        match self.qemu {
            None if model != NicModel::Virtio => {
                Err(format!("no QEMU of Debian's backports, without which there is no {model}"))
            }
            _ => Ok(()),
        }
    }

    /// QEMU, with its firmware and modules. It is killed when the thread that starts it ends.
    pub(super) fn qemu(&self) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        match &self.qemu {
            None => {
                command.arg(PROGRAM);
            }
            Some(folder) => {
                let below = |path: &str| folder.join("usr").join(path);
                command.env("LD_LIBRARY_PATH", below("lib/x86_64-linux-gnu")).arg(below("bin").join(PROGRAM));
                for firmware in ["share/qemu", "share/seabios"] {
                    command.arg("-L").arg(below(firmware));
                }
            }
        }
        command
    }

    pub(super) fn kernel(&self) -> PathBuf {
        self.kernel.join("vmlinuz")
    }

    /// The folder that has a folder of modules for the version of the kernel.
    pub(super) fn modules(&self) -> PathBuf {
        self.kernel.join("modules")
    }

    /// The list of the modules with which a machine gets its root: paths below the folder of the
    /// version, each after those that it needs.
    pub(super) fn early_modules(&self) -> PathBuf {
        self.kernel.join("early")
    }

    /// The folder of this kernel's version, which is the only one.
    pub(super) fn version_folder(&self) -> std::io::Result<PathBuf> {
        let first = std::fs::read_dir(self.modules())?.next();
        first.map_or_else(|| Err(std::io::ErrorKind::NotFound.into()), |entry| Ok(entry?.path()))
    }
}
