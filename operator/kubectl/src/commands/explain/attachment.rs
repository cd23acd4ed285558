//! `kubectl usnet explain usna NAME`: why a UserspaceAttachment is not Ready.

use super::finding::{Parts, Report};
use super::pod::{HEADS, Row, added};
use crate::api::{Cluster, Scope, read_interfaces};
use crate::commands::names::nearest;
use crate::error::Error;
use crate::model::{Added, Pod, Snapshot};

/// Reads the attachment and its pod, and explains them (IO).
pub(super) async fn explain(cluster: &Cluster, snapshot: &mut Snapshot, name: &str) -> Result<Report, Error> {
    let (namespace, name) = name.split_once('/').unwrap_or((cluster.namespace(), name));
    read_interfaces(cluster, snapshot, Scope::Namespace(namespace)).await;
    let added = find(snapshot, namespace, name)?.clone();
    let pod = super::pod::read::find(cluster, namespace, &added.pod).await?;
    Ok(report(snapshot, &added, pod.as_ref()))
}

fn report(snapshot: &Snapshot, added: &Added, pod: Option<&Pod>) -> Report {
    let (row, found) = match pod {
        Some(pod) => added::row(snapshot, pod, added),
        None => (Row::unknown(&added.source(), "the pod does not exist".to_owned()), added::cause(added)),
    };
    let ready = match &added.ready {
        None => "not observed yet".to_owned(),
        Some((true, ..)) => "Ready".to_owned(),
        Some((false, reason, _)) => format!("Ready=False ({reason})"),
    };
    Report {
        subject: format!("userspaceattachment {}/{}", added.namespace, added.name),
        state: format!("{ready}, {} of pod {} on network {}", added.interface, added.pod, added.network),
        parts: Parts { heads: HEADS, rows: vec![row.cells()] },
        findings: found.into_iter().collect(),
        not_read: snapshot.unread.clone(),
        ..Report::default()
    }
}

/// Returns the attachment with this name; the error suggests a similar one.
fn find<'a>(snapshot: &'a Snapshot, namespace: &str, name: &str) -> Result<&'a Added, Error> {
    let of_namespace = || snapshot.added.iter().filter(|added| added.namespace == namespace);
    of_namespace().find(|added| added.name == name).ok_or_else(|| {
        let suggestion = match nearest(name, of_namespace().map(|added| added.name.as_str())) {
            Some(nearest) => format!("; did you mean {nearest}?"),
            None => format!(": kubectl get usna -n {namespace}"),
        };
        Error::NotFound { kind: "UserspaceAttachment", name: format!("{namespace}/{name}"), suggestion }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::explain::text::text;
    use crate::model::testing::{add, add_network, attached, condition, network_object, pod_object, snapshot};
    use serde_json::{Value, json};

    fn explained(conditions: &Value) -> Report {
        let mut snapshot = snapshot();
        add_network(&mut snapshot, &network_object("blue", &json!({})));
        add(&mut snapshot, &pod_object("app", &attached()));
        let object = json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceAttachment",
            "metadata": {"namespace": "web", "name": "extra"},
            "spec": {"pod": "app", "network": "blue", "interface": "net7"}, "status": {"conditions": conditions},
        });
        add(&mut snapshot, &object);
        report(&snapshot, &snapshot.added[0], Some(&snapshot.pods[0]))
    }

    #[test]
    fn an_attachment_that_is_not_ready_has_the_cause_that_its_condition_names() {
        let refused =
            explained(&json!([condition("Ready", "False", "NoSandbox", "the network namespace is not known")]));
        assert!(!refused.is_ok() && refused.findings[0].cause == "NoSandbox", "{}", text(&refused));
        assert!(text(&refused).contains("wait until the pod has started"), "{}", text(&refused));
        let unseen = explained(&json!([]));
        assert!(text(&unseen).contains("config/components/hot-plug"), "{}", text(&unseen));
        let ready = explained(&json!([condition("Ready", "True", "Attached", "")]));
        assert!(ready.is_ok() && text(&ready).contains("net7       blue     usna/extra"), "{}", text(&ready));
    }

    #[test]
    fn a_similar_name_is_suggested() {
        let mut snapshot = snapshot();
        snapshot.added.push(Added { namespace: "web".into(), name: "extra".into(), ..Added::default() });
        assert!(find(&snapshot, "web", "extra").is_ok());
        assert!(find(&snapshot, "web", "extro").unwrap_err().to_string().contains("did you mean extra?"));
        assert!(find(&snapshot, "db", "extra").unwrap_err().to_string().contains("kubectl get usna -n db"));
    }
}
