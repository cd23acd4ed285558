//! Mistakes in workloads, which are those of their pods, and their own.

use super::{Mistake, Mistakes, NAME, VETH};
use serde_json::{Value, json};

impl Mistakes<'_> {
    /// A workload of this kind whose pods have this annotation.
    fn workload(
        &mut self,
        (kind, what): (&'static str, &str),
        networks: &str,
        change: impl FnOnce(&mut Value),
        expected: (&'static str, &'static str),
    ) -> &mut Mistake {
        let mut pod = self.sleeping(networks);
        let name = pod["metadata"]["name"].take();
        pod["metadata"].as_object_mut().unwrap().retain(|key, _| key == "annotations");
        pod["metadata"]["labels"] = json!({"app": name});
        pod.as_object_mut().unwrap().retain(|key, _| ["metadata", "spec"].contains(&key.as_str()));
        let is_job = kind == "job";
        let api = if is_job { "batch/v1" } else { "apps/v1" };
        let named = match kind {
            "deployment" => "Deployment",
            "statefulset" => "StatefulSet",
            "daemonset" => "DaemonSet",
            _ => "Job",
        };
        let mut object = json!({
            "apiVersion": api, "kind": named, "metadata": {"name": name, "namespace": NAME}, "spec": {"template": pod},
        });
        if is_job {
            object["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
        } else {
            object["spec"]["selector"] = json!({"matchLabels": {"app": name}});
        }
        if kind == "statefulset" {
            object["spec"]["serviceName"] = object["metadata"]["name"].clone();
        }
        change(&mut object);
        self.add((kind, what), object, expected)
    }
}

pub(super) fn add(mistakes: &mut Mistakes<'_>) {
    let misplaced = |object: &mut Value| {
        let annotations = object["spec"]["template"]["metadata"]["annotations"].take();
        object["metadata"]["annotations"] = annotations;
        object["spec"]["template"]["metadata"].as_object_mut().unwrap().remove("annotations");
    };
    let expected = ("AnnotationMisplaced", "spec.template.metadata.annotations");
    mistakes.workload(("deployment", "the annotation at the Deployment"), VETH, misplaced, expected);
    let none = |object: &mut Value| object["spec"]["replicas"] = json!(0);
    mistakes.workload(("deployment", "a Deployment of no pods"), VETH, none, ("NoPods", "--replicas=1"));
    let account = |object: &mut Value| object["spec"]["template"]["spec"]["serviceAccountName"] = json!("none");
    let expected = ("PodsNotCreated", "pod template");
    mistakes.workload(("deployment", "a ServiceAccount that does not exist"), VETH, account, expected);
    let unmounted =
        |object: &mut Value| object["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = json!([]);
    let expected = ("VolumeNotMounted", "add volumeMounts");
    mistakes.workload(("statefulset", "a StatefulSet that mounts no volume"), NAME, unmounted, expected);
    let expected = ("UnknownNetwork", "write ask-wrong-veth if");
    mistakes.workload(("job", "a Job with a misspelt network"), "ask-wrong-vet", |_| {}, expected);
    let nowhere = |object: &mut Value| {
        let spec = object["spec"]["template"]["spec"].as_object_mut().unwrap();
        spec.remove("nodeName");
        spec.insert("nodeSelector".to_owned(), json!({"rack": "none"}));
    };
    mistakes.workload(("daemonset", "a DaemonSet for no node"), VETH, nowhere, ("NoPods", "nodeSelector"));
}
