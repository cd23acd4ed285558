//! The tables that the rules in CEL and in Rust are tested by, on the real API server: it refuses
//! what they refuse, names the field, and takes the rest.

use crate::support::api::ApiRequest;
use crate::support::cluster::{apply, check, condition, eventually, get, kubectl, timeout};
use serde::Deserialize;
use serde_json::{Value, json};
use usnet_crds::manifests::crds;

/// Fewer would mean that the table was not read.
const BAD_OBJECTS_MIN: usize = 50;
/// The same of UserspaceEngines.
const BAD_ENGINES_MIN: usize = 40;

/// A case of `crds/testdata/networks.yaml` or `engines.yaml`, which explain the fields.
#[derive(Deserialize)]
struct Case {
    #[serde(default = "network")]
    kind: String,
    case: String,
    #[serde(default = "any_name")]
    name: String,
    old: Option<Value>,
    #[serde(default)]
    pods: u32,
    spec: Value,
    refused: Option<String>,
    by: Option<String>,
}

fn any_name() -> String {
    "judged".to_owned()
}

fn network() -> String {
    "UserspaceNetwork".to_owned()
}

impl Case {
    fn manifest(&self, spec: &Value) -> Value {
        json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": self.kind, "metadata": {"name": self.name}, "spec": spec,
        })
    }

    /// Tries to create it, and returns the difference between the expected and the actual response.
    fn complaint_of_new(&self) -> Option<String> {
        self.complaint(ApiRequest::create(&self.manifest(&self.spec)).dry_run().send(None))
    }

    /// Creates the old object of a copy of its kind, tries to change it, and returns the difference
    /// between the expected and the actual response.
    fn complaint_of_change(&self) -> Option<String> {
        let of_copy = |spec: &Value| {
            let mut object = self.manifest(spec);
            object["apiVersion"] = json!(format!("{COPY}/v1alpha1"));
            object
        };
        let mut old = of_copy(self.old.as_ref().unwrap());
        let write = |subresource: &str, object: &Value| ApiRequest::apply("tests", subresource, object).send(None);
        // A new kind is served a moment after it is established.
        eventually("an object of a copied kind", || write("", &old));
        if self.pods > 0 {
            old["status"] = json!({"attachments": self.pods});
            write("status", &old).unwrap();
        }
        let complaint = self.complaint(ApiRequest::apply("tests", "", &of_copy(&self.spec)).dry_run().send(None));
        ApiRequest::delete_object(&old).send(None).unwrap();
        complaint
    }

    fn complaint(&self, answer: Result<Value, String>) -> Option<String> {
        // The rest is for the controller, whose condition names it.
        let refused = self.refused.as_ref().filter(|_| self.by.as_deref() != Some("controller"));
        match (refused, answer) {
            (None, Ok(_)) => None,
            (Some(field), Err(words)) if words.contains(field.as_str()) => None,
            (Some(field), Err(words)) => Some(format!("{}: refused without naming {field}: {words}", self.case)),
            (Some(field), Ok(_)) => Some(format!("{}: accepted in spite of {field}", self.case)),
            (None, Err(words)) => Some(format!("{}: refused: {words}", self.case)),
        }
    }
}

fn cases() -> (Vec<Case>, Vec<Case>) {
    let all: Vec<Case> = serde_yaml::from_str(include_str!("../../../../crds/testdata/networks.yaml")).unwrap();
    let bad = all.iter().filter(|case| case.refused.is_some()).count();
    assert!(bad >= BAD_OBJECTS_MIN, "{bad} bad objects");
    println!("{bad} bad objects and {} good ones", all.len() - bad);
    all.into_iter().partition(|case| case.old.is_none())
}

#[test]
fn the_api_server_decides_on_new_networks_as_the_table_says() {
    let (new, _) = cases();
    let complaints: Vec<_> = new.iter().filter_map(Case::complaint_of_new).collect();
    assert_eq!(complaints, Vec::<String>::new());
}

/// The cases of UserspaceEngines.
fn engines() -> (Vec<Case>, Vec<Case>) {
    let mut all: Vec<Case> = serde_yaml::from_str(include_str!("../../../../crds/testdata/engines.yaml")).unwrap();
    all.iter_mut().for_each(|case| case.kind = "UserspaceEngine".to_owned());
    let bad = all.iter().filter(|case| case.refused.is_some()).count();
    assert!(bad >= BAD_ENGINES_MIN, "{bad} bad engines");
    println!("{bad} bad engines and {} good ones", all.len() - bad);
    all.into_iter().partition(|case| case.old.is_none())
}

#[test]
fn the_api_server_decides_on_engines_as_the_table_says() {
    let (new, changes) = engines();
    let _copy = Copy::of("UserspaceEngine");
    let new = new.iter().filter_map(Case::complaint_of_new);
    let complaints: Vec<_> = new.chain(changes.iter().filter_map(Case::complaint_of_change)).collect();
    assert_eq!(complaints, Vec::<String>::new());
}

/// The group of copies of kinds.
const COPY: &str = "copies.usnet.dev";

/// A copy of a kind in another group, until this is dropped. The API server decides by the same
/// rules, and no controller writes meanwhile.
struct Copy(String);

impl Copy {
    fn of(kind: &str) -> Self {
        let mut crd = crds().unwrap().into_iter().find(|crd| crd["spec"]["names"]["kind"] == kind).unwrap();
        let plural = crd["spec"]["names"]["plural"].as_str().unwrap();
        let name = format!("{plural}.{COPY}");
        crd["metadata"] = json!({"name": name});
        crd["spec"]["group"] = json!(COPY);
        for names in ["shortNames", "categories"] {
            crd["spec"]["names"].as_object_mut().unwrap().remove(names);
        }
        apply(&crd);
        eventually("the copy of a kind", || {
            let crd = get(&["crd", &name]).ok_or("none")?;
            check(condition(&crd, "Established").is_some_and(|it| it["status"] == "True"), crd["status"].to_string())
        });
        Self(name)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        kubectl(&["delete", "crd", &self.0, timeout()]);
    }
}

#[test]
fn the_api_server_decides_on_changes_as_the_table_says() {
    let (_, changes) = cases();
    let _copy = Copy::of("UserspaceNetwork");
    let complaints: Vec<_> = changes.iter().filter_map(Case::complaint_of_change).collect();
    assert_eq!(complaints, Vec::<String>::new());
}
