//! Reads how many packets the rules for overlays have dropped because they were not from peers
//! (IO). The kernel counts them.

use super::metrics::Metrics;
use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use usnet_dataplane::links::filter::KernelFilter;

/// How often the kernel's counter is read. Metrics are scraped every few seconds at most.
const INTERVAL: Duration = Duration::from_secs(5);

/// Counts the packets that are dropped from now on, indefinitely.
pub(crate) async fn follow(network_namespace: Option<PathBuf>, metrics: Metrics) -> Infallible {
    let mut last = None;
    loop {
        let network_namespace = network_namespace.clone();
        let read = move || KernelFilter::open(network_namespace.as_deref())?.dropped();
        // A kernel without nftables has no rules either.
        if let Ok(Ok(now)) = spawn_blocking(read).await {
            metrics.overlay_packets_refused(since(last, now));
            last = Some(now);
        }
        sleep(INTERVAL).await;
    }
}

/// How many packets were counted since the last reading. The kernel's counters restart at 0 when
/// the rules are recreated.
fn since(last: Option<u64>, now: u64) -> u64 {
    match last {
        None => 0,
        Some(last) => now.checked_sub(last).unwrap_or(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_before_does_not_count_and_a_new_table_does() {
        assert_eq!([since(None, 7), since(Some(7), 9), since(Some(9), 2)], [0, 2, 2]);
    }
}
