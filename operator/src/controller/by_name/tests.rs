use super::*;
use usnet_crds::node_state::NetworkState;

fn report(name: &str, attachments: i64) -> NetworkReport {
    NetworkReport {
        name: name.to_owned(),
        generation: 1,
        state: NetworkState::Programmed,
        reason: String::new(),
        message: String::new(),
        attachments,
        connected: 0,
        pods: Vec::new(),
    }
}

fn list(reports: &[(&str, i64)]) -> ByName<NetworkReport> {
    reports.iter().map(|(name, attachments)| report(name, *attachments)).collect()
}

#[test]
fn a_list_is_sorted_and_has_one_of_each_name() {
    let mut list = list(&[("cyan", 1), ("amber", 2), ("cyan", 3)]);
    assert_eq!(list.names().collect::<Vec<_>>(), ["amber", "cyan"]);
    assert_eq!(list.get("cyan").unwrap().attachments, 3);
    list.insert(Arc::new(report("blue", 4)));
    list.insert(Arc::new(report("amber", 5)));
    assert_eq!(list.iter().map(|it| it.attachments).collect::<Vec<_>>(), [5, 4, 3]);
    assert_eq!(list.place("blue"), Ok(1));
    assert_eq!(list.place("black"), Err(1));
    assert!(list.remove("amber").is_some() && list.remove("amber").is_none());
}

#[test]
fn lists_are_compared_by_name() {
    let (one, two) = (list(&[("a", 1), ("b", 1), ("d", 1), ("e", 1)]), list(&[("b", 2), ("c", 1), ("d", 1)]));
    assert_eq!(one.differing(&two), ["a", "b", "c", "e"]);
    assert_eq!(two.differing(&one), ["a", "b", "c", "e"]);
    assert!(one.differing(&one.clone()).is_empty());
    assert_eq!(ByName::default().differing(&two), ["b", "c", "d"]);
    let mut changed = one.clone();
    changed.insert(Arc::new(report("c", 1)));
    changed.remove("d");
    assert_eq!(one.differing(&changed), ["c", "d"]);
    assert_eq!(changed.differing(&one), ["c", "d"]);
}

#[test]
fn equal_entries_of_different_lists_become_one() {
    let mut pool = Pool::default();
    let (mut one, mut two, mut other) = (list(&[("a", 1)]), list(&[("a", 1)]), list(&[("a", 2)]));
    pool.share(&mut one, None);
    pool.share(&mut other, None);
    pool.share(&mut two, None);
    assert!(Arc::ptr_eq(one.get("a").unwrap(), two.get("a").unwrap()));
    assert_eq!(other.get("a").unwrap().attachments, 2);
}

#[test]
fn what_no_list_has_any_more_is_forgotten() {
    let mut pool = Pool::default();
    for number in 0..1_000 {
        pool.share(&mut list(&[(format!("network-{number}").as_str(), 1)]), None);
    }
    assert!(pool.known.len() <= FEW + 1, "{}", pool.known.len());
}

#[test]
fn an_entry_is_found_wherever_another_list_had_it() {
    let (one, two) = (list(&[("b", 1), ("c", 2)]), list(&[("a", 3), ("b", 4)]));
    let mut near = 0;
    let found: Vec<_> = [(&one, "b"), (&two, "b"), (&one, "b"), (&one, "c"), (&two, "c"), (&two, "a")]
        .map(|(list, name)| list.get_near(name, &mut near).map(|entry| entry.attachments))
        .into();
    assert_eq!(found, [Some(1), Some(4), Some(1), Some(2), None, Some(3)]);
    assert_eq!(near, 0);
}

#[test]
fn a_list_that_is_as_before_stays_the_same_one() {
    let (before, mut same, mut other) = (list(&[("a", 1)]), list(&[("a", 1)]), list(&[("a", 2)]));
    let mut pool = Pool::default();
    pool.share(&mut same, Some(&before));
    pool.share(&mut other, Some(&before));
    assert!(Arc::ptr_eq(&same.0, &before.0));
    assert_eq!(other.get("a").unwrap().attachments, 2);
}
