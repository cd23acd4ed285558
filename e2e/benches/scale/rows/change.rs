//! Rows 1 and 2: networks get another MTU; how often it is written, and what it costs until every
//! node has it.

use super::{COMPILED, NETWORK_STATUS, NODE_STATUS};
use crate::cluster::objects::network_name;
use crate::cluster::{Cluster, QUIET};
use crate::measure::audit::User;
use crate::measure::{Cpu, Figures};
use crate::report::{Report, progress};

/// An even number: in the end all is as it was.
const ROUNDS: usize = 2;
const FLOOR: f64 = 1.2;

/// Changes the first `count` networks at once, and back.
pub(crate) async fn run(cluster: &mut Cluster, count: usize) -> Vec<Figures> {
    let names: Vec<_> = (0..count).map(network_name).collect();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let side = if cluster.is_floor() { "floor" } else { "controllers" };
        progress(format_args!("{count} changed at once, {side}"));
        let window = cluster.begin();
        let is_done = cluster.change(&names).await;
        rounds.push(cluster.end(window, is_done, QUIET).await);
    }
    rounds
}

/// What a round cost on average.
pub(crate) fn average(rounds: &[Figures]) -> Cpu {
    rounds.iter().fold(Cpu::default(), |sum, round| sum + round.cpu) / rounds.len() as f64
}

/// One network.
pub(crate) fn report_one(report: &mut Report, rounds: &[Figures]) {
    report.row("row 1: one changed network");
    for round in rounds {
        report.figures(round);
        let writes = &round.writes;
        report.exactly("writes of compiled networks", 1, writes.count(User::Controller, COMPILED));
        report.at_most("status writes of the busiest agent", 1.0, writes.most(User::Agent, NODE_STATUS) as f64, "");
        report.figure("status writes of the network", writes.count(User::Controller, NETWORK_STATUS));
    }
}

/// Many at once.
pub(crate) fn report_many(report: &mut Report, rounds: &[Figures], count: usize) {
    report.row(format!("row 2: {count} changed networks at once"));
    for round in rounds {
        report.figures(round);
        let writes = &round.writes;
        report.exactly("writes of compiled networks", count, writes.count(User::Controller, COMPILED));
        report.at_most("status writes of the busiest agent", 2.0, writes.most(User::Agent, NODE_STATUS) as f64, "");
        let statuses = writes.most(User::Controller, NETWORK_STATUS);
        report.figure("status writes of the network written most", statuses);
    }
}

/// Either of them next to its floor; the floor alone when nothing else was measured.
pub(crate) fn report_floor(report: &mut Report, row: &str, measured: Option<&[Figures]>, floor: &[Figures]) {
    report.row(format!("{row}: the floor"));
    for round in floor {
        report.figures(round);
    }
    let floor = average(floor);
    report.cpu("average CPU s of the floor", floor);
    if let Some(measured) = measured {
        let measured = average(measured);
        report.cpu("average CPU s with the controllers", measured);
        report.at_most("API server CPU / floor", FLOOR, measured.api_server / floor.api_server, " x");
    }
}
