//! The client of the API server, configured by the pod's service account or `KUBECONFIG`.

use super::pruning::pruned;
use kube::config::InferConfigError;
use kube::{Client, Config};

/// Why the client cannot be created. An unreachable API server is no error: clients retry.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a service account nor a kubeconfig was found.
    #[error("the API server is not configured: run in a pod with a service account, or set KUBECONFIG")]
    Config(#[source] Box<InferConfigError>),
    /// The configuration is invalid, for example a damaged certificate.
    #[error("the configuration of the API server is invalid")]
    Client(#[source] Box<kube::Error>),
}

/// A client without built-in retries: those would back off for minutes after a restart of the API
/// server, without logs and without cancellation. Each loop retries by itself. Its answers
/// are pruned.
pub async fn client() -> Result<Client, Error> {
    whole_client().await.map(pruned)
}

/// The same, for a program that uses what is pruned of others, and reads few objects.
pub async fn whole_client() -> Result<Client, Error> {
    let mut config = Config::infer().await.map_err(|error| Error::Config(Box::new(error)))?;
    config.default_retry = false;
    Client::try_from(config).map_err(|error| Error::Client(Box::new(error)))
}
