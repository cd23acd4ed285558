//! The plugin of kubectl, for the systems of users: a tar file for each, and a manifest by which
//! krew, kubectl's manager of plugins, chooses one.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::tarball::{Tarball, TarballError};
use crate::target::{Built, Target};

/// The name of the tar file of a target.
fn file_name(target: Target, version: &str) -> String {
    format!("kubectl-usnet-{version}-{}-{}.tar.gz", target.system, target.architecture)
}

fn program_name(target: Target) -> &'static str {
    if target.system == "windows" { "kubectl-usnet.exe" } else { "kubectl-usnet" }
}

/// Writes the tar file of a target into a folder, and gives its path. `time`, in seconds since
/// 1970, is that of its entries. krew unpacks files and folders, and nothing else such as links.
///
/// # Errors
/// When the program is missing or a file cannot be written.
pub fn write(plugin: &Built, folder: &Path, version: &str, license: &Path, time: u64) -> Result<PathBuf, TarballError> {
    let path = folder.join(file_name(plugin.target, version));
    let top = top(version);
    let mut tarball = Tarball::create(&path.with_extension("part"), time)?;
    tarball.program(&top.join(program_name(plugin.target)), &plugin.path)?;
    tarball.file(&top.join("LICENSE"), license)?;
    tarball.finish_compressed(&path)?;
    Ok(path)
}

/// The folder in the tar file.
fn top(version: &str) -> PathBuf {
    PathBuf::from(format!("kubectl-usnet-{version}"))
}

/// The manifest for krew, of targets with the SHA-256 of their tar files. `url` is the folder in
/// which the files of the release are published.
#[must_use]
pub fn krew_manifest(plugins: &[(Target, String)], version: &str, url: &str) -> Value {
    let platform = |(target, sha256): &(Target, String)| {
        json!({
            "selector": {"matchLabels": {"os": target.system, "arch": target.architecture}},
            "uri": format!("{url}/{}", file_name(*target, version)),
            "sha256": sha256,
            "files": [{"from": format!("{}/*", top(version).display()), "to": "."}],
            "bin": program_name(*target),
        })
    };
    json!({
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "usnet"},
        "spec": {
            "version": format!("v{version}"),
            "homepage": url,
            "shortDescription": "Explain networks of DPDK and VPP pods",
            "description": "The state of the networks, nodes and pods of usnet, and why something does not work.\n",
            "platforms": plugins.iter().map(platform).collect::<Vec<_>>(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn krew_finds_the_program_of_a_system() {
        let target = |system| Target { system, architecture: "arm64" };
        let plugins = ["darwin", "windows"].map(|system| (target(system), format!("sum of {system}")));
        let manifest = krew_manifest(&plugins, "0.1.0", "https://usnet.example/0.1.0");
        assert_eq!(manifest["spec"]["version"], "v0.1.0");
        let [darwin, windows] = [0, 1].map(|index| &manifest["spec"]["platforms"][index]);
        assert_eq!(darwin["selector"]["matchLabels"], json!({"os": "darwin", "arch": "arm64"}));
        assert_eq!(darwin["uri"], "https://usnet.example/0.1.0/kubectl-usnet-0.1.0-darwin-arm64.tar.gz");
        assert_eq!(darwin["files"][0]["from"], "kubectl-usnet-0.1.0/*");
        assert_eq!([&darwin["bin"], &windows["bin"]], ["kubectl-usnet", "kubectl-usnet.exe"]);
        assert_eq!(windows["sha256"], "sum of windows");
    }
}
