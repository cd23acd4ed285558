use super::*;
use crate::agent::testing::{bridge_of, network, port_of, record};

/// The bridge of network blue with the port of this record, neither of them desired.
fn unwanted(record: &Record) -> Observed {
    let (bridge, mut shown) = bridge_of(&network("blue"));
    shown.ports.insert(record.port.name.clone(), port_of(record));
    Observed { bridges: [(bridge, shown)].into(), ..Observed::default() }
}

fn plan_of(observed: &Observed) -> Vec<PlannedOp> {
    let journal = JournalView { records: &[], complete: true };
    planned(&Desired::default(), observed, journal, &PlanContext::default())
}

#[test]
fn nothing_that_an_unreadable_record_could_be_about_is_removed() {
    let lost = record("c1", &network("blue"));
    let observed = unwanted(&lost);
    let desired = Desired::default();
    let journal = JournalView { records: &[], complete: true };
    assert_eq!(remaining(&desired, &observed, journal).len(), 2, "port and bridge go");
    assert_eq!(remaining(&desired, &observed, JournalView { complete: false, ..journal }), []);
}

#[test]
fn the_port_of_a_known_record_is_removed_even_when_others_are_unreadable() {
    let mut leaving = record("c1", &network("blue"));
    leaving.progress = Progress::Detaching;
    let records = [leaving.clone()];
    let desired = Desired::new([network("blue")], &records);
    let journal = JournalView { records: &records, complete: false };
    let operations = remaining(&desired, &unwanted(&leaving), journal);
    assert!(matches!(operations.as_slice(), [Op::RemovePort { .. }]), "{operations:?}");
}

#[test]
fn a_contended_attachment_keeps_its_port_and_its_bridge() {
    let contended = record("c1", &network("blue"));
    let planned = plan_of(&unwanted(&contended));
    assert_eq!(without_contended(planned.clone(), &BTreeSet::from(["c2.net1".parse().unwrap()])), planned);
    assert_eq!(without_contended(planned, &BTreeSet::from(["c1.net1".parse().unwrap()])), []);
}

#[test]
fn attachments_are_locked_that_change_or_left_only_their_port() {
    let mut leaving = record("c2", &network("blue"));
    leaving.progress = Progress::Detached;
    let planned = plan_of(&unwanted(&record("c1", &network("blue"))));
    let locked = attachments_to_lock(&planned, &[leaving, record("c3", &network("blue"))]);
    assert_eq!(locked.iter().map(ToString::to_string).collect::<Vec<_>>(), ["c1.net1", "c2.net1"]);
}
