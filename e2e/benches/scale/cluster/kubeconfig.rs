//! Clients of the API server, for this program and for those it starts.

use std::path::PathBuf;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;

use crate::api_server::ApiServer;

/// A client without retries of its own, as those of usnet's programs.
pub(crate) async fn client(kubeconfig: Value) -> Client {
    let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await.expect("a configuration");
    config.default_retry = false;
    Client::try_from(config).expect("a client")
}

pub(crate) fn write_kubeconfig(server: &ApiServer, name: &str, token: &str) -> PathBuf {
    let path = server.folder.path().join(format!("{name}.kubeconfig"));
    std::fs::write(&path, server.token_kubeconfig(token).to_string()).expect("a kubeconfig");
    path
}
