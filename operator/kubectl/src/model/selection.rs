//! The networks that a pod selects by the annotation that Multus reads, in both of its formats.
//! Unlike usnet's parser for nodes without Multus, this one accepts all that Multus accepts.

use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// A network selection element of the annotation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Selected {
    /// The namespace of the NetworkAttachmentDefinition.
    pub namespace: String,
    /// The name of the NetworkAttachmentDefinition.
    pub name: String,
    /// The name of the interface in the pod.
    pub interface: String,
    /// The IP addresses that the pod requests, with or without prefix lengths.
    pub ips: Vec<String>,
}

impl fmt::Display for Selected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

#[derive(Deserialize)]
struct Element {
    name: String,
    namespace: Option<String>,
    #[serde(alias = "interfaceRequest")]
    interface: Option<String>,
    #[serde(default)]
    ips: Value,
    #[serde(default, rename = "cni-args")]
    arguments: Value,
}

impl Element {
    /// Returns the requested addresses. What else is in their place is Multus' to reject.
    fn requested_ips(&self) -> Vec<String> {
        let lists = [&self.ips, self.arguments.get("ips").unwrap_or(&Value::Null)];
        let texts = lists.into_iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    }
}

/// Parses the annotation of a pod in `namespace`. The error says what is wrong and what to write.
pub(crate) fn selected(annotation: &str, namespace: &str) -> Result<Vec<Selected>, String> {
    let text = annotation.trim();
    let elements = if text.is_empty() {
        Vec::new()
    } else if text.contains(['[', '{', '"']) {
        serde_json::from_str::<Vec<Element>>(text).map_err(|error| {
            format!("it is not a JSON list of networks ({error}): write for example [{{\"name\": \"blue\"}}]")
        })?
    } else {
        text.split(',').enumerate().map(|(index, part)| short(index, part)).collect::<Result<_, _>>()?
    };
    let selected = elements.into_iter().enumerate().map(|(index, element)| Selected {
        ips: element.requested_ips(),
        namespace: element.namespace.filter(|given| !given.is_empty()).unwrap_or_else(|| namespace.to_owned()),
        name: element.name,
        interface: element.interface.filter(|given| !given.is_empty()).unwrap_or_else(|| format!("net{}", index + 1)),
    });
    Ok(selected.collect())
}

fn short(index: usize, text: &str) -> Result<Element, String> {
    let (path, interface) = text.trim().split_once('@').map_or((text.trim(), None), |(path, name)| (path, Some(name)));
    let (namespace, name) = path.split_once('/').map_or((None, path), |(namespace, name)| (Some(namespace), name));
    let is_valid = |part: &str| !part.is_empty() && !part.contains(['/', '@', ' ']);
    if [Some(name), namespace, interface].into_iter().flatten().all(is_valid) {
        let (namespace, interface) = (namespace.map(str::to_owned), interface.map(str::to_owned));
        let (ips, arguments) = (Value::Null, Value::Null);
        return Ok(Element { name: name.to_owned(), namespace, interface, ips, arguments });
    }
    Err(format!("element {} is {:?}: write NAMESPACE/NAME@INTERFACE, of which only NAME is required", index + 1, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(annotation: &str) -> Vec<String> {
        let elements = selected(annotation, "web").unwrap();
        elements.iter().map(|element| format!("{element}@{}", element.interface)).collect()
    }

    #[test]
    fn both_formats_are_read() {
        assert_eq!(texts("blue, db/green@eth1,red"), ["web/blue@net1", "db/green@eth1", "web/red@net3"]);
        assert_eq!(
            texts(
                r#"[{"name": "blue", "ips": ["10.0.0.1/24"]}, {"name": "green", "namespace": "db", "interface": "x"}]"#
            ),
            ["web/blue@net1", "db/green@x"]
        );
        assert!(texts(" ").is_empty());
    }

    #[test]
    fn an_invalid_element_is_named() {
        assert!(selected("a/b/c", "web").unwrap_err().contains("element 1 is \"a/b/c\""));
        assert!(selected(r#"{"name": "blue"}"#, "web").unwrap_err().contains("not a JSON list"));
        assert!(selected("blue,,green", "web").unwrap_err().contains("element 2"));
    }
}
