//! The API server without TLS, for a guest. Multus gives each request for a pod 250 ms, with a
//! handshake of its own: on emulated processors, beside an engine that polls, the handshake alone
//! takes longer, and no pod would ever start.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::testbed::addresses;

const PORT: u16 = 8001;

/// `kubectl proxy` on the machine, whose processors are real. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct ApiProxy(Child);

impl ApiProxy {
    /// Starts it with the rights of `kubeconfig`; `path` is where kubectl is found.
    pub(super) fn start(path: &str, kubeconfig: &Path) -> io::Result<Self> {
        let mut command = Command::new("kubectl");
        command.env("PATH", path).arg("proxy").arg(format!("--kubeconfig={}", kubeconfig.display()));
        command.args([format!("--address={}", addresses::CONTROL_PLANE), format!("--port={PORT}")]);
        command.arg("--accept-hosts=.*").stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().map(Self)
    }

    /// Returns a kubeconfig for its clients, as JSON, which is also YAML.
    pub(super) fn kubeconfig() -> String {
        let text = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "world", "cluster": {
                "server": format!("http://{}:{PORT}", addresses::CONTROL_PLANE),
            }}],
            "contexts": [{"name": "world", "context": {"cluster": "world"}}],
            "current-context": "world",
        });
        format!("{text:#}\n")
    }
}

impl Drop for ApiProxy {
    fn drop(&mut self) {
        // It ends with the test bed at the latest.
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}
