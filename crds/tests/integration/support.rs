//! Evaluates the rules of the CRDs as the API server does.

use kube::core::cel::Validator;
use serde_json::Value;
use std::sync::LazyLock;
use usnet_crds::manifests::crds;

/// The fields that the CEL rules of the object's kind reject. `old` is the object before an update;
/// none on creation.
pub(crate) fn rejected(object: &Value, old: Option<&Value>) -> Vec<String> {
    static CRDS: LazyLock<Vec<Value>> = LazyLock::new(|| crds().unwrap());
    let crd = CRDS.iter().find(|crd| crd["spec"]["names"]["kind"] == object["kind"]).unwrap();
    let schema = crd.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap();
    match Validator::new().validate(schema, object, old) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.into_iter().map(|error| error.field_path.trim_start_matches('.').to_owned()).collect(),
    }
}
