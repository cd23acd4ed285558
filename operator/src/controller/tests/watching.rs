//! What the events of a watch make of what is known.

use super::super::feed::{Before, Feed};
use kube::runtime::watcher::Event;
use std::collections::BTreeMap;

type Objects = BTreeMap<&'static str, i32>;

#[test]
fn a_half_read_list_takes_nothing_away() {
    let (mut feed, mut before, mut objects) = (Feed::default(), Before::new(), Objects::from([("a", 1), ("b", 2)]));
    assert!(!feed.take(&mut objects, &mut before, Event::Init));
    assert!(!feed.take(&mut objects, &mut before, Event::InitApply(("a", 1))));
    assert_eq!(objects, Objects::from([("a", 1), ("b", 2)]));
    // The list breaks off and starts anew.
    assert!(!feed.take(&mut objects, &mut before, Event::Init));
    assert!(!feed.is_complete());
    assert!(!feed.take(&mut objects, &mut before, Event::InitApply(("b", 2))));
    assert!(feed.take(&mut objects, &mut before, Event::InitDone));
    assert_eq!(objects, Objects::from([("b", 2)]));
    assert!(feed.is_complete());
}

#[test]
fn what_does_not_matter_starts_no_pass() {
    let (mut feed, mut before, mut objects) = (Feed::default(), Before::new(), Objects::new());
    assert!(feed.take(&mut objects, &mut before, Event::InitDone));
    assert!(feed.take(&mut objects, &mut before, Event::Apply(("a", 1))));
    assert!(!feed.take(&mut objects, &mut before, Event::Apply(("a", 1))));
    assert!(feed.take(&mut objects, &mut before, Event::Delete(("a", 1))));
    assert!(!feed.take(&mut objects, &mut before, Event::Delete(("a", 1))));
    assert!(!feed.take(&mut objects, &mut before, Event::InitDone));
}

#[test]
fn what_was_there_at_first_is_remembered() {
    let (mut feed, mut before, mut objects) = (Feed::default(), Before::new(), Objects::from([("a", 1), ("b", 2)]));
    feed.take(&mut objects, &mut before, Event::Apply(("a", 3)));
    feed.take(&mut objects, &mut before, Event::Apply(("a", 4)));
    feed.take(&mut objects, &mut before, Event::Apply(("c", 5)));
    feed.take(&mut objects, &mut before, Event::Delete(("c", 5)));
    feed.take(&mut objects, &mut before, Event::Init);
    feed.take(&mut objects, &mut before, Event::InitApply(("a", 4)));
    feed.take(&mut objects, &mut before, Event::InitDone);
    assert_eq!(before, Before::from([("a", Some(1)), ("b", Some(2)), ("c", None)]));
    assert_eq!(objects, Objects::from([("a", 4)]));
}
