//! What was built for a target of rustc.

use std::path::PathBuf;
use std::str::FromStr;

/// A system and an architecture, as Go, OCI and krew name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// `linux`, `darwin` or `windows`.
    pub system: &'static str,
    /// `amd64` or `arm64`.
    pub architecture: &'static str,
}

impl Target {
    /// That of the nodes whose architecture this machine has.
    #[must_use]
    pub fn node() -> Self {
        Self { system: "linux", architecture: if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" } }
    }

    fn parse(name: &str) -> Option<Self> {
        let architecture = match name.split('-').next()? {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            _ => return None,
        };
        let system = match name {
            _ if name.contains("-linux-") => "linux",
            _ if name.ends_with("-apple-darwin") => "darwin",
            _ if name.contains("-windows-") => "windows",
            _ => return None,
        };
        Some(Self { system, architecture })
    }
}

/// A program for a target, or a folder of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// What it runs on.
    pub target: Target,
    /// Where it is.
    pub path: PathBuf,
}

/// No name of a file follows from it.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not TARGET=PATH with a target of Linux, macOS or Windows on amd64 or arm64")]
pub struct UnknownTarget(String);

impl FromStr for Built {
    type Err = UnknownTarget;

    /// From `aarch64-apple-darwin=PATH`.
    fn from_str(text: &str) -> Result<Self, UnknownTarget> {
        let parts = text.split_once('=').and_then(|(name, path)| Some((Target::parse(name)?, path)));
        let (target, path) = parts.ok_or_else(|| UnknownTarget(text.to_owned()))?;
        Ok(Self { target, path: path.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_the_names_that_go_gives_them() {
        let names = |target: &str| {
            let built = format!("{target}=x").parse::<Built>().ok()?;
            Some((built.target.system, built.target.architecture))
        };
        assert_eq!(names("x86_64-unknown-linux-gnu"), Some(("linux", "amd64")));
        assert_eq!(names("aarch64-unknown-linux-musl"), Some(("linux", "arm64")));
        assert_eq!(names("aarch64-apple-darwin"), Some(("darwin", "arm64")));
        assert_eq!(names("x86_64-pc-windows-gnu"), Some(("windows", "amd64")));
        assert_eq!(names("wasm32-unknown-unknown"), None);
        assert_eq!(names("riscv64gc-unknown-linux-gnu"), None);
    }
}
