//! What the events of a watch make of what is known.

use super::super::inputs::Feed;
use kube::runtime::watcher::Event;
use std::collections::BTreeMap;

type Objects = BTreeMap<&'static str, i32>;

#[test]
fn a_half_read_list_takes_nothing_away() {
    let (mut feed, mut objects) = (Feed::default(), Objects::from([("a", 1), ("b", 2)]));
    assert!(!feed.take(&mut objects, Event::Init));
    assert!(!feed.take(&mut objects, Event::InitApply(("a", 1))));
    assert_eq!(objects, Objects::from([("a", 1), ("b", 2)]));
    // The list breaks off and starts anew.
    assert!(!feed.take(&mut objects, Event::Init));
    assert!(!feed.is_complete());
    assert!(!feed.take(&mut objects, Event::InitApply(("b", 2))));
    assert!(feed.take(&mut objects, Event::InitDone));
    assert_eq!(objects, Objects::from([("b", 2)]));
    assert!(feed.is_complete());
}

#[test]
fn what_does_not_matter_starts_no_pass() {
    let (mut feed, mut objects) = (Feed::default(), Objects::new());
    assert!(feed.take(&mut objects, Event::InitDone));
    assert!(feed.take(&mut objects, Event::Apply(("a", 1))));
    assert!(!feed.take(&mut objects, Event::Apply(("a", 1))));
    assert!(feed.take(&mut objects, Event::Delete(("a", 1))));
    assert!(!feed.take(&mut objects, Event::Delete(("a", 1))));
    assert!(!feed.take(&mut objects, Event::InitDone));
}
