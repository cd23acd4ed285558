//! Watches that survive whatever happens to the API server. kube's watcher lists, watches, and lists again when its resourceVersion is too old. What it
//! cannot see is an etcd that was restored from an older snapshot: the API server then takes a resourceVersion of the future for one that is current, and
//! sends nothing until new writes have passed it. So after every failure the current resourceVersion is asked for, and when it is lower than one that was
//! seen, the watch begins from scratch.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use futures::stream::{BoxStream, Stream, StreamExt, unfold};
use kube::api::ListParams;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::time::Duration;
use tokio::time::sleep;
use usnet_crds::node_selection::resource_version;

const FIRST_WAIT: Duration = Duration::from_millis(500);
/// kube's own longest wait is a minute: so long after the API server is back, users would still wait for their networks.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// One watch, and what is remembered of it.
struct Watch<K> {
    api: Api<K>,
    config: watcher::Config,
    events: BoxStream<'static, watcher::Result<Event<K>>>,
    /// The highest resourceVersion that was seen.
    seen: u64,
    waits: ExponentialBackoff,
    /// The last event was a failure: the API server is asked before the watch goes on.
    has_failed: bool,
}

/// Follows all objects of an API indefinitely. Failures are passed on; the watch goes on after them with growing, jittered pauses.
pub(crate) fn watch<K>(api: Api<K>, config: watcher::Config) -> impl Stream<Item = watcher::Result<Event<K>>> + Send
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let events = watcher(api.clone(), config.clone()).boxed();
    let watch = Watch { api, config, events, seen: 0, waits: waits(), has_failed: false };
    unfold(watch, |mut watch| async move { watch.next().await.map(|event| (event, watch)) })
}

impl<K> Watch<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    async fn next(&mut self) -> Option<watcher::Result<Event<K>>> {
        if self.has_failed {
            self.wait_for_api_server().await;
            self.has_failed = false;
        }
        let event = self.events.next().await?;
        match &event {
            Ok(Event::Apply(object) | Event::Delete(object) | Event::InitApply(object)) => {
                self.seen = self.seen.max(resource_version(object.meta().resource_version.as_deref()));
                self.waits = waits();
            }
            Ok(Event::Init) => self.seen = 0,
            Ok(Event::InitDone) => self.waits = waits(),
            Err(_) => self.has_failed = true,
        }
        Some(event)
    }

    /// Waits until the API server answers, and begins from scratch when its resourceVersion went back. Where nothing was seen yet, the watcher lists
    /// anyway.
    async fn wait_for_api_server(&mut self) {
        loop {
            sleep(self.waits.next().unwrap_or(LONGEST_WAIT)).await;
            if self.seen == 0 {
                return;
            }
            // Only the list's own resourceVersion is of interest.
            let Ok(list) = self.api.list_metadata(&ListParams::default().limit(1)).await else { continue };
            let now = resource_version(list.metadata.resource_version.as_deref());
            if now < self.seen {
                tracing::warn!(
                    resource = %K::plural(&()),
                    seen = self.seen,
                    now,
                    "the resourceVersion went back, as after a restore of etcd: listing again"
                );
                self.events = watcher(self.api.clone(), self.config.clone()).boxed();
                self.seen = 0;
            }
            return;
        }
    }
}

/// With jitter (up to twice the wait): thousands of clients must not come back to a restarted API server at the same moment.
fn waits() -> ExponentialBackoff {
    let waits = ExponentialBuilder::default().with_min_delay(FIRST_WAIT).with_max_delay(LONGEST_WAIT).with_factor(2.0);
    waits.with_jitter().without_max_times().build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::api_server::{Answer, ApiServer};
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
    async fn a_resource_version_that_went_back_starts_a_new_list() {
        let answers = vec![
            list(100, &[("a", 90)]),
            unavailable(),
            list(50, &[]),
            list(50, &[("b", 40)]),
            Answer::ok(String::new()),
        ];
        let (seen, requests) = run(answers, 7).await;
        assert_eq!(seen, ["init", "listed a", "complete", "failed", "init", "listed b", "complete"]);
        assert_eq!(requests, 4, "list, watch, current version, list");
    }

    #[tokio::test]
    async fn a_failure_alone_lists_nothing_again() {
        let event = r#"{"type": "ADDED", "object": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "resourceVersion": "101"}}}"#;
        let answers = vec![list(100, &[("a", 90)]), unavailable(), list(100, &[]), Answer::ok(format!("{event}\n"))];
        let (seen, requests) = run(answers, 5).await;
        assert_eq!(seen, ["init", "listed a", "complete", "failed", "changed"]);
        assert_eq!(requests, 4, "list, watch, current version, watch");
    }
}
