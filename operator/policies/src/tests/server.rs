//! An API server that has compiled policies and slices of pods, as far as the controller writes
//! them.

use crate::observed::Observed;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use usnet_common::testing::api_server::{Answer, ApiServer};

/// Objects are named `policy NAME` and `pods NAME`, also in requests.
pub(super) struct Server {
    api: ApiServer,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    requests: Vec<String>,
}

impl Server {
    /// Requests with this text are answered with this status.
    pub(super) fn start(refused: Option<(&'static str, u16)>) -> Self {
        let state = Arc::<Mutex<State>>::default();
        let of_server = Arc::clone(&state);
        let api = ApiServer::handling(move |line, body| {
            let body: Value = serde_json::from_slice(body).unwrap_or_default();
            let (method, object) = named(line, &body);
            let mut state = of_server.lock().unwrap();
            state.requests.push(format!("{method} {object}"));
            let answer = match refused {
                Some((text, code)) if object.contains(text) => Err(code),
                _ => state.handle(method, &object, body),
            };
            let refusal = |code| Answer::new(code, status("Failure", code).to_string());
            Some(answer.map_or_else(refusal, |object| Answer::ok(object.to_string())))
        });
        Self { api, state }
    }

    pub(super) fn client(&self) -> kube::Client {
        self.api.client()
    }

    /// The requests so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }

    pub(super) fn object(&self, name: &str) -> Option<Value> {
        self.state.lock().unwrap().objects.get(name).cloned()
    }

    pub(super) fn put(&self, name: &str, object: Value) {
        self.state.lock().unwrap().objects.insert(name.to_owned(), object);
    }

    /// What was observed is there. What cannot be read has another spec.
    pub(super) fn store(&self, observed: &Observed) {
        let object = |kind: &str, name: &str, spec: Value| json!({"apiVersion": "usnet.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec});
        for (name, spec) in &observed.compiled.objects {
            self.put(&format!("policy {name}"), object("CompiledPolicy", name, json!(spec)));
        }
        for (name, spec) in &observed.slices.objects {
            self.put(&format!("pods {name}"), object("UserspacePodSlice", name, json!(spec)));
        }
    }
}

impl State {
    /// The object, or the code of the refusal.
    fn handle(&mut self, method: &str, name: &str, body: Value) -> Result<Value, u16> {
        match method {
            "POST" if self.objects.contains_key(name) => Err(409),
            "POST" => {
                let mut object = body;
                object["metadata"]["managedFields"] = json!([{"manager": "usnet-policies", "operation": "Update"}]);
                self.objects.insert(name.to_owned(), object.clone());
                Ok(object)
            }
            "PATCH" => {
                let object = self.objects.get_mut(name).ok_or(404_u16)?;
                let patch: json_patch::Patch = serde_json::from_value(body).unwrap();
                json_patch::patch(object, &patch).map_err(|_| 422_u16)?;
                if object["metadata"]["managedFields"] == json!([{}]) {
                    object["metadata"].as_object_mut().unwrap().remove("managedFields");
                }
                Ok(object.clone())
            }
            "DELETE" => self.objects.remove(name).map(|_| status("Success", 200)).ok_or(404),
            other => panic!("{other} is not expected"),
        }
    }
}

/// The method, and the object that a request is about.
fn named<'a>(line: &'a str, body: &Value) -> (&'a str, String) {
    let (method, path) = line.split_once(' ').unwrap();
    let path = path.split('?').next().unwrap().trim_start_matches("/apis/usnet.dev/v1alpha1/");
    let (plural, name) = path.split_once('/').unwrap_or((path, ""));
    let name = if name.is_empty() { body["metadata"]["name"].as_str().unwrap() } else { name };
    let kind = if plural == "userspacepodslices" { "pods" } else { "policy" };
    (method, format!("{kind} {name}"))
}

fn status(status: &str, code: u16) -> Value {
    let reason = match code {
        404 => "NotFound",
        409 => "AlreadyExists",
        _ => "Forbidden",
    };
    json!({"kind": "Status", "apiVersion": "v1", "status": status, "code": code, "reason": reason, "message": "no"})
}
