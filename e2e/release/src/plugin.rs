//! The plugin of kubectl, for the systems of users.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::tarball::{Tarball, TarballError};

/// The program, for one target of rustc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugin {
    system: &'static str,
    architecture: &'static str,
    program: PathBuf,
}

/// No name of a file follows from it.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not TARGET=FILE with a target of Linux, macOS or Windows on amd64 or arm64")]
pub struct UnknownTarget(String);

impl FromStr for Plugin {
    type Err = UnknownTarget;

    /// From `aarch64-apple-darwin=FILE`.
    fn from_str(text: &str) -> Result<Self, UnknownTarget> {
        let parse = || {
            let (target, program) = text.split_once('=')?;
            let architecture = match target.split('-').next()? {
                "x86_64" => "amd64",
                "aarch64" => "arm64",
                _ => return None,
            };
            let system = match target {
                _ if target.contains("-linux-") => "linux",
                _ if target.ends_with("-apple-darwin") => "darwin",
                _ if target.contains("-windows-") => "windows",
                _ => return None,
            };
            Some(Self { system, architecture, program: program.into() })
        };
        parse().ok_or_else(|| UnknownTarget(text.to_owned()))
    }
}

impl Plugin {
    /// Writes the tar file into a folder. `time`, in seconds since 1970, is that of its entries.
    ///
    /// # Errors
    /// When the program is missing or a file cannot be written.
    pub fn write(&self, folder: &Path, version: &str, license: &Path, time: u64) -> Result<(), TarballError> {
        let name = format!("kubectl-usnet-{version}-{}-{}.tar.gz", self.system, self.architecture);
        let path = folder.join(name);
        let top = PathBuf::from(format!("kubectl-usnet-{version}"));
        let mut tarball = Tarball::create(&path.with_extension("part"), time)?;
        if self.system == "windows" {
            tarball.program(&top.join("kubectl-usnet.exe"), &self.program)?;
        } else {
            tarball.program(&top.join("kubectl-usnet"), &self.program)?;
            // By this name kubectl asks what can be completed.
            tarball.link(&top.join("kubectl_complete-usnet"), Path::new("kubectl-usnet"))?;
        }
        tarball.file(&top.join("LICENSE"), license)?;
        tarball.finish_compressed(&path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_the_names_that_go_gives_them() {
        let names = |target: &str| format!("{target}=x").parse().map(|it: Plugin| (it.system, it.architecture)).ok();
        assert_eq!(names("x86_64-unknown-linux-gnu"), Some(("linux", "amd64")));
        assert_eq!(names("aarch64-unknown-linux-musl"), Some(("linux", "arm64")));
        assert_eq!(names("aarch64-apple-darwin"), Some(("darwin", "arm64")));
        assert_eq!(names("x86_64-pc-windows-gnu"), Some(("windows", "amd64")));
        assert_eq!(names("wasm32-unknown-unknown"), None);
        assert_eq!(names("riscv64gc-unknown-linux-gnu"), None);
    }
}
