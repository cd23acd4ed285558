//! Two kernel pods on Open vSwitch: by packet sockets and by AF_XDP, and TCP with and without the
//! switch's segmentation offload; as usnet sets ports up, and by hand. Both have ports of one
//! switch and are measured in turn, in short windows.

mod scene;
mod traffic;

use super::{is_short, middle};
use crate::report::{Targets, table};
use scene::{Pair, Scene, Way};
use traffic::Sample;

/// Switches of each way, in turn.
const TURNS: usize = 7;
/// Of both pairs of pods on one switch.
const WINDOWS: usize = 4;
/// By hand divided by usnet: at most as much more as 0.99 allows.
const AS_BY_HAND: f64 = 1.01;

/// A figure of a sample.
type Figure = fn(&Sample) -> f64;

/// The samples by hand and of usnet of one window.
type Window = [Sample; 2];

pub(super) fn run(targets: &mut Targets) {
    let mut windows = Way::ALL.map(|way| (way, Vec::new()));
    let (turns, each) = if is_short() { (1, 1) } else { (TURNS, WINDOWS) };
    for turn in 0..turns {
        for (way, windows) in &mut windows {
            eprintln!("kernel pods: turn {turn}, {}", way.name());
            let scene = Scene::new(*way);
            windows.extend((0..each).map(window));
            drop(scene);
        }
    }
    print(&windows, targets);
}

/// Who is first in one window is second in the next one.
fn window(number: usize) -> Window {
    let [hand, usnet] = Pair::ALL;
    if number.is_multiple_of(2) {
        let by_hand = Sample::of(hand);
        [by_hand, Sample::of(usnet)]
    } else {
        let of_usnet = Sample::of(usnet);
        [Sample::of(hand), of_usnet]
    }
}

fn print(windows: &[(Way, Vec<Window>); 3], targets: &mut Targets) {
    let row = |(way, windows): &(Way, Vec<Window>), pair: Pair, checked: String| {
        let samples = windows.iter().map(|window| window[pair as usize]);
        let median = |value: Figure| middle(samples.clone().map(|sample| value(&sample)).collect());
        let name = if pair == Pair::Usnet { way.name().to_owned() } else { format!("{}, by hand", way.name()) };
        let frames = table::number(median(|sample| sample.frames));
        let one_way = table::ratio(median(|sample| sample.one_way));
        vec![name, frames, one_way, table::number(median(|sample| sample.tcp)), checked]
    };
    let mut rows = Vec::new();
    for of_way in windows {
        let (way, windows) = of_way;
        let mut check = |what: &str, value: Figure| {
            let target = format!("kernel pods: {what} by hand / usnet");
            let found = middle(windows.iter().map(|[hand, usnet]| value(hand) / value(usnet)).collect());
            format!("{what} {}", targets.check(&target, format!("Open vSwitch, {}", way.name()), found, AS_BY_HAND))
        };
        let checked = [check("frames", |sample| sample.frames), check("TCP", |sample| sample.tcp)].join("; ");
        rows.push(row(of_way, Pair::ByHand, String::new()));
        rows.push(row(of_way, Pair::Usnet, checked));
    }
    let [kernel, af_xdp, offload] = windows.each_ref().map(|(_, windows)| windows);
    let place = || "Open vSwitch, veth".to_owned();
    let slower = kernel.iter().zip(af_xdp).map(|([_, kernel], [_, af_xdp])| kernel.frames / af_xdp.frames);
    targets.check("kernel pods: frames of Kernel / AFXDP", place(), middle(slower.collect()), 0.25);
    let one_way = middle(af_xdp.iter().map(|[_, usnet]| usnet.one_way).collect());
    targets.check("kernel pods: microseconds one way by AFXDP", place(), one_way, 20.0);
    let hand = middle(offload.iter().map(|[hand, usnet]| hand.tcp / usnet.tcp).collect());
    targets.check("kernel pods: TCP with segmentation offload, by hand / usnet", place(), hand, 1.11);
    let columns = ["", "thousand frames each second", "µs one way, idle", "MiB/s by TCP", "by hand / usnet"];
    table::print("Open vSwitch: two kernel pods, medians", &columns, &rows);
}
