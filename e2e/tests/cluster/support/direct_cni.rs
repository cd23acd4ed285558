//! Calls the CNI plugin directly on a node, as Multus does, for pods that do not exist in the API
//! server.

use crate::support::cluster::on_node;
use crate::support::vpp::process;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Child, Command, Stdio};

/// The folder that is used instead of kubelet's, from which kubelet removes the volumes of unknown
/// pods.
const KUBELET: &str = "/run/direct-kubelet";

/// A network namespace and volumes for such pods, which are removed when this is dropped.
pub(crate) struct DirectPods {
    node: &'static str,
    namespace: String,
}

impl DirectPods {
    /// Prepares pods of a Kubernetes namespace on a node.
    pub(crate) fn new(node: &'static str, namespace: &str) -> Self {
        on_node(node, &["ip", "netns", "add", "direct"]);
        Self { node, namespace: namespace.to_owned() }
    }

    /// Creates the volume `usnet` of a pod, as kubelet does before it calls a plugin.
    pub(crate) fn create_volume(&self, number: usize) {
        let volume = format!("{KUBELET}/pods/{}/volumes/kubernetes.io~empty-dir/usnet", uid(number));
        on_node(self.node, &["mkdir", "-p", &volume]);
    }

    /// Calls the plugin for a pod, and returns its output.
    pub(crate) fn call(&self, command: &str, network: &str, number: usize) -> Result<String, String> {
        let config = json!({"cniVersion": "1.1.0", "name": network, "type": "userspace", "network": network});
        let child = self.start(command, &self.namespace, &config, number)?;
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(text);
        }
        Err(format!("{command} of pod {number}: {text}{}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Starts the plugin with a network configuration for a pod of this Kubernetes namespace.
    pub(crate) fn start(&self, command: &str, namespace: &str, config: &Value, number: usize) -> Result<Child, String> {
        let uid = uid(number);
        let pod = format!("K8S_POD_NAMESPACE={namespace};K8S_POD_NAME=direct-{number};K8S_POD_UID={uid}");
        // The script `on-node` would add to the measured time.
        let mut child = Command::new("nsenter")
            .args(["--net", "--mount", "--uts", "--target", &process(self.node), "--", "/opt/cni/bin/userspace"])
            .env("CNI_COMMAND", command)
            .env("CNI_CONTAINERID", container(number))
            .env("CNI_NETNS", "/run/netns/direct")
            .env("CNI_IFNAME", "net1")
            .env("CNI_ARGS", format!("IgnoreUnknown=1;{pod}"))
            .env("CNI_PATH", "/opt/cni/bin")
            .env("USNET_KUBELET_DIR", KUBELET)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        child.stdin.take().unwrap().write_all(config.to_string().as_bytes()).map_err(|error| error.to_string())?;
        Ok(child)
    }

    /// Deletes the sandbox of the pods without DEL.
    pub(crate) fn end_sandbox(&self) {
        on_node(self.node, &["ip", "netns", "del", "direct"]);
    }

    /// Returns what is left of the pods on the node: records, mounts and folders of ports.
    pub(crate) fn remains(&self) -> String {
        let script = format!(
            "ls /var/lib/usnet/attachments | grep '{CONTAINER}'; grep '/run/usnet/ports/' /proc/self/mountinfo | grep '{KUBELET}\\|/direct-kubelet/'; \
             find {KUBELET} -name 'net1*'; true"
        );
        on_node(self.node, &["sh", "-c", &script])
    }
}

impl Drop for DirectPods {
    fn drop(&mut self) {
        let script = format!("test ! -e /run/netns/direct || ip netns del direct; rm -rf '{KUBELET}'");
        let _failed = crate::support::cluster::try_run("on-node", &[self.node, "sh", "-c", &script], "");
    }
}

/// The suffix of the container ids of such pods.
const CONTAINER: &str = "d1ec7";

/// Returns a container id in the format of runtimes.
fn container(number: usize) -> String {
    format!("{number:059x}{CONTAINER}")
}

fn uid(number: usize) -> String {
    format!("00000000-1111-2222-3333-{number:012}")
}
