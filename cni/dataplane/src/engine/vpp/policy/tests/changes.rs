//! Which access lists change with the rules of ports.

use crate::engine::vpp::policy::plan::{AccessLists, Changes, Place, Wanted, plan, whitelist};
use crate::engine::vpp::policy::rules::{PortRules, closed};
use std::collections::{BTreeMap, BTreeSet};
use usnet_vpp::messages::{AclRule, ByDirection};

/// Rules that differ by a number.
fn rules(number: u16) -> Vec<AclRule> {
    closed().input.into_iter().map(|rule| AclRule { last_destination: number, ..rule }).collect()
}

fn wanted(ports: &[(u32, [u16; 2])]) -> BTreeMap<u32, Wanted> {
    let port = |[input, output]: [u16; 2]| {
        let rules = Some(PortRules { input: rules(input), output: rules(output) });
        Wanted { rules, ends_sessions: false, keeps_any: false }
    };
    ports.iter().map(|(index, numbers)| (*index, port(*numbers))).collect()
}

fn ending(mut wanted: BTreeMap<u32, Wanted>) -> BTreeMap<u32, Wanted> {
    wanted.values_mut().for_each(|wanted| wanted.ends_sessions = true);
    wanted
}

/// What VPP has after the changes.
fn applied(mut found: AccessLists, changes: &Changes, wanted: &BTreeMap<u32, Wanted>) -> AccessLists {
    let first = found.own.keys().last().map_or(0, |last| last + 1);
    found.own.extend(changes.replaced.clone());
    found.own.extend((first..).zip(changes.created.iter().cloned()));
    for port in &changes.ports {
        let number = |place| match place {
            Place::Existing(acl) => acl,
            Place::Created(place) => first + u32::try_from(place).unwrap(),
        };
        match port.lists.map(|lists| lists.map(number)) {
            Some([input, output]) => {
                found.lists.insert(port.index, ByDirection { input: vec![input], output: vec![output] });
                found.whitelists.insert(port.index, whitelist());
                found.in_effect.insert(port.index, [true, true]);
            }
            None => drop(found.lists.remove(&port.index)),
        }
    }
    found.own.retain(|acl, _| !changes.unused.contains(acl));
    let again = plan(&found, wanted);
    assert!(again.is_empty() && again.unused.is_empty(), "{again:?}");
    found
}

fn reached(found: AccessLists, wanted: &BTreeMap<u32, Wanted>) -> (AccessLists, Changes) {
    let changes = plan(&found, wanted);
    (applied(found, &changes, wanted), changes)
}

#[test]
fn ports_with_the_same_rules_share_access_lists() {
    let (found, changes) = reached(AccessLists::default(), &wanted(&[(1, [1, 2]), (2, [1, 2]), (3, [1, 3])]));
    assert_eq!((changes.created.len(), found.own.len(), changes.ports.len()), (3, 3, 3));
    assert_eq!(found.lists[&1], found.lists[&2]);
    let (found, changes) = reached(found, &wanted(&[(1, [1, 2]), (2, [1, 2]), (3, [1, 2])]));
    assert_eq!((changes.created.len(), changes.ports.len(), changes.unused.len()), (0, 1, 1));
    assert_eq!(found.lists[&1], found.lists[&3]);
}

#[test]
fn rules_of_all_users_change_in_place_and_end_no_sessions() {
    let (found, _) = reached(AccessLists::default(), &wanted(&[(1, [1, 2]), (2, [1, 2])]));
    let (found, changes) = reached(found, &wanted(&[(1, [1, 3]), (2, [1, 3])]));
    assert_eq!((changes.replaced.len(), changes.created.len(), changes.ports.len()), (1, 0, 0));
    // One of them alone gets another list, and so does one whose sessions end.
    let (found, changes) = reached(found, &wanted(&[(1, [1, 4]), (2, [1, 3])]));
    assert_eq!((changes.replaced.len(), changes.created.len(), changes.ports.len()), (0, 1, 1));
    let (_, changes) = reached(found.clone(), &ending(wanted(&[(1, [1, 4]), (2, [1, 5])])));
    assert_eq!((changes.replaced.len(), changes.created.len(), changes.ports.len()), (0, 1, 1));
    let (_, changes) = reached(found, &ending(wanted(&[(1, [1, 4]), (2, [1, 3])])));
    assert_eq!(changes, Changes::default(), "rules that stay end no sessions");
}

