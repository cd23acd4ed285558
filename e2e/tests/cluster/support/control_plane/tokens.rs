//! Tokens of usnet's service accounts, as an attacker in a pod has them.

use crate::support::api::ApiRequest;
use crate::support::cluster::{kubectl, try_run};
use crate::support::control_plane::controllers::leader;
use crate::support::scene::agent_pod;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Options of `kubectl` for an administrator whom policies treat as the controller, and who has all
/// rights.
pub(crate) const AS_CONTROLLER: [&str; 2] =
    ["--as=system:serviceaccount:usnet-system:usnet-controller", "--as-group=system:masters"];

/// The client of a request to the API server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestClient {
    /// A thief of the token of the agent's pod on this node.
    Agent(&'static str),
    /// A thief of a token of the agents' service account that is not bound to a pod, and so names
    /// no node.
    AgentWithoutNode,
    /// A thief of the token of the leading controller's pod.
    Controller,
    /// An administrator of the cluster.
    Administrator,
}

impl RequestClient {
    /// Returns the service account; `None` for the administrator.
    pub(crate) fn account(self) -> Option<&'static str> {
        match self {
            Self::Agent(_) | Self::AgentWithoutNode => Some("usnet-agent"),
            Self::Controller => Some("usnet-controller"),
            Self::Administrator => None,
        }
    }

    /// Runs `kubectl` as this client.
    pub(crate) fn kubectl(self, arguments: &[&str], input: &str) -> Result<String, String> {
        match self.token() {
            Some(token) => kubectl_with(&token, arguments, input),
            None => try_run("kubectl", arguments, input),
        }
    }

    /// Sends a request as this client.
    pub(crate) fn send(self, request: &ApiRequest) -> Result<Value, String> {
        request.send(self.token().as_deref())
    }

    /// Returns a token; `None` for the administrator, who has a certificate.
    fn token(self) -> Option<String> {
        /// By the service account and the pod. A token is valid for an hour, if its pod is there.
        static TOKENS: Mutex<BTreeMap<(&str, Option<String>), String>> = Mutex::new(BTreeMap::new());
        let account = self.account()?;
        let pod = match self {
            Self::Agent(node) => Some(agent_pod(node)),
            Self::Controller => Some(leader()),
            Self::AgentWithoutNode | Self::Administrator => None,
        };
        let mut tokens = TOKENS.lock().unwrap();
        let token = tokens.entry((account, pod.clone())).or_insert_with(|| {
            let answer = ApiRequest::token(account, "usnet-system", pod.as_deref()).send(None).unwrap();
            answer["status"]["token"].as_str().unwrap().to_owned()
        });
        Some(token.clone())
    }
}

/// Runs `kubectl` with a token.
pub(crate) fn kubectl_with(token: &str, arguments: &[&str], input: &str) -> Result<String, String> {
    // The client certificate of the kubeconfig would take precedence over the token.
    let server = kubectl(&["config", "view", "--raw", "-o", "jsonpath={.clusters[0].cluster.server}"]);
    let anonymous = ["--kubeconfig=/dev/null", "--insecure-skip-tls-verify", "--server"];
    let words = [&anonymous, [server.trim(), "--token", token].as_slice(), arguments].concat();
    try_run("kubectl", &words, input)
}
