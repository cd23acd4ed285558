//! The report as text.

use super::pods::{FolderPod, REMEDY};
use super::report::{Definition, Report};
use crate::commands::shared::unread_text;
use crate::output::{line, table};
use std::fmt::Write;

pub(super) fn text(report: &Report) -> String {
    let mut text = if report.definitions.is_empty() {
        "no NetworkAttachmentDefinitions of the userspace CNI (Intel)\n".to_owned()
    } else {
        let rows: Vec<_> = report.definitions.iter().map(row).collect();
        table(["DEFINITION", "ENGINE", "BRIDGE", "NETWORK", "RESULT"], &rows)
    };
    for definition in report.definitions.iter().filter(|it| !it.messages.is_empty() || !it.ignored.is_empty()) {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "\n{}", line(&name(definition)));
        for message in &definition.messages {
            let _ = writeln!(text, "  {}", line(message));
        }
        if !definition.ignored.is_empty() {
            let _ = writeln!(text, "  ignored: {}", line(&definition.ignored.join(", ")));
        }
    }
    for FolderPod { namespace, name, owner } in &report.pods {
        let owner = owner.as_ref().map_or_else(String::new, |owner| format!(" ({owner})"));
        let _ = writeln!(text, "\npod {}\n  {REMEDY}", line(&format!("{namespace}/{name}{owner}")));
    }
    text + &unread_text(&report.not_read)
}

fn row(definition: &Definition) -> [String; 5] {
    let or_hyphen = |text: Option<&str>| text.map_or_else(|| "-".to_owned(), line);
    [
        line(&name(definition)),
        or_hyphen(definition.engine),
        or_hyphen(definition.bridge.as_deref()),
        or_hyphen(definition.network.as_deref()),
        if definition.works { "works" } else { "rejected" }.to_owned(),
    ]
}

fn name(definition: &Definition) -> String {
    format!("{}/{}", definition.namespace, definition.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::migrate::report::{Ignored, report};
    use serde_json::{Value, json};
    use usnet_controller::cache::nads::Availability;
    use usnet_controller::cache::partial_objects::NadObject;
    use usnet_controller::cache::{Cache, Namespace, parse};
    use usnet_crds::legacy::ignored_keys;

    /// A definition for Open vSwitch, with these additional keys in `host`.
    fn definition(second: u8, host: &Value) -> Value {
        let mut config = json!({
            "type": "userspace",
            "host": {
                "engine": "ovs-dpdk", "iftype": "vhostuser",
                "vhost": {"mode": "client"}, "bridge": {"bridgeName": "br-4"},
            },
        });
        crate::model::testing::merge(&mut config, &json!({"host": host}));
        json!({"created": format!("1970-01-01T00:00:{second:02}Z"), "config": config.to_string()})
    }

    fn lines(definitions: &[(&str, Value)]) -> Vec<String> {
        let (mut cache, mut ignored) = (Cache::default(), Ignored::new());
        cache.nads.availability = Availability::Known;
        for (name, definition) in definitions {
            let config = definition["config"].as_str().unwrap();
            let object: NadObject = serde_json::from_value(json!({
                "metadata": {"namespace": "web", "name": name, "creationTimestamp": definition["created"]},
                "spec": {"config": config},
            }))
            .unwrap();
            let (key, nad) = parse::nad(&object);
            cache.namespaces.insert("web".into(), Namespace::default());
            ignored.insert(key.clone(), ignored_keys(config));
            cache.nads.insert(key, nad);
        }
        let text = text(&report(&cache, &ignored, Some("web"), Vec::new()));
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn each_definition_works_or_has_a_reason_and_ignored_keys_are_listed() {
        let lines = lines(&[
            ("first", definition(1, &json!({"vhost": {"group": "qemu"}}))),
            ("same", definition(2, &json!({}))),
            ("other-vlan", definition(3, &json!({"bridge": {"vlanId": 7}}))),
            ("server", definition(4, &json!({"vhost": {"mode": "server"}, "bridge": {"bridgeName": "br-5"}}))),
            ("tap", definition(5, &json!({"iftype": "tap"}))),
        ]);
        assert_eq!(
            lines[..6],
            [
                "DEFINITION ENGINE BRIDGE NETWORK RESULT",
                "web/first OVS br-4 ovs-br-4 works",
                "web/other-vlan OVS br-4 - rejected",
                "web/same OVS br-4 ovs-br-4 works",
                "web/server OVS br-5 ovs-br-5 works",
                "web/tap - - - rejected",
            ]
        );
        let text = lines.join("\n");
        assert!(text.contains("ignored: host.vhost.group"), "{text}");
        assert!(text.contains("This one takes precedence") && text.contains("vlan"), "{text}");
        assert!(text.contains("host.iftype"), "{text}");
        assert_eq!(text.matches("programs have to connect again").count(), 1, "{text}");
    }

    #[test]
    fn a_namespace_without_definitions_is_reported() {
        assert_eq!(lines(&[]), ["no NetworkAttachmentDefinitions of the userspace CNI (Intel)"]);
        let network = json!({"created": null, "config": r#"{"type": "userspace", "network": "blue"}"#});
        assert_eq!(lines(&[("blue", network)]).len(), 1);
    }
}
