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
    assert_eq!(inner["ipam"], json!({"type": "whereabouts", REMOVED: 1, "range": "10.0.0.0/24"}));
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
    let text = "{\"api\":{\"token\":\"abcdefg\"},\"n\":1}\nplain abcdefg\n{\"broken\": \n";
    assert_eq!(redactor.file(text), "{\"api\":{\"token\":\"(removed)\"},\"n\":1}\nplain (removed)\n{\"broken\": \n");
}

/// Secrets under names that say nothing, and in odd places.
const SECRETS: [&str; 9] = [
    "horse-battery",
    "7391-pin",
    "pwd-abc123",
    "kees",
    "geheim99",
    "MIIEvQIBADANBg",
    "nested-value",
    "trap!99",
    "list-value",
];

fn hostile_ipam() -> Value {
    json!({
        "type": "whereabouts", "range": "10.0.0.0/24", "passphrase": "horse-battery", "Pin": "7391-pin", "pwd": "pwd-abc123",
        "routes": [{"dst": "10.1.0.0/16", "note": "nested-value"}], "gateway": "https://kees:geheim99@10.0.0.1/x",
        "dns": {"nameservers": ["10.0.0.53", "trap!99 "], "extra": ["list-value"]},
        "key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----",
    })
}

fn without_secrets(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
}

#[test]
fn of_a_definition_of_usnet_known_keys_are_kept_and_of_others_their_type() {
    let ours = json!({
        "cniVersion": "0.4.0", "name": "blue", "type": "userspace", "network": "blue", "ipam": hostile_ipam(),
        "args": {"cni": {"pin": "7391-pin"}}, "host": {"engine": "vpp", "memif": {"role": "master", "note": "nested-value"}},
        "plan": [{"passphrase": "horse-battery"}], "vhost": "https://kees:geheim99@x/",
    });
    let macvlan =
        json!({"type": "macvlan", "master": "pwd-abc123", "ipam": hostile_ipam(), "deep": [[{"pin": "7391-pin"}]]});
    for (config, is_ours) in [
        (ours.to_string(), true),
        (json!({"name": "list", "plugins": [ours, macvlan], "passphrase": "horse-battery"}).to_string(), true),
        (macvlan.to_string(), false),
        (json!({"type": {"pin": "7391-pin"}, "name": "trap!99", "plugins": "list-value"}).to_string(), false),
        ("{\"type\": \"userspace\", \"pin\": \"7391-pin\"".to_owned(), false),
    ] {
        let mut redactor = Redactor::default();
        let mut definition = json!({
            "metadata": {
                "name": "blue", "namespace": "a", "annotations": {"example.org/pin": "7391-pin"}, "labels": {"x": "nested-value"},
                "managedFields": [{"f:pin": "7391-pin"}],
            },
            "spec": {"config": config, "other": "list-value"}, "extra": "trap!99",
        });
        redactor.definition(&mut definition);
        let text = redactor.text(&serde_yaml::to_string(&definition).unwrap());
        without_secrets(&text);
        assert_eq!(
            (&definition["metadata"]["name"], &definition["metadata"]["namespace"]),
            (&json!("blue"), &json!("a"))
        );
        let kept = &definition["spec"]["config"];
        assert_eq!(text.contains("network: blue"), is_ours, "{text}");
        assert_eq!(text.contains("10.1.0.0/16") && text.contains("10.0.0.53"), is_ours, "{text}");
        assert!(is_ours || kept["size"].is_u64(), "{text}");
        if config.contains("macvlan") {
            assert!(text.contains("type: macvlan"), "{text}");
        }
        let once = definition.clone();
        redactor.document(&mut definition);
        assert_eq!(definition, once, "twice");
    }
}

#[test]
fn ipam_of_networks_and_annotations_of_any_object_keep_what_is_known() {
    let mut redactor = Redactor::default();
    let mut network = json!({
        "metadata": {"name": "blue", "annotations": {
            "example.org/note": "7391-pin", "kubernetes.io/change-cause": "kubectl --pin 7391-pin", "xusnet.dev/a": "geheim99",
            "usnet.dev/a": "kept", "webhook.usnet.dev/b": "kept", "deployment.kubernetes.io/revision": "3",
        }},
        "spec": {"template": {"metadata": {"annotations": {"a": "pwd-abc123"}}}, "ipam": hostile_ipam()},
        "files": {"IPAM": {"type": "own-ipam", "anything": {"at": ["list-value", "10.0.0.1/24"]}}},
    });
    redactor.document(&mut network);
    let text = redactor.text(&network.to_string());
    without_secrets(&text);
    let kept = ["usnet.dev/a", "webhook.usnet.dev/b", "deployment.kubernetes.io/revision"];
    let annotations = network["metadata"]["annotations"].as_object().unwrap();
    for (key, value) in annotations {
        assert_eq!(value != REMOVED, kept.contains(&key.as_str()), "{key}: {value}");
    }
    assert_eq!(network["files"]["IPAM"], json!({"type": "own-ipam", REMOVED: 2}));
    assert_eq!(network["spec"]["ipam"]["routes"], json!([{"dst": "10.1.0.0/16", REMOVED: 1}]));
    let log = redactor.text("started with list-value at 10.0.0.1/24, nested-value");
    assert_eq!(log, "started with (removed) at 10.0.0.1/24, (removed)");
}

#[test]
fn urls_lose_their_users_and_pem_files_their_keys() {
    let redactor = Redactor::default();
    for (text, expected) in [
        ("GET https://kees:geheim99@10.0.0.1:80/x?a#b c", "GET https://(removed)@10.0.0.1:80/x?a#b c"),
        ("a http://x/a@b http://u@h", "a http://x/a@b http://(removed)@h"),
        ("\"HTTPS_PROXY\": \"http://u:p@h\"", "\"HTTPS_PROXY\": \"http://(removed)@h\""),
        (
            "a -----BEGIN EC PRIVATE KEY-----\nx\ny\n-----END EC PRIVATE KEY----- b",
            "a (removed)-----END EC PRIVATE KEY----- b",
        ),
        (
            "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----",
            "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----",
        ),
        ("-----BEGIN RSA PRIVATE KEY-----\\nabc", "(removed)"),
    ] {
        assert_eq!(redactor.text(text), expected);
        assert_eq!(redactor.text(expected), expected, "twice");
    }
}