#[test]
fn access_lists_that_change_places_are_not_mixed_up() {
    let (found, _) = reached(AccessLists::default(), &wanted(&[(1, [1, 2]), (2, [3, 4])]));
    for ports in [&[(1, [3, 4]), (2, [1, 2])], &[(1, [2, 1]), (2, [4, 3])], &[(1, [3, 9]), (2, [9, 1])]] {
        reached(found.clone(), &wanted(ports));
    }
}

#[test]
fn what_others_change_is_repaired() {
    let ports = wanted(&[(1, [1, 2]), (2, [1, 2])]);
    let (good, _) = reached(AccessLists::default(), &ports);
    let changes: [fn(&mut AccessLists); 7] = [
        |found| drop(found.lists.remove(&1)),
        |found| found.lists.get_mut(&1).unwrap().input.push(77),
        |found| found.lists.get_mut(&1).unwrap().output.clear(),
        |found| found.own.first_entry().unwrap().get_mut().truncate(1),
        |found| drop(found.whitelists.remove(&2)),
        |found| found.in_effect.extend([(2, [true, false])]),
        |found| found.in_effect.retain(|index, _| *index != 2),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut found = good.clone();
        change(&mut found);
        assert!(!plan(&found, &ports).is_empty(), "{number}");
        let (after, _) = reached(found, &ports);
        assert_eq!(after.lists.len(), 2, "{number}");
    }
    let mut found = good;
    found.in_effect.insert(2, [false, true]);
    assert!(plan(&found, &ports).ports[0].is_reset, "setting the same lists does nothing");
}

#[test]
fn access_lists_of_others_stay() {
    let mut found = AccessLists::default();
    found.lists.insert(1, ByDirection { input: vec![7], output: vec![] });
    found.lists.insert(9, ByDirection { input: vec![7], output: vec![8] });
    let open = BTreeMap::from([(1, Wanted { rules: None, ends_sessions: true, keeps_any: false })]);
    assert_eq!(plan(&found, &open), Changes::default(), "on a port without policies");
    // An interface that usnet does not own has an access list of usnet.
    let ports = wanted(&[(2, [1, 2])]);
    let (mut found, _) = reached(found, &ports);
    let own = found.lists[&2].output[0];
    found.lists.insert(9, ByDirection { input: vec![7], output: vec![own] });
    let changes = plan(&found, &wanted(&[(2, [1, 3])]));
    assert_eq!((changes.replaced.len(), changes.created.len()), (0, 1), "its rules do not change");
    assert_eq!(changes.unused, BTreeSet::new());
}

#[test]
fn a_port_without_policies_has_no_access_lists_any_more() {
    let (found, _) = reached(AccessLists::default(), &wanted(&[(1, [1, 2]), (2, [1, 2])]));
    let mut ports = wanted(&[(1, [1, 2]), (2, [1, 2])]);
    ports.get_mut(&1).unwrap().rules = None;
    let (found, changes) = reached(found, &ports);
    assert_eq!((found.lists.len(), changes.ports[0].lists, changes.unused.len()), (1, None, 0));
    ports.get_mut(&2).unwrap().rules = None;
    let (found, changes) = reached(found, &ports);
    assert_eq!((found.own.len(), changes.unused.len()), (0, 2));
}

#[test]
fn a_port_whose_policies_are_not_known_keeps_its_rules_or_is_closed() {
    let (found, _) = reached(AccessLists::default(), &wanted(&[(1, [1, 2]), (2, [1, 2])]));
    let closed = || Wanted {
        rules: Some(PortRules { input: closed().input, output: closed().output }),
        ends_sessions: true,
        keeps_any: true,
    };
    let unknown = BTreeMap::from([1, 2, 3].map(|index| (index, closed())));
    let changes = plan(&found, &unknown);
    let changed: Vec<u32> = changes.ports.iter().map(|port| port.index).collect();
    assert_eq!((changed, changes.replaced.len(), changes.unused.len()), (vec![3], 0, 0));
    let mut open = found;
    open.in_effect.insert(2, [true, false]);
    assert_eq!(plan(&open, &unknown).ports.len(), 2, "it is compared with nothing");
}
