use super::*;

const GOOD: &str = "\
apiVersion: usnet.dev/v1alpha1
kind: UserspaceNetwork
metadata: {name: blue}
spec: {engine: OVS, namespaceSelector: {}}
---
# nothing
---
apiVersion: v1
kind: Namespace
metadata: {name: web, labels: {team: a}}
spec: {finalizers: [kubernetes]}
";

fn problems(text: &str) -> Vec<Problem> {
    let documents = read("a.yaml", text).unwrap();
    let of = |document: Document| match document.object {
        Object::Network { network, .. } => network.err().unwrap_or_default(),
        Object::Other(problem) => vec![problem],
        _ => Vec::new(),
    };
    documents.into_iter().flat_map(of).collect()
}

#[test]
fn documents_are_counted_with_the_empty_ones() {
    let documents = read("a.yaml", GOOD).unwrap();
    let places: Vec<_> = documents.iter().map(|document| (document.number, document.line)).collect();
    assert_eq!(places, [(1, Some(1)), (3, Some(8))]);
    let labels = [("team".to_owned(), "a".to_owned())].into();
    assert_eq!(documents[1].object, Object::Namespace { name: "web".into(), labels });
}

#[test]
fn a_wrong_value_is_named_with_file_document_line_and_field() {
    let text = format!("{GOOD}---\n{}", GOOD.replace("{engine: OVS", "{engine: OVS, bridge: {mtu: big}"));
    let problems = problems(&text);
    assert_eq!(problems.len(), 1, "{problems:?}");
    let found = &problems[0];
    assert_eq!((found.file.as_str(), found.document, found.line), ("a.yaml", Some(4), Some(16)));
    assert_eq!((found.field.as_str(), found.network.as_deref()), ("spec.bridge.mtu", Some("blue")));
    assert!(found.message.contains("invalid type"), "{found}");
    assert!(!found.message.contains("line"), "the line would be said twice: {found}");
}

#[test]
fn a_broken_rule_and_an_unknown_field_are_found_at_their_lines() {
    let rule = GOOD.replace("spec: {engine: OVS,", "spec:\n  {bridge: {name: ovs-netdev, mtu: 1}, engine: OVS,");
    let fields: Vec<_> = problems(&rule).into_iter().map(|problem| (problem.field, problem.line)).collect();
    assert_eq!(fields, [("spec.bridge.name".to_owned(), Some(5)), ("spec.bridge.mtu".to_owned(), Some(5))]);
    let misspelt = GOOD.replace("spec: {engine: OVS,", "spec:\n  {brigde: {mtu: 1400}, engine: OVS,");
    let found = problems(&misspelt);
    assert_eq!((found[0].field.as_str(), found[0].line), ("spec.brigde", Some(5)), "{found:?}");
}

#[test]
fn what_is_no_yaml_or_has_no_name_makes_the_file_unusable() {
    for (text, line) in
        [("a: [", Some(2)), ("kind: UserspaceNetwork\n", Some(1)), (&GOOD.replace("{name: blue}", "{}"), Some(3))]
    {
        let problem = read("a.yaml", text).unwrap_err();
        assert!(problem.line.is_some() && problem.line <= line, "{problem:?}");
        assert_eq!(problem.document, Some(1), "{problem:?}");
    }
    let later = GOOD.replace("v1alpha1", "v2");
    assert!(read("a.yaml", &later).unwrap_err().message.contains("not supported by this release"));
}

#[test]
fn other_kinds_are_reported_and_harm_nothing() {
    let text = format!("{GOOD}---\napiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\n");
    let found = problems(&text);
    assert_eq!((found.len(), found[0].document, found[0].line), (1, Some(4), Some(14)), "{found:?}");
    assert_eq!(read("a.yaml", &text).unwrap().len(), 3);
}
