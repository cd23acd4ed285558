//! Whether there are objects that an earlier run left (IO).

use kube::Api;
use kube::api::ListParams;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The interval between two attempts.
const RETRY: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Whether any of these objects exists. Objects that may not be listed, or whose kind the API
/// server does not have, count as absent. This waits for an API server that cannot be reached.
pub async fn is_any<K>(api: &Api<K>, which: ListParams) -> bool
where
    K: Clone + DeserializeOwned + Debug,
{
    let one = which.limit(1);
    loop {
        match timeout(REQUEST_TIMEOUT, api.list(&one)).await {
            Ok(Ok(list)) => return !list.items.is_empty(),
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 403 | 404) => return false,
            Ok(Err(_)) | Err(_) => sleep(RETRY).await,
        }
    }
}
