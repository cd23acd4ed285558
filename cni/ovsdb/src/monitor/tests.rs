use super::{Cache, CacheError};
use crate::monitor::{self, RowUpdate};
use crate::schema::TABLES;
use crate::value::Uuid;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

const BRIDGE: &str = "00000000-0000-4000-8000-0000000000b1";
const PORTS: [&str; 3] = [
    "00000000-0000-4000-8000-0000000000a1",
    "00000000-0000-4000-8000-0000000000a2",
    "00000000-0000-4000-8000-0000000000a3",
];

fn updates(change: &Json) -> Vec<RowUpdate> {
    monitor::parse_update(&json!(["usnet", "0", {"Bridge": {BRIDGE: change}}])).expect("an update")
}

fn uuid(text: &str) -> Uuid {
    text.parse().expect("a UUID")
}

fn cache() -> Cache {
    let mut cache = Cache::new(&TABLES);
    let row = json!({
        "name": "br0",
        "ports": ["set", [["uuid", PORTS[0]], ["uuid", PORTS[1]]]],
        "external_ids": ["map", [["a", "1"], ["b", "2"]]],
    });
    cache.apply(updates(&json!({"initial": row}))).expect("a row");
    cache
}

#[test]
fn omitted_columns_have_their_default() {
    let bridge = cache().bridges().expect("bridges").remove(0);
    assert_eq!((bridge.name.as_str(), bridge.datapath_type.as_str(), bridge.datapath_id), ("br0", "", None));
    assert_eq!(bridge.ports, BTreeSet::from([uuid(PORTS[0]), uuid(PORTS[1])]));
}

#[test]
fn modify_is_the_difference_of_sets_and_maps_and_the_value_of_the_others() {
    let mut cache = cache();
    let difference = json!({
        "datapath_id": "00000000000000ab",
        "ports": ["set", [["uuid", PORTS[1]], ["uuid", PORTS[2]]]],
        "external_ids": ["map", [["a", "1"], ["b", "3"], ["c", "4"]]],
    });
    cache.apply(updates(&json!({"modify": difference}))).expect("an update");
    let bridge = cache.row::<crate::schema::Bridge>(uuid(BRIDGE)).expect("a bridge").expect("is cached");
    assert_eq!(bridge.ports, BTreeSet::from([uuid(PORTS[0]), uuid(PORTS[2])]));
    let expected = BTreeMap::from([("b".to_owned(), "3".to_owned()), ("c".to_owned(), "4".to_owned())]);
    assert_eq!(bridge.external_ids, expected);
    assert_eq!(bridge.datapath_id.as_deref(), Some("00000000000000ab"));
    cache.apply(updates(&json!({"modify": {"datapath_id": ["set", []]}}))).expect("an update");
    assert_eq!(cache.bridges().expect("bridges")[0].datapath_id, None);
}

#[test]
fn omitted_difference_of_a_set_is_the_whole_set() {
    let mut cache = Cache::new(&TABLES);
    cache.apply(updates(&json!({"insert": {"name": "br0"}}))).expect("a row");
    cache.apply(updates(&json!({"modify": {"ports": ["uuid", PORTS[0]]}}))).expect("an update");
    assert_eq!(cache.bridges().expect("bridges")[0].ports, BTreeSet::from([uuid(PORTS[0])]));
}

#[test]
fn copy_does_not_change() {
    let mut cache = cache();
    let before = cache.clone();
    cache.apply(updates(&json!({"delete": null}))).expect("an update");
    assert_eq!(cache.bridges().expect("bridges").len(), 0);
    assert_eq!(before.bridges().expect("bridges").len(), 1);
}

#[test]
fn update_that_does_not_fit_is_an_error() {
    let mut cache = Cache::new(&TABLES);
    let unknown = CacheError::UnknownRow { table: "Bridge", uuid: uuid(BRIDGE) };
    assert_eq!(cache.apply(updates(&json!({"modify": {}}))), Err(unknown.clone()));
    assert_eq!(cache.apply(updates(&json!({"delete": null}))), Err(unknown));
    let update = monitor::parse_update(&json!(["usnet", "0", {"Mirror": {BRIDGE: {"delete": null}}}]));
    assert_eq!(cache.apply(update.expect("an update")), Err(CacheError::UnknownTable("Mirror".to_owned())));
}

#[test]
fn column_of_another_type_is_named() {
    let mut cache = cache();
    cache.apply(updates(&json!({"modify": {"name": 7}}))).expect("an update");
    let error = cache.bridges().expect_err("not a name");
    assert_eq!(error.to_string(), format!("column name of Bridge row {BRIDGE} should be a string and is 7"));
}
