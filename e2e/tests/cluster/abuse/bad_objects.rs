//! The table that the rules in CEL and in Rust are tested by, on the real API server: it refuses
//! what they refuse, names the field, and takes the rest.

use crate::support::cluster::{apply, kubectl, timeout, try_run};
use serde::Deserialize;
use serde_json::{Value, json};

/// Fewer would mean that the table was not read.
const BAD_OBJECTS_MIN: usize = 50;

/// A case of `crds/testdata/networks.yaml`, which explains the fields.
#[derive(Deserialize)]
struct Case {
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

impl Case {
    fn manifest(&self, spec: &Value) -> Value {
        json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "metadata": {"name": self.name}, "spec": spec,
        })
    }

    /// Returns the response of the API server to a dry run.
    fn ask(&self, verb: &str, spec: &Value) -> Result<String, String> {
        try_run("kubectl", &[verb, "--dry-run=server", "-f", "-"], &self.manifest(spec).to_string())
    }

    /// Returns the difference between the expected and the actual response.
    fn complaint(&self, answer: Result<String, String>) -> Option<String> {
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
    let complaints: Vec<_> = new.iter().filter_map(|case| case.complaint(case.ask("create", &case.spec))).collect();
    assert_eq!(complaints, Vec::<String>::new());
}

/// Judges while the status says that interfaces of pods are attached, which the controller corrects
/// at once: tried again until the judgement was faster.
fn judge_used(case: &Case, judge: impl Fn() -> Option<String>) -> Option<String> {
    const TRIES: usize = 20;
    let status = json!({"status": {"attachments": case.pods}}).to_string();
    let mut complaint = None;
    for _ in 0..TRIES {
        kubectl(&["patch", "usn", &case.name, "--subresource=status", "--type=merge", "-p", &status]);
        complaint = judge();
        if complaint.is_none() {
            break;
        }
    }
    complaint
}

#[test]
fn the_api_server_decides_on_changes_as_the_table_says() {
    let (_, changes) = cases();
    let mut complaints = Vec::new();
    for case in &changes {
        // On no node and for no namespace: only what the API server says of the change is of
        // interest.
        let nowhere = |spec: &Value| {
            let mut spec = spec.clone();
            spec["nodeSelector"] = json!({"matchLabels": {"usnet.dev/judged": "nowhere"}});
            spec["namespaceSelector"] = spec["nodeSelector"].clone();
            spec
        };
        apply(&case.manifest(&nowhere(case.old.as_ref().unwrap())));
        let judge = || case.complaint(case.ask("apply", &nowhere(&case.spec)));
        complaints.extend(if case.pods > 0 { judge_used(case, judge) } else { judge() });
        kubectl(&["delete", "usn", &case.name, timeout()]);
    }
    assert_eq!(complaints, Vec::<String>::new());
}
