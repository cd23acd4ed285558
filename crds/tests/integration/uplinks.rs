//! A table of uplinks, validated by the CEL rules of the CRD and by `validate` in Rust.

use crate::support::rejected;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::uplink::validate::{ValidUplink, validate};
use usnet_crds::{EngineKind, NicDevice, NodeTraffic, UplinkDevice, UserspaceUplink};

#[derive(Deserialize)]
struct Case {
    case: String,
    name: Option<String>,
    old: Option<Value>,
    spec: Value,
    refused: Option<String>,
    by: Option<String>,
}

impl Case {
    fn object(&self, spec: &Value) -> Value {
        let name = self.name.as_deref().unwrap_or("fab");
        json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceUplink",
            "metadata": {"name": name, "generation": 3}, "spec": spec,
        })
    }

    fn rejected_by_cel(&self) -> Vec<String> {
        let old = self.old.as_ref().map(|old| self.object(old));
        rejected(&self.object(&self.spec), old.as_ref())
    }

    fn validated(&self) -> Result<ValidUplink, Vec<String>> {
        let uplink: UserspaceUplink = serde_json::from_value(self.object(&self.spec)).unwrap();
        validate(&uplink).map_err(|invalid| invalid.problems.into_iter().map(|problem| problem.field).collect())
    }
}

fn cases(by: Option<&str>) -> Vec<Case> {
    let all: Vec<Case> = serde_yaml::from_str(include_str!("../../testdata/uplinks.yaml")).unwrap();
    let all: Vec<Case> = all.into_iter().filter(|case| case.by.as_deref() == by).collect();
    assert!(!all.is_empty(), "{by:?}");
    all
}

#[test]
fn valid_uplinks_are_accepted_by_both() {
    for case in cases(None) {
        assert_eq!(case.rejected_by_cel(), Vec::<String>::new(), "{}", case.case);
        assert!(case.validated().is_ok(), "{}", case.case);
    }
}

#[test]
fn invalid_uplinks_are_rejected_by_both_with_the_field() {
    for case in cases(Some("rule")) {
        let field = case.refused.clone().unwrap();
        // A rule about metadata can only stand at the root of the object, and so has no path.
        let expected = if field == "metadata.name" { "" } else { &field };
        assert!(case.rejected_by_cel().contains(&expected.to_owned()), "{}: {:?}", case.case, case.rejected_by_cel());
        if case.old.is_none() {
            let by_rust = case.validated().unwrap_err();
            assert!(by_rust.len() == 1 && by_rust[0].starts_with(&field), "{}: {by_rust:?}", case.case);
        }
    }
}

#[test]
fn what_the_schema_rejects_cannot_be_deserialized_or_is_rejected_by_rust() {
    for case in cases(Some("schema")) {
        let read = serde_json::from_value::<UserspaceUplink>(case.object(&case.spec));
        assert!(read.is_err(), "{}", case.case);
    }
    for case in cases(Some("list")) {
        assert_eq!(case.validated().unwrap_err(), [case.refused.clone().unwrap()], "{}", case.case);
    }
}

#[test]
fn a_node_has_the_first_nic_that_its_labels_match() {
    let case = cases(None).into_iter().find(|case| case.case.starts_with("NICs by rack")).unwrap();
    let uplink = case.validated().unwrap();
    let device = |rack: &str, missing: &[EngineKind]| {
        let labels = BTreeMap::from([("rack".to_owned(), rack.to_owned())]);
        let missing: BTreeSet<EngineKind> = missing.iter().copied().collect();
        uplink.on_node(&labels, &missing).map(|uplink| (uplink.nic.device, uplink.generation))
    };
    let kind = |rack, missing: &[EngineKind]| match device(rack, missing) {
        Some((UplinkDevice::Nic(NicDevice::MacAddress { mac_address }), 3)) => mac_address.to_string(),
        Some((UplinkDevice::Nic(NicDevice::PciAddress { pci_address }), 3)) => pci_address.to_string(),
        Some((UplinkDevice::Nic(NicDevice::Name { name }), 3)) => name.to_string(),
        other => format!("{other:?}"),
    };
    let with_all = ["a", "c", "z"].map(|rack| kind(rack, &[]));
    assert_eq!(with_all, ["02:00:00:00:00:0a", "0000:3b:00.0", "eth1"]);
    // Without a selector the engine decides, with one the selector alone.
    let without = ["c", "z"].map(|rack| kind(rack, &[EngineKind::OpenVswitch]));
    assert_eq!(without, ["0000:3b:00.0", "None"]);
}

#[test]
fn the_sample_is_accepted_with_its_network() {
    for document in serde_yaml::Deserializer::from_str(include_str!("../../../config/samples/uplink.yaml")) {
        let object = Value::deserialize(document).unwrap();
        if object["kind"] == "UserspaceUplink" {
            assert_eq!(rejected(&object, None), Vec::<String>::new());
            let uplink: UserspaceUplink = serde_json::from_value(object.clone()).unwrap();
            assert!(validate(&uplink).is_ok());
            assert_eq!(uplink.spec.node_traffic, NodeTraffic::Refused);
        } else {
            assert_eq!(rejected(&object, None), Vec::<String>::new());
        }
    }
}
