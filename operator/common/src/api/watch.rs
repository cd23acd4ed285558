//! Watches that recover from any failure of the API server. kube's watcher lists, watches, and
//! lists again when its resourceVersion is too old. It cannot detect an etcd that was restored from
//! an older snapshot: the API server then accepts a future resourceVersion, sends nothing until new
//! writes have passed it, and never sends the writes before. So after every failure the watch
//! restarts with a list. A watch that the API server ends regularly has not failed: no data was
//! lost.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use futures::stream::{BoxStream, Stream, StreamExt, unfold};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The first delay: an API server that restarts is back within seconds.
const BACKOFF_MIN: Duration = Duration::from_millis(500);
/// kube's maximum is a minute: users would wait that long after the API server is back.
const BACKOFF_MAX: Duration = Duration::from_secs(5);
/// After this time without a failure, the back-off is reset. An API server that ends each watch at
/// once is not asked for full lists twice a second.
const BACKOFF_RESET_AFTER: Duration = Duration::from_secs(30);

/// A watch and its retry state.
struct RestartingWatch<K> {
    api: Api<K>,
    config: watcher::Config,
    events: BoxStream<'static, watcher::Result<Event<K>>>,
    backoff: ExponentialBackoff,
    /// The last failure.
    failed: Option<Instant>,
    /// Whether the last event was a failure.
    has_failed: bool,
}

/// Watches all objects of an API indefinitely. Failures are passed on; after each, everything is
/// listed again, with growing, jittered delays.
pub fn watch<K>(api: Api<K>, config: watcher::Config) -> impl Stream<Item = watcher::Result<Event<K>>> + Send
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let events = watcher(api.clone(), config.clone()).boxed();
    let watch = RestartingWatch { api, config, events, backoff: backoff(), failed: None, has_failed: false };
    unfold(watch, |mut watch| async move { watch.next().await.map(|event| (event, watch)) })
}

impl<K> RestartingWatch<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    async fn next(&mut self) -> Option<watcher::Result<Event<K>>> {
        if std::mem::take(&mut self.has_failed) {
            sleep(self.backoff.next().unwrap_or(BACKOFF_MAX)).await;
            self.events = watcher(self.api.clone(), self.config.clone()).boxed();
        }
        let event = self.events.next().await?;
        if event.is_err() {
            let now = Instant::now();
            if self.failed.replace(now).is_none_or(|failed| now.duration_since(failed) > BACKOFF_RESET_AFTER) {
                self.backoff = backoff();
            }
            self.has_failed = true;
        }
        Some(event)
    }
}

/// Delays have jitter (up to twice the delay): thousands of clients must not reconnect to a
/// restarted API server at the same time.
fn backoff() -> ExponentialBackoff {
    let backoff =
        ExponentialBuilder::default().with_min_delay(BACKOFF_MIN).with_max_delay(BACKOFF_MAX).with_factor(2.0);
    backoff.with_jitter().without_max_times().build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::api_server::{Answer, ApiServer};
    use k8s_openapi::api::core::v1::Namespace;

    fn list(version: u64, objects: &[(&str, u64)]) -> Answer {
        let item = |(name, version): &(&str, u64)| {
            format!(r#"{{"metadata": {{"name": "{name}", "resourceVersion": "{version}"}}}}"#)
        };
        let items: Vec<String> = objects.iter().map(item).collect();
        Answer::ok(format!(
            r#"{{"apiVersion": "v1", "kind": "NamespaceList", "metadata": {{"resourceVersion": "{version}"}}, "items": [{}]}}"#,
            items.join(",")
        ))
    }

    fn unavailable() -> Answer {
        let status = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 503, "reason": "ServiceUnavailable", "message": "down"}"#;
        Answer::new(503, status.to_owned())
    }

    /// The first events that these answers lead to, in short, and the number of requests.
    async fn run(answers: Vec<Answer>, events: usize) -> (Vec<String>, usize) {
        let server = ApiServer::answering(answers);
        let stream = watch(Api::<Namespace>::all(server.client()), watcher::Config::default());
        let name = |event: watcher::Result<Event<Namespace>>| match event {
            Ok(Event::Init) => "init".to_owned(),
            Ok(Event::InitApply(object)) => format!("listed {}", object.metadata.name.unwrap_or_default()),
            Ok(Event::InitDone) => "complete".to_owned(),
            Ok(Event::Apply(_) | Event::Delete(_)) => "changed".to_owned(),
            Err(_) => "failed".to_owned(),
        };
        let seen = stream.take(events).map(name).collect().await;
        (seen, server.requests().len())
    }

    #[tokio::test]
    async fn a_failure_is_followed_by_a_list() {
        let answers = vec![
            list(100, &[("a", 90)]),
            unavailable(),
            // After a restore of etcd: other objects, with the same resourceVersion.
            list(100, &[("b", 95)]),
            Answer::ok(String::new()),
        ];
        let (seen, requests) = run(answers, 7).await;
        assert_eq!(seen, ["init", "listed a", "complete", "failed", "init", "listed b", "complete"]);
        assert_eq!(requests, 3, "list, watch, list");
    }

    #[tokio::test]
    async fn a_watch_that_ends_in_its_time_goes_on() {
        let event = r#"{"type": "ADDED", "object": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "resourceVersion": "101"}}}"#;
        let answers = vec![list(100, &[("a", 90)]), Answer::ok(String::new()), Answer::ok(format!("{event}\n"))];
        let (seen, requests) = run(answers, 4).await;
        assert_eq!(seen, ["init", "listed a", "complete", "changed"]);
        assert_eq!(requests, 3, "list, watch, watch");
    }
}
