//! Row 8: nothing happens.

use crate::cluster::Cluster;
use crate::measure::Figures;
use crate::report::{Report, progress};
use std::time::Duration;

const REST: Duration = Duration::from_secs(60);
/// Less is enough to see what an API server costs at rest.
const FLOOR: Duration = Duration::from_secs(20);

pub(crate) async fn run(cluster: &mut Cluster) -> Figures {
    let duration = if cluster.is_floor() { FLOOR } else { REST };
    progress(format_args!("at rest for {} s", duration.as_secs()));
    let window = cluster.begin();
    tokio::time::sleep(duration).await;
    cluster.end(window, true, Duration::ZERO).await
}

pub(crate) fn report(report: &mut Report, figures: &Figures) {
    report.row("row 8: at rest");
    report.figures(figures);
    report.at_most("writes besides the lease", 0.0, figures.writes.besides_lease() as f64, "");
}

pub(crate) fn report_floor(report: &mut Report, floor: &Figures) {
    report.row("row 8: the floor, without controllers");
    report.figures(floor);
}
