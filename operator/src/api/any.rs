//! Whether there are objects that an earlier run left (IO).

use kube::Api;
use kube::api::ListParams;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Between two attempts.
const RETRY: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Whether there is any of these objects. Those that may not be listed, or whose kind the API
/// server does not have, are of no concern here: there is none. An API server that cannot be
/// reached is waited for.
pub(crate) async fn is_any<K>(api: &Api<K>, which: ListParams) -> bool
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
