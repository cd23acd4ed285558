//! The effect of watch events on the cache.

use kube::runtime::watcher::Event;
use std::collections::BTreeMap;
use usnet_common::api::reflector::Reflector;

type Objects = BTreeMap<&'static str, i32>;

#[test]
fn an_incomplete_list_removes_nothing() {
    let (mut reflector, mut objects) = (Reflector::default(), Objects::from([("a", 1), ("b", 2)]));
    assert_eq!(reflector.apply(&mut objects, Event::Init), []);
    assert_eq!(reflector.apply(&mut objects, Event::InitApply(("a", 1))), []);
    assert_eq!(objects, Objects::from([("a", 1), ("b", 2)]));
    // The list is interrupted and restarts.
    assert_eq!(reflector.apply(&mut objects, Event::Init), []);
    assert!(!reflector.is_complete());
    assert_eq!(reflector.apply(&mut objects, Event::InitApply(("b", 2))), []);
    assert_eq!(reflector.apply(&mut objects, Event::InitDone), [("a", Some(1))]);
    assert_eq!(objects, Objects::from([("b", 2)]));
    assert!(reflector.is_complete());
}

#[test]
fn equal_objects_are_no_change() {
    let (mut reflector, mut objects) = (Reflector::default(), Objects::new());
    assert_eq!(reflector.apply(&mut objects, Event::Apply(("a", 1))), [("a", None)]);
    assert_eq!(reflector.apply(&mut objects, Event::Apply(("a", 1))), []);
    assert_eq!(reflector.apply(&mut objects, Event::Apply(("a", 2))), [("a", Some(1))]);
    assert_eq!(reflector.apply(&mut objects, Event::Delete(("a", 2))), [("a", Some(2))]);
    assert_eq!(reflector.apply(&mut objects, Event::Delete(("a", 2))), []);
}
