//! What of an object a value of the chart, or the name of the namespace, stands for.

use serde_json::Value;

use super::ChartError;
use super::template;
use super::tree::{Guard, Slot, Tree};

/// The namespace in `config/`.
const NAMESPACE: &str = "usnet-system";

/// The form of a value of the chart that replaces what `config/` has.
#[derive(Clone, Copy)]
enum Form {
    Scalar,
    Block,
}

/// Object, place, value of the chart. An empty value leaves what `config/` has.
const REPLACEABLE: [(&str, &str, &str, Form); 9] = [
    ("DaemonSet/usnet-agent", "spec/template/spec/nodeSelector", "agent.nodeSelector", Form::Block),
    ("DaemonSet/usnet-agent", "spec/template/spec/tolerations", "agent.tolerations", Form::Block),
    ("DaemonSet/usnet-agent", "spec/template/spec/containers/agent/resources", "agent.resources", Form::Block),
    ("DaemonSet/usnet-agent", "spec/template/spec/imagePullSecrets", "imagePullSecrets", Form::Block),
    ("Deployment/usnet-controller", "spec/replicas", "controller.replicas", Form::Scalar),
    ("Deployment/usnet-controller", "spec/template/spec/nodeSelector", "controller.nodeSelector", Form::Block),
    ("Deployment/usnet-controller", "spec/template/spec/tolerations", "controller.tolerations", Form::Block),
    (
        "Deployment/usnet-controller",
        "spec/template/spec/containers/controller/resources",
        "controller.resources",
        Form::Block,
    ),
    ("Deployment/usnet-controller", "spec/template/spec/imagePullSecrets", "imagePullSecrets", Form::Block),
];

/// The port of the agent's metrics in `config/`, and the template's value in its place. With the
/// network of the node another program may have it.
const METRICS_PORT: u64 = 28181;
const METRICS_PORT_VALUE: &str = "{{ .Values.agent.metricsPort }}";

/// Folders of a node that differ among distributions; the mounts of the agent stay the same.
const NODE_FOLDERS: [(&str, &str); 3] = [
    ("/opt/cni/bin", "{{ include \"usnet.cniBinDir\" . | quote }}"),
    ("/etc/cni/net.d", "{{ include \"usnet.cniConfDir\" . | quote }}"),
    ("/var/lib/kubelet/device-plugins", "{{ printf \"%s/device-plugins\" .Values.kubeletDir | quote }}"),
];

/// Makes all changes of the object with this kind and name.
///
/// # Errors
/// When a place is not there.
pub fn apply(name: &str, object: &mut Slot, version: &str) -> Result<(), ChartError> {
    if name.starts_with("CustomResourceDefinition/") {
        return keep_definition(name, object);
    }
    let image = format!("usnet:{version}");
    for (_, tree) in &mut *object {
        substitute(tree, &mut Vec::new(), &image);
    }
    for (_, place, value, form) in REPLACEABLE.iter().filter(|(object, ..)| *object == name) {
        make_replaceable(object, place, value, *form).ok_or_else(|| ChartError::NoPlace(format!("{name}: {place}")))?;
    }
    Ok(())
}

/// A definition is part of the chart, so that an upgrade updates it, and stays when the chart is
/// removed: all networks would be deleted with it.
fn keep_definition(name: &str, object: &mut Slot) -> Result<(), ChartError> {
    let no_place = || ChartError::NoPlace(format!("{name}: metadata"));
    let keep = Guard { value: "crds.keep", is_on: true };
    let annotation = Tree::Value(Value::from("keep"));
    let annotation = ("helm.sh/resource-policy".to_owned(), vec![(vec![keep.clone()], annotation)]);
    let metadata = slots_at(object, "metadata").ok_or_else(no_place)?;
    match metadata.iter_mut().find(|(key, _)| key == "annotations").and_then(|(_, slot)| slot.first_mut()) {
        Some((_, Tree::Map(annotations))) => annotations.push(annotation),
        Some(_) => return Err(no_place()),
        None => metadata.push(("annotations".to_owned(), vec![(vec![keep], Tree::Map(vec![annotation]))])),
    }
    for (conditions, _) in object {
        conditions.push(Guard { value: "crds.install", is_on: true });
    }
    Ok(())
}

fn substitute(tree: &mut Tree, path: &mut Vec<String>, image: &str) {
    match tree {
        Tree::Map(slots) | Tree::List(slots) => {
            for (key, slot) in slots {
                path.push(key.clone());
                slot.iter_mut().for_each(|(_, tree)| substitute(tree, path, image));
                path.pop();
            }
        }
        Tree::Value(Value::String(string)) => {
            if let Some(expression) = expression_for(string, path, image) {
                *tree = Tree::Expression(expression);
            }
        }
        Tree::Value(Value::Number(number)) if number.as_u64() == Some(METRICS_PORT) => {
            *tree = Tree::Expression(METRICS_PORT_VALUE.to_owned());
        }
        Tree::Value(_) | Tree::Expression(_) | Tree::Block(_) => {}
    }
}

fn expression_for(string: &str, path: &[String], image: &str) -> Option<String> {
    if string == image {
        return Some("{{ include \"usnet.image\" . | quote }}".to_owned());
    }
    if path.iter().any(|key| key == "hostPath")
        && let Some((_, expression)) = NODE_FOLDERS.iter().find(|(folder, _)| *folder == string)
    {
        return Some((*expression).to_owned());
    }
    let port = format!(":{METRICS_PORT}");
    if !string.contains(NAMESPACE) && !string.ends_with(&port) {
        return None;
    }
    let text = template::escape(&Value::from(string).to_string());
    Some(text.replace(NAMESPACE, "{{ .Release.Namespace }}").replace(&port, &format!(":{METRICS_PORT_VALUE}")))
}

/// None when the object has no such place.
fn make_replaceable(object: &mut Slot, place: &str, value: &'static str, form: Form) -> Option<()> {
    let (parent, key) = place.rsplit_once('/')?;
    let replacement = match form {
        Form::Scalar => Tree::Expression(format!("{{{{ .Values.{value} }}}}")),
        Form::Block => Tree::Block(value),
    };
    let replacement = (vec![Guard { value, is_on: true }], replacement);
    let slots = slots_at(object, parent)?;
    match slots.iter_mut().find(|(name, _)| name == key) {
        Some((_, slot)) => {
            slot.iter_mut().for_each(|(conditions, _)| conditions.push(Guard { value, is_on: false }));
            slot.push(replacement);
        }
        None => slots.push((key.to_owned(), vec![replacement])),
    }
    Some(())
}

/// The parts of what the base has at a path.
fn slots_at<'a>(object: &'a mut Slot, path: &str) -> Option<&'a mut Vec<(String, Slot)>> {
    let mut slot = object;
    for key in path.split('/') {
        let (Tree::Map(slots) | Tree::List(slots)) = &mut slot.first_mut()?.1 else { return None };
        slot = &mut slots.iter_mut().find(|(name, _)| name == key)?.1;
    }
    match &mut slot.first_mut()?.1 {
        Tree::Map(slots) | Tree::List(slots) => Some(slots),
        Tree::Value(_) | Tree::Expression(_) | Tree::Block(_) => None,
    }
}
