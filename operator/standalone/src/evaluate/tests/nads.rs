//! NADs of the Userspace CNI (Intel) in a folder: the networks that they request.

use super::*;

/// A NAD that names a bridge of Open vSwitch, with `more` keys of `host`.
pub(super) fn legacy_nad(name: &str, bridge: &str, more: &str) -> String {
    let host = format!(
        r#""engine": "ovs-dpdk", "iftype": "vhostuser", "vhost": {{"mode": "client"}}, "bridge": {{"bridgeName": "{bridge}"}}{more}"#
    );
    user_nad(name, &format!(r#"{{"type": "userspace", "host": {{{host}}}}}"#))
}

fn user_nad(name: &str, config: &str) -> String {
    let (namespace, name) = name.split_once('/').unwrap();
    format!(
        "---\napiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec: {{config: '{config}'}}\n"
    )
}

fn mtu(mtu: u16) -> String {
    format!(r#", "mtu": {mtu}"#)
}

fn with_label(network: &str) -> String {
    network.replace("metadata: {", r#"metadata: {labels: {usnet.dev/from-nad: "true"}, "#)
}

fn mtu_and_namespaces(evaluated: &Evaluated) -> (u16, Vec<&str>) {
    let network = &evaluated.spec.networks[0];
    (network.bridge.mtu.get(), network.namespaces.names.iter().map(String::as_str).collect())
}

#[test]
fn a_bridge_that_nads_name_becomes_a_network_and_is_deleted_with_the_last_of_them() {
    let mut node = Node::new();
    node.write("a.yaml", &legacy_nad("web/one", "br0", ""));
    let first = node.evaluate();
    assert_eq!(names(&first), [("ovs-br0", 1, Phase::Active)]);
    assert_eq!(mtu_and_namespaces(&first), (1500, vec!["web"]), "it is for no other namespace");
    assert_eq!(first.problems, []);
    node.restart();
    assert_eq!(node.evaluate(), first, "nothing has changed");
    node.write("b.yaml", &legacy_nad("db/two", "br0", ""));
    let joined = node.evaluate();
    assert_eq!(
        (names(&joined), mtu_and_namespaces(&joined).1),
        (vec![("ovs-br0", 2, Phase::Active)], vec!["db", "web"])
    );
    node.remove("a.yaml");
    assert_eq!(mtu_and_namespaces(&node.evaluate()).1, ["db"]);
    node.set_attachments(1);
    node.remove("b.yaml");
    assert_eq!(names(&node.evaluate()), [("ovs-br0", 3, Phase::Draining)], "a pod still uses it");
    node.set_attachments(0);
    assert_eq!(names(&node.evaluate()), []);
}

#[test]
fn a_nad_that_is_added_again_ends_the_draining() {
    let mut node = Node::new();
    node.write("a.yaml", &legacy_nad("web/one", "br0", ""));
    node.evaluate();
    node.set_attachments(1);
    node.remove("a.yaml");
    node.evaluate();
    node.write("a.yaml", &legacy_nad("web/one", "br0", ""));
    assert_eq!(names(&node.evaluate()), [("ovs-br0", 2, Phase::Active)]);
}

#[test]
fn what_the_node_has_was_there_first_and_both_report_which_key_differs() {
    let mut node = Node::new();
    node.write("b.yaml", &legacy_nad("web/two", "br0", &mtu(1400)));
    node.evaluate();
    // By name this one would be the first.
    node.write("a.yaml", &legacy_nad("db/one", "br0", &mtu(9000)));
    for _ in 0..2 {
        let evaluated = node.evaluate();
        assert_eq!(mtu_and_namespaces(&evaluated), (1400, vec!["web"]));
        assert_eq!(problem_places(&evaluated), [("a.yaml", "spec.config"), ("b.yaml", "spec.config")]);
        let message = &evaluated.problems[0].message;
        assert!(message.contains("mtu") && message.contains("web/two, which takes precedence"), "{message}");
        node.restart();
    }
    node.remove("b.yaml");
    let evaluated = node.evaluate();
    assert_eq!((mtu_and_namespaces(&evaluated), evaluated.problems.len()), ((9000, vec!["db"]), 0));
}

#[test]
fn two_files_that_come_together_are_taken_by_date_and_then_by_name() {
    let mut node = Node::new();
    let dated = legacy_nad("web/two", "br0", &mtu(1400))
        .replace("{name: two", "{creationTimestamp: 2020-01-01T00:00:00Z, name: two");
    node.write(
        "a.yaml",
        &(legacy_nad("db/one", "br0", &mtu(9000)) + &legacy_nad("app/zero", "br1", &mtu(1300)) + &dated),
    );
    node.write("b.yaml", &legacy_nad("app/one", "br1", &mtu(1200)));
    let evaluated = node.evaluate();
    let mtus: Vec<u16> = evaluated.spec.networks.iter().map(|network| network.bridge.mtu.get()).collect();
    assert_eq!(mtus, [1400, 1200]);
    assert_eq!(
        evaluated.problems.iter().map(|problem| problem.document).collect::<Vec<_>>(),
        [Some(1), Some(2), Some(3), Some(1)]
    );
}

#[test]
fn an_unusable_nad_deletes_no_network_also_after_a_restart() {
    let mut node = Node::new();
    node.write("a.yaml", &legacy_nad("web/one", "br0", ""));
    let good = node.evaluate();
    for broken in ["{", r#"{"type": "userspace", "host": {"engine": "?"}}"#] {
        node.write("a.yaml", &user_nad("web/one", broken));
        let evaluated = node.evaluate();
        assert_eq!(evaluated.spec, good.spec, "{broken}");
        node.restart();
        assert_eq!(node.evaluate(), evaluated, "{broken}");
    }
    let problem = node.evaluate().problems.remove(0);
    assert_eq!((problem.file.as_str(), problem.document, problem.line), ("a.yaml", Some(1), Some(2)), "{problem}");
    assert!(
        problem.to_string().contains(r#"spec.config: cannot be used, and its pods are rejected: "host.engine" is "?""#),
        "{problem}"
    );
    node.remove("a.yaml");
    assert_eq!(names(&node.evaluate()), [("ovs-br0", 1, Phase::Draining)]);
}

#[test]
fn a_path_of_the_host_is_rejected_and_reported() {
    let mut node = Node::new();
    let mode = r#""mode": "client""#;
    let file = r#""mode": "client", "socketfile": "../../etc/passwd""#;
    node.write("a.yaml", &legacy_nad("web/one", "br0", "").replace(mode, file));
    let evaluated = node.evaluate();
    assert_eq!((names(&evaluated), problem_places(&evaluated)), (vec![], vec![("a.yaml", "spec.config")]));
    assert!(evaluated.problems[0].message.contains("socketfile"), "{:?}", evaluated.problems);
}

#[test]
fn a_file_that_could_never_be_read_may_contain_the_nad() {
    let mut node = Node::new();
    node.write("a.yaml", &legacy_nad("web/one", "br0", ""));
    let good = node.evaluate();
    node.restart();
    node.write("a.yaml", "kind: [");
    assert_eq!(node.evaluate().spec, good.spec);
}

#[test]
fn a_network_of_a_user_is_joined_and_one_that_comes_later_waits() {
    let mut node = Node::new();
    let mine = |bridge: &str| {
        network("mine", &format!("{{engine: OVS, namespaceSelector: {{}}, bridge: {{name: {bridge}}}}}"))
    };
    node.write("a.yaml", &mine("br0"));
    node.write("b.yaml", &legacy_nad("web/one", "br0", ""));
    let joined = node.evaluate();
    assert_eq!((names(&joined), joined.problems.len()), (vec![("mine", 1, Phase::Active)], 0));

    let mut node = Node::new();
    node.write("b.yaml", &legacy_nad("web/one", "br0", ""));
    node.evaluate();
    node.write("a.yaml", &mine("br0"));
    let later = node.evaluate();
    assert_eq!(names(&later), [("ovs-br0", 1, Phase::Active)], "the bridge has a network");
    assert_eq!((later.spec.refused[0].name.as_str(), later.problems), ("mine", vec![]));
    node.restart();
    assert_eq!(names(&node.evaluate()), [("ovs-br0", 1, Phase::Active)]);
}

#[test]
fn a_document_with_the_label_follows_the_nads_as_in_a_cluster() {
    let mut node = Node::new();
    let spec = "{engine: OVS, namespaceSelector: {}, bridge: {name: br0, mtu: 9000}}";
    node.write("a.yaml", &(with_label(&network("ovs-br0", spec)) + &legacy_nad("web/one", "br0", "")));
    let followed = node.evaluate();
    assert_eq!(mtu_and_namespaces(&followed), (1500, vec!["web"]));
    assert_eq!(problem_places(&followed), [("a.yaml", "metadata.labels")]);
    node.set_attachments(1);
    node.write("a.yaml", &with_label(&network("ovs-br0", spec)));
    let going = node.evaluate();
    assert_eq!(
        (names(&going), problem_places(&going)),
        (vec![("ovs-br0", 1, Phase::Draining)], vec![("a.yaml", "metadata.labels")])
    );
    node.write("a.yaml", &network("ovs-br0", spec));
    let mine = node.evaluate();
    assert_eq!((mtu_and_namespaces(&mine).0, mine.problems.len()), (9000, 0), "it is a user's now");
}

#[test]
fn nads_that_name_a_network_are_checked_and_two_of_one_name_are_reported() {
    let mut node = Node::new();
    let unknown = user_nad("web/one", r#"{"type": "userspace", "network": "blue"}"#);
    node.write("a.yaml", &unknown);
    node.write("b.yaml", &legacy_nad("web/one", "br0", ""));
    let evaluated = node.evaluate();
    assert_eq!(names(&evaluated), []);
    assert_eq!(problem_places(&evaluated), [("a.yaml", "spec.config"), ("b.yaml", "metadata.name")]);
    assert!(
        evaluated.problems[0].message.contains("names network blue, which does not exist"),
        "{:?}",
        evaluated.problems
    );
}
