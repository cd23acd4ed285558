//! Who may read metrics at an address that others reach, decided as Kubernetes decides: a client
//! shows a token, and RBAC has to allow it the verb `get` for the path.
//!
//! - [`reviewer`] (IO): asks the API server;
//! - [`verdicts`]: its last answers, so that neither scrapers nor clients without rights cause a
//!   request to it for each of theirs.

pub mod reviewer;
mod verdicts;

use futures::TryFutureExt;
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap};
use reviewer::{Review, Reviewer};
use ring::digest::{SHA256, digest};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use verdicts::{Known, Verdicts};

use crate::display::ErrorChain;

/// How long a client waits for the answer of the API server. Prometheus waits 10 s.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(5);
/// Requests to the API server at the same time.
const REVIEWS_AT_ONCE: usize = 4;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The client sent no token, or one that the API server does not know.
    Unauthorized,
    /// RBAC does not allow the request.
    Forbidden,
    /// The last token of the client was refused a moment ago, and this is another one.
    TooMany,
    /// The API server could not be asked.
    Unavailable,
}

impl Refusal {
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    pub(super) const fn message(self) -> &'static str {
        match self {
            Self::Unauthorized => "send the token of a service account: Authorization: Bearer TOKEN\n",
            Self::Forbidden => "bind the ClusterRole usnet-metrics-reader to this service account\n",
            Self::TooMany => "the last token was refused: try again in a second\n",
            Self::Unavailable => "the API server could not be asked whether this is allowed; the log says why\n",
        }
    }
}

#[derive(Debug)]
pub(super) struct Access {
    reviewer: Arc<dyn Reviewer>,
    verdicts: Mutex<Verdicts>,
    reviews: Semaphore,
    timeout: Duration,
}

impl Access {
    pub(super) fn new(reviewer: Arc<dyn Reviewer>) -> Self {
        Self { reviewer, verdicts: Mutex::default(), reviews: Semaphore::new(REVIEWS_AT_ONCE), timeout: REVIEW_TIMEOUT }
    }

    /// Whether the peer may read the path.
    pub(super) async fn check(&self, peer: IpAddr, headers: &HeaderMap, path: &str) -> Result<(), Refusal> {
        let token = token(headers).ok_or(Refusal::Unauthorized)?;
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, format!("{path} {token}").as_bytes()).as_ref());
        if let Some(known) = self.known(peer, &key) {
            return known;
        }
        timeout(self.timeout, self.review(peer, key, token, path)).await.unwrap_or_else(|_| {
            tracing::warn!(path, "the API server did not say in time whether a client may read metrics");
            Err(Refusal::Unavailable)
        })
    }

    async fn review(&self, peer: IpAddr, key: [u8; 32], token: &str, path: &str) -> Result<(), Refusal> {
        let _turn = self.reviews.acquire().await.map_err(|_| Refusal::Unavailable)?;
        // Another connection of the client may have asked meanwhile.
        if let Some(known) = self.known(peer, &key) {
            return known;
        }
        let review = self.reviewer.review(token, path).inspect_err(|error| {
            tracing::warn!(path, error = %ErrorChain(error), "cannot ask the API server whether a client may read metrics");
        });
        let review = review.await.map_err(|_| Refusal::Unavailable)?;
        self.verdicts.lock().unwrap_or_else(PoisonError::into_inner).add(peer, key, review, Instant::now());
        refusal(review)
    }

    fn known(&self, peer: IpAddr, key: &[u8; 32]) -> Option<Result<(), Refusal>> {
        let verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        Some(match verdicts.known(peer, key, Instant::now())? {
            Known::Reviewed(review) => refusal(review),
            Known::Wait => Err(Refusal::TooMany),
        })
    }
}

fn refusal(review: Review) -> Result<(), Refusal> {
    match review {
        Review::Allowed => Ok(()),
        Review::NotAuthenticated => Err(Refusal::Unauthorized),
        Review::NotAllowed => Err(Refusal::Forbidden),
    }
}

/// The token of `Authorization: Bearer TOKEN`.
fn token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
pub(super) mod tests;
