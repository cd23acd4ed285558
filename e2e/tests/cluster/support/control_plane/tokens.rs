//! Tokens of usnet's service accounts, as an attacker has them who broke into a pod.

use crate::support::cluster::{kubectl, try_run};
use crate::support::control_plane::controllers::leader;
use crate::support::scene::agent_pod;

/// For `kubectl` of an administrator whom policies take for the controller, and to whom no role
/// sets limits.
pub(crate) const AS_CONTROLLER: [&str; 2] =
    ["--as=system:serviceaccount:usnet-system:usnet-controller", "--as-group=system:masters"];

/// Who asks the API server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Thief {
    /// With the token of the agent's pod on this node.
    Agent(&'static str),
    /// With a token of the agents' service account that was made for no pod, and so names no node.
    AgentWithoutNode,
    /// With the token of the controller's pod that leads.
    Controller,
    /// An administrator of the cluster.
    Administrator,
}

impl Thief {
    /// The service account; none for the administrator.
    pub(crate) fn account(self) -> Option<&'static str> {
        match self {
            Self::Agent(_) | Self::AgentWithoutNode => Some("usnet-agent"),
            Self::Controller => Some("usnet-controller"),
            Self::Administrator => None,
        }
    }

    /// Runs `kubectl` as this one.
    pub(crate) fn kubectl(self, arguments: &[&str], input: &str) -> Result<String, String> {
        let Some(account) = self.account() else { return try_run("kubectl", arguments, input) };
        let pod = match self {
            Self::Agent(node) => Some(agent_pod(node)),
            Self::Controller => Some(leader()),
            Self::AgentWithoutNode | Self::Administrator => None,
        };
        let mut create = vec!["create", "token", account, "-n", "usnet-system"];
        if let Some(pod) = &pod {
            create.extend(["--bound-object-kind=Pod", "--bound-object-name", pod]);
        }
        let token = kubectl(&create);
        kubectl_with(token.trim(), arguments, input)
    }
}

/// Runs `kubectl` as the one whose token it is.
pub(crate) fn kubectl_with(token: &str, arguments: &[&str], input: &str) -> Result<String, String> {
    // Without the kubeconfig: else its client certificate would speak.
    let server = kubectl(&["config", "view", "--raw", "-o", "jsonpath={.clusters[0].cluster.server}"]);
    let anonymous = ["--kubeconfig=/dev/null", "--insecure-skip-tls-verify", "--server"];
    let words = [&anonymous, [server.trim(), "--token", token].as_slice(), arguments].concat();
    try_run("kubectl", &words, input)
}
