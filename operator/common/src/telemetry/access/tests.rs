use super::*;
use crate::testing::api_server::{Answer, ApiServer};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Knows the token `scraper`, which may read metrics, and `tenant`, which may not; the API server
/// cannot be asked about `away`. Counts what it is asked.
#[derive(Debug, Default)]
pub(crate) struct FakeReviewer(AtomicUsize);

impl FakeReviewer {
    pub(crate) fn reviews(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Reviewer for FakeReviewer {
    fn review<'a>(&'a self, token: &'a str, path: &'a str) -> BoxFuture<'a, Result<Review, reviewer::Error>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let secret = std::io::Error::other("secret of the API server");
        let review = match (token, path) {
            ("away", _) => Err(reviewer::Error::Token(Box::new(kube::Error::ReadEvents(secret)))),
            ("scraper", "/metrics") => Ok(Review::Allowed),
            ("scraper" | "tenant", _) => Ok(Review::NotAllowed),
            _ => Ok(Review::NotAuthenticated),
        };
        async { review }.boxed()
    }
}

fn peer(number: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, number).into()
}

fn headers(authorization: &str) -> HeaderMap {
    HeaderMap::from_iter([(AUTHORIZATION, authorization.parse().unwrap())])
}

#[tokio::test]
async fn an_allowed_token_is_reviewed_once_and_others_do_not_change_that() {
    let reviewer = Arc::new(FakeReviewer::default());
    let access = Access::new(Arc::clone(&reviewer) as Arc<dyn Reviewer>);
    for _ in 0..3 {
        assert_eq!(access.check(peer(1), &headers("Bearer scraper"), "/metrics").await, Ok(()));
    }
    assert_eq!(reviewer.reviews(), 1);
    let other_path = access.check(peer(2), &headers("Bearer scraper"), "/metrics/ports").await;
    assert_eq!(other_path, Err(Refusal::Forbidden));
    for number in 0..100 {
        let guess = format!("Bearer guess-{number}");
        assert!(access.check(peer(3), &headers(&guess), "/metrics").await.is_err());
    }
    assert!(reviewer.reviews() < 50, "a client that guesses keeps the API server busy: {}", reviewer.reviews());
    assert_eq!(access.check(peer(3), &headers("bearer scraper"), "/metrics").await, Ok(()), "behind one address");
}

#[tokio::test]
async fn without_a_token_the_api_server_is_not_asked() {
    let reviewer = Arc::new(FakeReviewer::default());
    let access = Access::new(Arc::clone(&reviewer) as Arc<dyn Reviewer>);
    for authorization in ["Bearer ", "Bearer", "scraper", "Basic scraper"] {
        let refused = access.check(peer(1), &headers(authorization), "/metrics").await;
        assert_eq!(refused, Err(Refusal::Unauthorized), "{authorization}");
    }
    assert_eq!(access.check(peer(1), &HeaderMap::new(), "/metrics").await, Err(Refusal::Unauthorized));
    assert_eq!(reviewer.reviews(), 0);
}

#[tokio::test]
async fn an_api_server_that_cannot_be_asked_allows_nothing_and_is_asked_again() {
    let reviewer = Arc::new(FakeReviewer::default());
    let access = Access::new(Arc::clone(&reviewer) as Arc<dyn Reviewer>);
    for count in 1..3 {
        let refused = access.check(peer(1), &headers("Bearer away"), "/metrics").await;
        assert_eq!((refused, reviewer.reviews()), (Err(Refusal::Unavailable), count));
    }
}

#[tokio::test]
async fn an_api_server_that_does_not_answer_is_not_waited_for() {
    let server = ApiServer::choosing(|_| None);
    let mut access = Access::new(Arc::new(reviewer::ApiServer::new(server.client())));
    access.timeout = Duration::from_millis(20);
    let refused = access.check(peer(1), &headers("Bearer scraper"), "/metrics").await;
    assert_eq!(refused, Err(Refusal::Unavailable));
}

const AUTHENTICATED: &str = r#"{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {},
    "status": {"authenticated": true, "user": {"username": "system:serviceaccount:monitoring:prometheus-k8s"}}}"#;

/// What the answers of an API server mean.
async fn reviewed(user: &str, access: &str) -> Result<Review, String> {
    let answers = vec![Answer::new(201, user.to_owned()), Answer::new(201, access.to_owned())];
    let server = ApiServer::answering(answers);
    let review = reviewer::ApiServer::new(server.client()).review("token", "/metrics").await;
    assert!(server.requests()[0].starts_with("POST /apis/authentication.k8s.io/v1/tokenreviews"));
    review.map_err(|error| error.to_string())
}

#[tokio::test]
async fn both_answers_of_the_api_server_have_to_allow_it() {
    let access = |status: &str| {
        format!(
            r#"{{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {{}}, "status": {status}}}"#
        )
    };
    assert_eq!(reviewed(AUTHENTICATED, &access(r#"{"allowed": true}"#)).await, Ok(Review::Allowed));
    for status in [r#"{"allowed": false}"#, r#"{"allowed": true, "denied": true}"#] {
        assert_eq!(reviewed(AUTHENTICATED, &access(status)).await, Ok(Review::NotAllowed));
    }
    let allowed = access(r#"{"allowed": true}"#);
    for status in ["{}", r#"{"authenticated": false, "error": "expired"}"#, r#"{"user": {"username": "root"}}"#] {
        let user = format!(
            r#"{{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {{}}, "status": {status}}}"#
        );
        assert_eq!(reviewed(&user, &allowed).await, Ok(Review::NotAuthenticated), "{status}");
    }
    assert!(reviewed("no JSON", &allowed).await.unwrap_err().contains("usnet-metrics-auth"));
    assert!(reviewed(AUTHENTICATED, "no JSON").await.unwrap_err().contains("SubjectAccessReview"));
}
