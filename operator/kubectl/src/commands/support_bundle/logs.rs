//! Collects the logs of controllers, agents and engines.

use super::{Collection, seconds};
use crate::api::log_of;
use crate::error::Error;
use crate::model::Pod;
use crate::output::{tell, waiting};
use futures::stream::{self, StreamExt};
use k8s_openapi::jiff::SignedDuration;
use kube::api::LogParams;

/// The maximum size of one log in bytes.
const LOG_MAX: i64 = 8 << 20;
/// The maximum number of lines of one log, of which the latest are read.
const LINES_MAX: i64 = 50_000;
/// The number of logs that are read at a time.
const CONCURRENCY: usize = 4;

/// Adds the log of each container of these pods, and of its previous run if there was one.
pub(super) async fn collect(collection: &mut Collection<'_>, pods: &[Pod], since: SignedDuration) -> Result<(), Error> {
    let Some(first) = pods.first() else { return Ok(()) };
    tell(format!("reading logs of pods in {}", first.namespace));
    let mut wanted = Vec::new();
    for pod in pods {
        for container in &pod.containers {
            wanted.push((pod, container, false));
            if container.restarts > 0 {
                wanted.push((pod, container, true));
            }
        }
    }
    let cluster = collection.cluster;
    let read = stream::iter(wanted).map(async |(pod, container, previous)| {
        let log = LogParams {
            previous,
            since_seconds: Some(seconds(since)),
            limit_bytes: Some(LOG_MAX),
            tail_lines: Some(LINES_MAX),
            timestamps: true,
            ..LogParams::default()
        };
        let end = if previous { "-previous" } else { "" };
        let name = format!("logs/{}/{}{end}.log", pod.name, container.name);
        (name, log_of(cluster, pod, &container.name, log).await)
    });
    let mut logs = read.buffer_unordered(CONCURRENCY);
    while let Some((name, log)) = waiting("logs", logs.next()).await {
        match log {
            Ok(text) => {
                let text = collection.redactor.file(&text);
                collection.add(&name, &text)?;
            }
            Err(why) => collection.fail(&name, &why),
        }
    }
    Ok(())
}
