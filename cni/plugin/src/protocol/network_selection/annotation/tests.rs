use super::*;
use serde_json::json;

/// The elements of an annotation, as `network@interface`, or the chain of errors.
fn read(annotations: &Value) -> Result<Vec<String>, String> {
    let configuration =
        json!({"name": "pods", "networks": "FromPodAnnotations", "runtimeConfig": {CAPABILITY: annotations}});
    let configuration = Configuration::parse(configuration.to_string().as_bytes()).unwrap();
    let used = ["eth0", "lo"].map(|name| name.parse().unwrap()).into();
    let observed = |element: &NetworkSelectionElement| format!("{}@{}", element.network, element.interface);
    match NetworkSelection::read(&configuration, &used) {
        Ok(networks) => Ok(networks.elements.iter().map(observed).collect()),
        Err(error) => Err(format!("{error}: {}", crate::error::causes(&error))),
    }
}

fn standard(text: &str) -> Result<Vec<String>, String> {
    read(&json!({NPWG_ANNOTATION: text}))
}

#[test]
fn both_forms_are_equivalent_and_interfaces_are_numbered_as_by_multus() {
    let expected = vec!["blue@net1".to_owned(), "green@data".to_owned(), "blue@net3".to_owned()];
    assert_eq!(standard(" blue , db/green@data,blue").unwrap(), expected);
    let list = r#"[{"name": "blue"}, {"name": "green", "namespace": "db", "interface": "data"}, {"name": "blue", "interface": null}]"#;
    assert_eq!(standard(list).unwrap(), expected);
    let multus = r#"[{"name": "blue", "interfaceRequest": "old", "example.org/colour": "red"}]"#;
    assert_eq!(standard(multus).unwrap(), ["blue@old"]);
}

#[test]
fn a_pod_that_lists_nothing_gets_nothing() {
    for annotations in
        [json!(null), json!({}), json!({NPWG_ANNOTATION: ""}), json!({NPWG_ANNOTATION: " [] ", "a": "b"})]
    {
        assert_eq!(read(&annotations).unwrap(), Vec::<String>::new());
    }
}

#[test]
fn usnets_annotation_takes_precedence_over_the_standard_one() {
    assert_eq!(read(&json!({NPWG_ANNOTATION: "red", USNET_ANNOTATION: "blue"})).unwrap(), ["blue@net1"]);
    assert_eq!(read(&json!({NPWG_ANNOTATION: "red", USNET_ANNOTATION: ""})).unwrap(), Vec::<String>::new());
    assert!(read(&json!({NPWG_ANNOTATION: "red", USNET_ANNOTATION: "{"})).unwrap_err().contains(USNET_ANNOTATION));
}

#[test]
fn errors_name_the_annotation_and_the_element() {
    let cases: [(&str, &[&str]); 14] = [
        ("[{", &["not a JSON list", NPWG_ANNOTATION]),
        ("{\"name\": \"blue\"}", &["not a JSON list"]),
        ("[\"blue\"]", &["element 1"]),
        ("[{\"name\": \"blue\"}, {\"namespace\": \"db\"}]", &["element 2", "name"]),
        ("blue,,green", &["element 2", "format is not valid"]),
        ("db/x/blue", &["element 1", "DNS label"]),
        ("../blue", &["element 1", "DNS label"]),
        ("[{\"name\": \"../../etc\"}]", &["element 1", "DNS label"]),
        ("blue@", &["element 1"]),
        ("blue@a/b", &["element 1", "\"a/b\""]),
        ("blue@eth0", &["element 1", "already has an interface eth0"]),
        ("blue@net2,blue", &["element 2", "already has an interface net2"]),
        ("[{\"name\": \"blue\", \"colour\": \"red\"}]", &["element 1", "\"colour\" is not known"]),
        ("[{\"name\": \"blue\", \"ips\": \"10.0.0.1\"}]", &["element 1", "expected a sequence"]),
    ];
    for (text, parts) in cases {
        let reported = standard(text).unwrap_err();
        assert!(parts.iter().all(|part| reported.contains(part)), "{text}: {reported}");
    }
    let long = "x".repeat(300);
    assert!(standard(&long).unwrap_err().contains("DNS label"));
    assert!(standard(&["blue"; 65].join(",")).unwrap_err().contains("65 networks"));
    assert_eq!(standard(&["blue"; 20].join(",")).unwrap().len(), 20);
}

#[test]
fn a_runtime_that_passes_no_annotations_gets_advice() {
    let without = Configuration::parse(br#"{"name": "pods", "runtimeConfig": {"mac": "x"}}"#).unwrap();
    assert!(NetworkSelection::read(&without, &BTreeSet::new()).unwrap_err().to_string().contains("\"capabilities\""));
    assert!(read(&json!([])).unwrap_err().contains("object"));
    assert!(read(&json!({NPWG_ANNOTATION: 1})).unwrap_err().contains("text"));
}
