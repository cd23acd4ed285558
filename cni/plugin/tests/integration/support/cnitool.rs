//! cnitool, a minimal runtime with the specification's own library.

use super::TestNode;
use super::pod::Pod;
use super::tools::{plugin_path, tool};
use nix::mount::{MsFlags, mount};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

const CONFIGURATIONS: &str = "/run/net.d";
const PLUGINS: &str = "/run/runtime-plugins";

/// A runtime that attaches one interface of pod `p` by a list of plugins.
pub(crate) struct Cnitool<'a> {
    program: PathBuf,
    node: &'a TestNode,
    pod: Pod,
    /// The name of the list.
    list: &'static str,
    interface: &'static str,
}

impl<'a> Cnitool<'a> {
    /// A runtime on this node; none where cnitool was not built.
    pub(crate) fn new(node: &'a TestNode, list: &'static str, interface: &'static str) -> Option<Self> {
        let program = tool("cnitool")?;
        // libcni stores results there.
        mount(Some("tmpfs"), "/var/lib", Some("tmpfs"), MsFlags::empty(), Some("mode=755")).unwrap();
        fs::create_dir_all(CONFIGURATIONS).unwrap();
        fs::create_dir_all(PLUGINS).unwrap();
        symlink(env!("CARGO_BIN_EXE_userspace"), format!("{PLUGINS}/userspace")).unwrap();
        Some(Self { program, node, pod: node.pod("p"), list, interface })
    }

    /// Writes the list of plugins.
    pub(crate) fn configure(&self, list: &Value) {
        fs::write(format!("{CONFIGURATIONS}/1.conflist"), list.to_string()).unwrap();
    }

    /// Standard output of cnitool, or all of its output if it fails. `capabilities` are passed to
    /// the plugins as `runtimeConfig`.
    pub(crate) fn call(&self, verb: &str, capabilities: Option<&Value>) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        command.args([verb, self.list]).arg(self.node.network_namespace());
        let arguments = self.pod.arguments();
        // cnitool names the sandbox itself, and rejects a repeated key.
        let (once, _) = arguments.split_at(arguments.len() / 2);
        command.env("NETCONFPATH", CONFIGURATIONS).env("CNI_ARGS", once).env("CNI_IFNAME", self.interface);
        command.env("CNI_PATH", format!("{PLUGINS}:{}", plugin_path().display()));
        command.envs(capabilities.map(|capabilities| ("CAP_ARGS", capabilities.to_string())));
        let paths = &self.node.paths;
        command.env("USNET_RUN_DIR", &paths.run).env("USNET_STATE_DIR", &paths.state);
        let output = command.env("USNET_KUBELET_DIR", &paths.kubelet).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(text(&output.stdout) + &text(&output.stderr)),
        }
    }
}
