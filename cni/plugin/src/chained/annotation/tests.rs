use super::*;
use serde_json::json;

/// What an annotation says, as `network@interface`, or the chain of what is wrong with it.
fn read(annotations: &Value) -> Result<Vec<String>, String> {
    let configuration =
        json!({"name": "pods", "networks": "FromPodAnnotations", "runtimeConfig": {CAPABILITY: annotations}});
    let configuration = Configuration::parse(configuration.to_string().as_bytes()).unwrap();
    let taken = ["eth0", "lo"].map(|name| name.parse().unwrap()).into();
    let shown = |element: &Element| format!("{}@{}", element.network, element.interface);
    match Networks::read(&configuration, &taken) {
        Ok(networks) => Ok(networks.elements.iter().map(shown).collect()),
        Err(error) => Err(format!("{error}: {}", crate::error::causes(&error))),
    }
}

fn standard(text: &str) -> Result<Vec<String>, String> {
    read(&json!({STANDARD: text}))
}

#[test]
fn both_forms_say_the_same_and_interfaces_are_counted_as_multus_counts_them() {
    let expected = vec!["blue@net1".to_owned(), "green@data".to_owned(), "blue@net3".to_owned()];
    assert_eq!(standard(" blue , db/green@data,blue").unwrap(), expected);
    let list = r#"[{"name": "blue"}, {"name": "green", "namespace": "db", "interface": "data"}, {"name": "blue", "interface": null}]"#;
    assert_eq!(standard(list).unwrap(), expected);
    let multus = r#"[{"name": "blue", "interfaceRequest": "old", "example.org/colour": "red"}]"#;
    assert_eq!(standard(multus).unwrap(), ["blue@old"]);
}

#[test]
fn a_pod_that_lists_nothing_gets_nothing() {
    for annotations in [json!(null), json!({}), json!({STANDARD: ""}), json!({STANDARD: " [] ", "a": "b"})] {
        assert_eq!(read(&annotations).unwrap(), Vec::<String>::new());
    }
}

#[test]
fn the_own_annotation_leaves_the_standard_one_to_others() {
    assert_eq!(read(&json!({STANDARD: "red", OWN: "blue"})).unwrap(), ["blue@net1"]);
    assert_eq!(read(&json!({STANDARD: "red", OWN: ""})).unwrap(), Vec::<String>::new());
    assert!(read(&json!({STANDARD: "red", OWN: "{"})).unwrap_err().contains(OWN));
}

#[test]
fn what_is_wrong_is_told_with_its_annotation_and_element() {
    let cases: [(&str, &[&str]); 14] = [
        ("[{", &["no JSON list", STANDARD]),
        ("{\"name\": \"blue\"}", &["no JSON list"]),
        ("[\"blue\"]", &["element 1"]),
        ("[{\"name\": \"blue\"}, {\"namespace\": \"db\"}]", &["element 2", "name"]),
        ("blue,,green", &["element 2", "not written"]),
        ("db/x/blue", &["element 1", "DNS label"]),
        ("../blue", &["element 1", "DNS label"]),
        ("[{\"name\": \"../../etc\"}]", &["element 1", "DNS label"]),
        ("blue@", &["element 1"]),
        ("blue@a/b", &["element 1", "\"a/b\""]),
        ("blue@eth0", &["element 1", "another interface eth0"]),
        ("blue@net2,blue", &["element 2", "another interface net2"]),
        ("[{\"name\": \"blue\", \"colour\": \"red\"}]", &["element 1", "\"colour\" is not known"]),
        ("[{\"name\": \"blue\", \"ips\": \"10.0.0.1\"}]", &["element 1", "expected a sequence"]),
    ];
    for (text, words) in cases {
        let said = standard(text).unwrap_err();
        assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
    }
    let long = "x".repeat(300);
    assert!(standard(&long).unwrap_err().contains("DNS label"));
    assert!(standard(&["blue"; 65].join(",")).unwrap_err().contains("65 networks"));
    assert_eq!(standard(&["blue"; 20].join(",")).unwrap().len(), 20);
}

#[test]
fn a_runtime_that_passes_nothing_on_is_told_how_it_would() {
    let silent = Configuration::parse(br#"{"name": "pods", "runtimeConfig": {"mac": "x"}}"#).unwrap();
    assert!(Networks::read(&silent, &BTreeSet::new()).unwrap_err().to_string().contains("\"capabilities\""));
    assert!(read(&json!([])).unwrap_err().contains("object"));
    assert!(read(&json!({STANDARD: 1})).unwrap_err().contains("text"));
}
