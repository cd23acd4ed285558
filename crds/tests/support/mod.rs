//! Evaluates the rules of the CRDs as the API server does.

use kube::core::cel::Validator;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use usnet_crds::manifests::crds;

/// The object with defaults filled in. A round trip through the Rust type is equivalent to what the
/// API server does.
pub(crate) fn with_defaults<K: Serialize + DeserializeOwned>(object: &Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<K>(object.clone())?)
}

/// The fields that the CEL rules of the object's kind reject. `old` is the object before an update;
/// none on creation.
pub(crate) fn rejected<K: Serialize + DeserializeOwned>(object: &Value, old: Option<&Value>) -> Vec<String> {
    let crd = crds().unwrap().into_iter().find(|crd| crd["spec"]["names"]["kind"] == object["kind"]).unwrap();
    let schema = crd.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap();
    let old = old.map(|old| with_defaults::<K>(old).unwrap());
    match Validator::new().validate(schema, &with_defaults::<K>(object).unwrap(), old.as_ref()) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.into_iter().map(|error| error.field_path.trim_start_matches('.').to_owned()).collect(),
    }
}
