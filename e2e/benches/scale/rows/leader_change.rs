//! Row 7: the leader goes, by itself or not.

use crate::cluster::Cluster;
use crate::cluster::LIMIT;
use crate::cluster::objects::{self, network_name};
use crate::report::{Report, progress};
use kube::Api;
use nix::sys::signal::Signal;
use std::time::{Duration, Instant};
use usnet_crds::CompiledNetwork;

const POLL: Duration = Duration::from_millis(50);
const AIM: Duration = Duration::from_secs(5);

/// Counted from when the leader got the signal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Succession {
    /// The lease has another holder.
    lease: Option<Duration>,
    /// A change made right after the signal is compiled.
    pass: Option<Duration>,
}

/// Killed, and asked to end.
pub(crate) async fn run(cluster: &mut Cluster) -> [Succession; 2] {
    [succession(cluster, Signal::SIGKILL).await, succession(cluster, Signal::SIGTERM).await]
}

async fn succession(cluster: &mut Cluster, signal: Signal) -> Succession {
    progress(format_args!("the leader gets {signal}"));
    cluster.controllers.wait_until_ready();
    let Some(leader) = cluster.controllers.leader(&cluster.admin).await else { return Succession::default() };
    let start = Instant::now();
    let mut old = cluster.controllers.signal(&leader, signal);
    let changed = objects::change(&cluster.admin, &[network_name(2 % cluster.size.networks)]).await.remove(0);
    let compiled: Api<CompiledNetwork> = Api::all(cluster.admin.clone());
    let mut succession = Succession::default();
    while succession.pass.is_none() && start.elapsed() < LIMIT {
        tokio::time::sleep(POLL).await;
        if succession.lease.is_none() && cluster.controllers.leader(&cluster.admin).await.is_some() {
            succession.lease = Some(start.elapsed());
        }
        let generation = compiled.get(&changed.name).await.map(|network| network.spec.generation);
        if generation.is_ok_and(|generation| generation >= changed.generation) {
            succession.pass = Some(start.elapsed());
        }
    }
    let _ = old.wait();
    cluster.controllers.start();
    cluster.settle(crate::cluster::QUIET).await;
    succession
}

pub(crate) fn report(report: &mut Report, successions: [Succession; 2]) {
    report.row("row 7: another controller leads");
    for (what, succession) in ["kill -9", "SIGTERM"].into_iter().zip(successions) {
        match succession.lease {
            Some(lease) => report.figure(&format!("{what}: until the lease is another's"), format!("{lease:.1?}")),
            None => report.not_done(&format!("{what}: until the lease is another's")),
        }
        // The pass may have been seen a moment before the lease.
        let first = succession.pass.zip(succession.lease).map(|(pass, lease)| pass.saturating_sub(lease));
        report.within(&format!("{what}: from then to the end of its first pass"), AIM, first);
    }
}
