//! Counts the calls of the CNI plugin on the node (IO). The plugin is another process, which serves
//! no metrics, and appends each call to a file.

use super::metrics::Metrics;
use std::convert::Infallible;
use std::io;
use std::time::Duration;
use tokio::time::sleep;
use usnet_common::display::ErrorChain;
use usnet_dataplane::call_log::Follower;
use usnet_dataplane::paths::NodePaths;

/// How often the file is read. Metrics are scraped every few seconds at most, and the file keeps
/// several hundred calls.
const INTERVAL: Duration = Duration::from_secs(5);

/// Counts the calls that are appended to the file from now on, indefinitely.
pub(crate) async fn follow(paths: NodePaths, metrics: Metrics) -> Infallible {
    let mut calls = Follower::new(&paths);
    let mut is_readable = true;
    loop {
        sleep(INTERVAL).await;
        let result = count_new(&mut calls, &metrics);
        if let Err(error) = &result
            && is_readable
        {
            tracing::warn!(error = %ErrorChain(error), "cannot read the calls of the CNI plugin: they are not counted");
        }
        is_readable = result.is_ok();
    }
}

fn count_new(calls: &mut Follower, metrics: &Metrics) -> io::Result<()> {
    calls.next_calls()?.iter().for_each(|call| metrics.call(call));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::Registry;
    use std::fs;
    use usnet_dataplane::call_log::{Call, Verb};

    fn call(code: u32) -> Call {
        Call {
            time: 1,
            verb: Verb::Add,
            pod: "default/web-0".into(),
            container: "c1".into(),
            interface: "net1".into(),
            network: Some("blue".into()),
            milliseconds: 12,
            code,
            error: (code != 0).then(|| "usnet[102 NoVolume]".into()),
        }
    }

    #[test]
    fn each_later_call_is_counted_by_its_code() {
        let folder = tempfile::tempdir().unwrap();
        let paths = NodePaths::below(folder.path());
        fs::create_dir_all(&paths.run).unwrap();
        call(0).append(&paths).unwrap();
        let (metrics, registry) = (Metrics::new().unwrap(), Registry::new());
        metrics.register(&registry).unwrap();
        let mut calls = Follower::new(&paths);
        for code in [0, 102, 102] {
            call(code).append(&paths).unwrap();
            count_new(&mut calls, &metrics).unwrap();
        }
        let families = registry.gather();
        let family = families.iter().find(|family| family.name() == "usnet_cni_call_duration_seconds").unwrap();
        let counted = family.get_metric().iter().map(|metric| {
            let labels = metric.get_label().iter().map(|label| label.value().to_owned()).collect::<Vec<_>>();
            (labels, metric.get_histogram().get_sample_count())
        });
        let labels = |code: &str| vec![code.to_owned(), "ADD".to_owned()];
        assert_eq!(counted.collect::<Vec<_>>(), [(labels("0"), 1), (labels("102"), 2)]);
    }
}
