//! Collects the metrics of controllers and agents, which each program serves in its container.

use super::Collection;
use crate::api::run_usnet;
use crate::error::Error;
use crate::model::snapshot::{AGENT, CONTROLLER};
use crate::model::{Pod, Snapshot};
use crate::output::{tell, waiting};
use futures::stream::{self, StreamExt};

/// The number of programs that are asked at a time.
const CONCURRENCY: usize = 16;

/// Adds the metrics of each program.
pub(super) async fn collect(collection: &mut Collection<'_>, snapshot: &Snapshot) -> Result<(), Error> {
    tell("reading metrics of controllers and agents");
    let cluster = collection.cluster;
    let of = |component: &'static str| snapshot.component(component).map(move |pod| (pod, component));
    let running = |(pod, component): &(&Pod, &str)| pod.container(component).is_some_and(|it| it.is_running);
    let programs = stream::iter([CONTROLLER, AGENT].into_iter().flat_map(of).filter(running));
    let asked =
        programs.map(async |(pod, component)| (pod, run_usnet(cluster, pod, component, &["probe", "metrics"]).await));
    let mut answers = asked.buffer_unordered(CONCURRENCY);
    while let Some((pod, answer)) = waiting("metrics", answers.next()).await {
        let name = format!("metrics/{}.txt", pod.name);
        match answer {
            Ok(text) => {
                let text = collection.redactor.file(&text);
                collection.add(&name, &text)?;
            }
            Err(why) => collection.fail(&name, &why),
        }
    }
    Ok(())
}
