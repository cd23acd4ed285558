use super::*;
use crate::testing::{bridge_of, network, port_of, record};

/// The bridge of network blue with the port of this record, neither of them desired.
fn unwanted(record: &Record) -> Observed {
    let (bridge, mut actual) = bridge_of(&network("blue"));
    actual.ports.insert(record.port.name.clone(), port_of(record));
    Observed { bridges: [(bridge, actual)].into(), ..Observed::default() }
}

fn plan_of(observed: &Observed) -> Vec<PlannedOp> {
    planned(&Desired::default(), observed, &BTreeSet::new(), &PlanContext::default())
}

#[test]
fn an_unreadable_record_keeps_its_own_port_and_bridge_and_nothing_else() {
    let lost = record("c1", &network("blue"));
    let observed = unwanted(&lost);
    let remaining = |unreadable: &str| {
        let unreadable = BTreeSet::from([unreadable.parse().unwrap()]);
        let planned = planned(&Desired::default(), &observed, &unreadable, &PlanContext::default());
        let remaining = remaining(&Desired::default(), &observed, &unreadable);
        assert_eq!(planned.into_iter().map(|planned| planned.op).collect::<Vec<_>>(), remaining);
        remaining
    };
    assert_eq!(remaining("c2.net1").len(), 2, "port and bridge go");
    assert_eq!(remaining("c1.net1"), []);
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
