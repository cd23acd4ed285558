//! The way to the API server, as the pod's service account or `KUBECONFIG` says.

use kube::config::InferConfigError;
use kube::{Client, Config};

/// Why there is no way to the API server. That it does not answer is no reason: it is waited for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a service account nor a kubeconfig was found.
    #[error("it is not known where the API server is: run in a pod with a service account, or set KUBECONFIG")]
    Config(#[source] Box<InferConfigError>),
    /// What was found cannot be used, for example a damaged certificate.
    #[error("the settings of the API server cannot be used")]
    Client(#[source] Box<kube::Error>),
}

/// A client without retries of its own: the client's would sleep for minutes after a restart of the API server, where nobody sees them and nothing ends
/// them. Each of our loops tries again by itself.
///
/// # Errors
/// When it is not known where the API server is or who we are.
pub async fn client() -> Result<Client, Error> {
    let mut config = Config::infer().await.map_err(|error| Error::Config(Box::new(error)))?;
    config.default_retry = false;
    Client::try_from(config).map_err(|error| Error::Client(Box::new(error)))
}
