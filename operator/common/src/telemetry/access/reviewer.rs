//! Asks the API server who a client is, and what it may do (IO).

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Client;
use kube::api::{Api, PostParams};
use std::fmt::Debug;

/// What the API server says of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Review {
    /// The owner of the token may read the path.
    Allowed,
    /// The token belongs to no user.
    NotAuthenticated,
    /// The owner of the token may not read the path.
    NotAllowed,
}

/// The API server did not answer, or does not allow this program to ask.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server could not be asked who the client is.
    #[error(
        "a TokenReview cannot be created: is the ClusterRole usnet-metrics-auth bound to this program's service account?"
    )]
    Token(#[source] Box<kube::Error>),
    /// The API server could not be asked what the client may do.
    #[error(
        "a SubjectAccessReview cannot be created: is the ClusterRole usnet-metrics-auth bound to this program's service account?"
    )]
    Access(#[source] Box<kube::Error>),
}

/// Reviews tokens.
pub trait Reviewer: Debug + Send + Sync {
    /// Whether the owner of the token may read the path, a `nonResourceURL` of RBAC.
    fn review<'a>(&'a self, token: &'a str, path: &'a str) -> BoxFuture<'a, Result<Review, Error>>;
}

pub struct ApiServer(Client);

impl ApiServer {
    #[must_use]
    pub const fn new(client: Client) -> Self {
        Self(client)
    }

    async fn user(&self, token: &str) -> Result<Option<UserInfo>, Error> {
        let spec = TokenReviewSpec { token: Some(token.to_owned()), ..TokenReviewSpec::default() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let created = Api::all(self.0.clone()).create(&PostParams::default(), &review).await;
        let status = created.map_err(|error| Error::Token(Box::new(error)))?.status;
        Ok(status.filter(|status| status.authenticated == Some(true)).and_then(|status| status.user))
    }

    async fn allows(&self, user: UserInfo, path: &str) -> Result<bool, Error> {
        let spec = SubjectAccessReviewSpec {
            user: user.username,
            uid: user.uid,
            groups: user.groups,
            extra: user.extra,
            non_resource_attributes: Some(NonResourceAttributes {
                path: Some(path.to_owned()),
                verb: Some("get".to_owned()),
            }),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let created = Api::all(self.0.clone()).create(&PostParams::default(), &review).await;
        let status = created.map_err(|error| Error::Access(Box::new(error)))?.status;
        Ok(status.is_some_and(|status| status.allowed && status.denied != Some(true)))
    }
}

// `Client` shows nothing of itself.
impl Debug for ApiServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ApiServer")
    }
}

impl Reviewer for ApiServer {
    fn review<'a>(&'a self, token: &'a str, path: &'a str) -> BoxFuture<'a, Result<Review, Error>> {
        async move {
            let Some(user) = self.user(token).await? else { return Ok(Review::NotAuthenticated) };
            Ok(if self.allows(user, path).await? { Review::Allowed } else { Review::NotAllowed })
        }
        .boxed()
    }
}
