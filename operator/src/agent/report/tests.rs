use super::*;
use crate::agent::observe::EngineUp;
use crate::agent::testing::{name, network, record};
use usnet_crds::conditions::reason::NEVER_SEEN;
use usnet_dataplane::observed::Observed;

fn up() -> EngineView {
    EngineView::Up(EngineUp { observed: Observed::default(), version: Some("3.1.0".into()) })
}

fn outage() -> Outage {
    Outage { reason: NEVER_SEEN, message: "no socket at /run/db.sock".into() }
}

fn spec(networks: &[NodeNetwork]) -> NodeSpec {
    NodeSpec { generation: 4, networks: networks.to_vec() }
}

fn report_of(
    spec: &NodeSpec,
    verdicts: &BTreeMap<NetworkName, Verdict>,
    records: &[Record],
    engine: &EngineView,
) -> Report {
    report(Facts { spec: Some(spec), verdicts, obstacles: &BTreeMap::new(), records, engine, epoch: 2 })
}

fn programmed(names: &[&str]) -> BTreeMap<NetworkName, Verdict> {
    names.iter().map(|network| (name(network), Verdict::PROGRAMMED)).collect()
}

fn finding<'a>(report: &'a Report, kind: &str) -> &'a Finding {
    report.findings.iter().find(|finding| finding.kind == kind).expect("the condition")
}

#[test]
fn pods_are_counted_and_named_up_to_a_limit() {
    let blue = network("blue");
    let records: Vec<_> = (10..25).map(|number| record(&format!("c{number}"), &blue)).collect();
    let report = report_of(&spec(&[blue]), &programmed(&["blue"]), &records, &up());
    let [entry] = report.networks.as_slice() else { panic!("{report:?}") };
    assert_eq!((entry.attachments, entry.pods.len(), entry.pods[0].as_str()), (15, PODS_MAX, "default/c10"));
    assert_eq!((entry.state, entry.generation), (NetworkState::Programmed, 1));
    assert_eq!(report.observed_generation, Some(4));
    assert_eq!(report.engines[0].epoch, 2);
}

#[test]
fn one_network_that_is_not_programmed_makes_the_node_unready_and_is_named() {
    let mut verdicts = programmed(&["blue"]);
    verdicts.insert(name("red"), Verdict::failed(reason::ENGINE_REFUSED, "no tap"));
    let report = report_of(&spec(&[network("blue"), network("red")]), &verdicts, &[], &up());
    let ready = finding(&report, READY);
    assert_eq!((ready.status, ready.reason.as_str()), (Status::False, NOT_PROGRAMMED));
    assert!(ready.message.contains("1 of 2") && ready.message.contains("red: no tap"), "{}", ready.message);
}

#[test]
fn an_absent_engine_fails_its_networks_and_only_them() {
    let spec_of_two = spec(&[network("blue"), NodeNetwork { phase: Phase::Draining, ..network("old") }]);
    let verdicts = verdicts_of_outage(&spec_of_two, &outage());
    let report = report_of(&spec_of_two, &verdicts, &[], &EngineView::Down(outage()));
    let states: Vec<_> = report.networks.iter().map(|entry| (entry.state, entry.reason.as_str())).collect();
    let unreachable = reason::ENGINE_UNREACHABLE;
    assert_eq!(states, [(NetworkState::Failed, unreachable), (NetworkState::Draining, unreachable)]);
    assert_eq!(finding(&report, OVS_CONNECTED).reason, NEVER_SEEN);
    assert!(report.engines.is_empty());

    let empty = report_of(&spec(&[]), &BTreeMap::new(), &[], &EngineView::Down(outage()));
    assert_eq!(finding(&empty, READY).status, Status::True, "nothing is asked of this node");
}

#[test]
fn a_network_that_is_no_longer_asked_for_shows_until_its_pods_are_gone() {
    let records = [record("c1", &network("old"))];
    let report = report_of(&spec(&[]), &BTreeMap::new(), &records, &up());
    let [entry] = report.networks.as_slice() else { panic!("{report:?}") };
    assert_eq!((entry.name.as_str(), entry.state, entry.attachments), ("old", NetworkState::Draining, 1));
}
