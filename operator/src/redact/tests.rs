use super::{REMOVED, Redactor};
use serde_json::{Value, json};

#[test]
fn values_of_names_of_secrets_are_removed_wherever_they_stand() {
    let config = json!({"type": "userspace", "ipam": {"type": "whereabouts", "etcd_password": "hunter22", "range": "10.0.0.0/24"}});
    let mut document = json!({
        "metadata": {"name": "a", "managedFields": [1], "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{\"password\":\"hunter22\"}",
        }},
        "spec": {"config": config.to_string(), "memif": {"secret": "Generated"}, "automountServiceAccountToken": true},
        "env": [{"name": "API_TOKEN", "value": "abcdef123"}, {"name": "LEVEL", "value": "info"}],
        "clientSecret": {"inner": ["topsecret", 1_234_567]},
        "pin": "kept",
    });
    let mut redactor = Redactor::default();
    redactor.document(&mut document);
    let inner: Value = serde_json::from_str(document["spec"]["config"].as_str().unwrap()).unwrap();
    assert_eq!(inner["ipam"], json!({"type": "whereabouts", "etcd_password": REMOVED, "range": "10.0.0.0/24"}));
    assert_eq!(document["metadata"], json!({"name": "a", "annotations": {}}));
    assert_eq!((&document["spec"]["memif"]["secret"], &document["pin"]), (&json!("Generated"), &json!("kept")));
    assert_eq!(document["spec"]["automountServiceAccountToken"], true);
    assert_eq!(document["env"][0]["value"], REMOVED);
    assert_eq!(document["env"][1]["value"], "info");
    assert_eq!(document["clientSecret"]["inner"], json!([REMOVED, REMOVED]));
    let log = "dial failed with hunter22 and abcdef123 (topsecret, 1234567), Generated";
    assert_eq!(redactor.text(log), "dial failed with (removed) and (removed) ((removed), (removed)), Generated");
}

#[test]
fn a_text_loses_what_follows_the_name_of_a_secret() {
    let redactor = Redactor::default();
    for (text, expected) in [
        ("password=abc next", "password=(removed) next"),
        (r#"{"token": "a b c", "x": 1}"#, r#"{"token": "(removed)", "x": 1}"#),
        (r#"escaped {\"secret\":\"abc\",\"y\":2}"#, r#"escaped {\"secret\":\"(removed)",\"y\":2}"#),
        ("Authorization: Bearer abc.def\n", "Authorization: Bearer (removed)\n"),
        ("header bearer abc.def, x", "header bearer (removed), x"),
        ("secret: Generated", "secret: Generated"),
        ("the token is gone: yes", "the token is gone: yes"),
        ("token=", "token="),
        ("kubeconfig='/etc/a b' c", "kubeconfig='(removed)' c"),
        ("a=b c:d\nmemif_secret=x\n", "a=b c:d\nmemif_secret=(removed)\n"),
        ("äöü secret=ß end", "äöü secret=(removed) end"),
    ] {
        assert_eq!(redactor.text(text), expected);
        assert_eq!(redactor.text(expected), expected, "twice");
    }
}

#[test]
fn lines_of_documents_are_documents() {
    let mut redactor = Redactor::default();
    let text = "{\"ipam\":{\"token\":\"abcdefg\"},\"n\":1}\nplain abcdefg\n{\"broken\": \n";
    assert_eq!(redactor.file(text), "{\"ipam\":{\"token\":\"(removed)\"},\"n\":1}\nplain (removed)\n{\"broken\": \n");
}
