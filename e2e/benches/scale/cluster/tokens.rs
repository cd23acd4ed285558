//! Tokens of usnet's service accounts, asked for as kubelet asks for them. Those of agents name a
//! node, as admission policies require.

use futures::{StreamExt, stream};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt};

use super::objects::AT_ONCE;

const LIFETIME_SECONDS: i64 = 24 * 3600;

/// A token of a service account in the namespace of usnet; bound to a node or to nothing.
pub(crate) async fn issue(client: &Client, account: &str, node: Option<&Node>) -> String {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "usnet-system");
    let bound_object_ref = node.map(|node| BoundObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(node.name_any()),
        uid: node.uid(),
    });
    let spec = TokenRequestSpec { bound_object_ref, expiration_seconds: Some(LIFETIME_SECONDS), ..Default::default() };
    let request = TokenRequest { spec, ..Default::default() };
    let answer = accounts.create_token_request(account, &PostParams::default(), &request).await;
    answer.expect("a token").status.expect("a token").token
}

/// Every node with a token of its agent, by name.
pub(crate) async fn of_agents(client: &Client) -> Vec<(String, String)> {
    let nodes = Api::<Node>::all(client.clone()).list(&ListParams::default()).await.expect("nodes are listed").items;
    let issue = |node: Node| async move { (node.name_any(), issue(client, "usnet-agent", Some(&node)).await) };
    let mut tokens: Vec<_> = stream::iter(nodes).map(issue).buffer_unordered(AT_ONCE).collect().await;
    tokens.sort();
    tokens
}
