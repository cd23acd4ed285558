//! An API server with prepared answers.

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Arc, Mutex};
use tower::{BoxError, service_fn};

/// What it answers once.
pub struct Answer {
    code: u16,
    body: String,
}

impl Answer {
    pub fn new(code: u16, body: String) -> Self {
        Self { code, body }
    }

    pub fn ok(body: String) -> Self {
        Self::new(200, body)
    }
}

type Choose = dyn Fn(&str, &[u8]) -> Option<Answer> + Send + Sync;

/// Records the requests.
pub struct ApiServer {
    choose: Arc<Choose>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl ApiServer {
    /// One that gives these answers, one after the other, and then none.
    pub fn answering(answers: Vec<Answer>) -> Self {
        let answers = Mutex::new(VecDeque::from(answers));
        Self::choosing(move |_| answers.lock().unwrap().pop_front())
    }

    /// One whose answers are chosen by method, path and query; a request without an answer is never
    /// answered.
    pub fn choosing(choose: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static) -> Self {
        Self::handling(move |line, _| choose(line))
    }

    /// As [`Self::choosing`], by the body of the request as well.
    pub fn handling(handle: impl Fn(&str, &[u8]) -> Option<Answer> + Send + Sync + 'static) -> Self {
        Self { choose: Arc::new(handle), requests: Arc::default() }
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub fn client(&self) -> Client {
        let (choose, requests) = (Arc::clone(&self.choose), Arc::clone(&self.requests));
        let service = service_fn(move |request: Request<Body>| {
            let line = format!("{} {}", request.method(), request.uri());
            requests.lock().unwrap().push(line.clone());
            let choose = Arc::clone(&choose);
            async move {
                let body = request.into_body().collect_bytes().await?;
                let Some(answer) = choose(&line, &body) else { return pending().await };
                let response = Response::builder().status(answer.code).body(Body::from(answer.body.into_bytes()));
                response.map_err(BoxError::from)
            }
        });
        Client::new(service, "default")
    }
}
