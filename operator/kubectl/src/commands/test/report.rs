//! The report of the checks. Pure.

use crate::output::{Screen, Tone, count, line};
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Subject {
    /// Controllers and agents are ready.
    Installation,
    /// Two pods of a node exchange frames.
    PodToPod,
    /// A pod of a namespace that is not selected is refused.
    Isolation,
    /// The objects of the test are removed.
    Clean,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Check {
    pub check: Subject,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    pub passed: bool,
    pub message: String,
}

impl Check {
    /// Creates a check of the whole cluster.
    pub(crate) fn of_cluster(check: Subject, result: Result<String, String>) -> Self {
        let passed = result.is_ok();
        let message = result.unwrap_or_else(|problem| problem);
        Self { check, engine: None, node: None, passed, message }
    }

    /// Creates a check of an engine on a node.
    pub(crate) fn on_node(check: Subject, engine: &str, node: &str, result: Result<String, String>) -> Self {
        let (engine, node) = (Some(engine.to_owned()), Some(node.to_owned()));
        Self { engine, node, ..Self::of_cluster(check, result) }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub checks: Vec<Check>,
    pub passed: usize,
    pub failed: usize,
    /// The number of nodes that are not in the sample, of each engine.
    pub not_sampled: usize,
    pub seconds: u64,
}

impl Report {
    pub(crate) fn new(checks: Vec<Check>, seconds: u64) -> Self {
        let passed = checks.iter().filter(|check| check.passed).count();
        Self { passed, failed: checks.len() - passed, checks, not_sampled: 0, seconds }
    }
}

pub(crate) fn text(report: &Report) -> String {
    let mut text = String::new();
    for check in &report.checks {
        let (mark, tone) = if check.passed { ("✓", Tone::Good) } else { ("✗", Tone::Bad) };
        let mark = Screen::current().paint(mark, Some(tone));
        let subject = match (&check.engine, &check.node) {
            (Some(engine), Some(node)) => format!("{engine} {node}"),
            _ => String::new(),
        };
        let name = match check.check {
            Subject::Installation => "installation",
            Subject::PodToPod => "pod to pod",
            Subject::Isolation => "isolation",
            Subject::Clean => "clean",
        };
        let row = format!("{mark} {name:<13} {subject:<16} {}", line(&check.message));
        text.push_str(row.trim_end());
        text.push('\n');
    }
    let Report { passed, failed, not_sampled, seconds, .. } = report;
    let rest = if *not_sampled == 0 { String::new() } else { format!("; {not_sampled} not in the sample") };
    text.push_str(&format!("{} passed, {failed} failed in {seconds} s{rest}\n", count(*passed, "check")));
    text
}

/// Summarises the frames of each size, from the output of the test program.
pub(crate) fn frames(sizes: &[(usize, serde_json::Value)]) -> Result<String, String> {
    let mut parts = Vec::new();
    let mut complete = true;
    for (size, answer) in sizes {
        let number = |field: &str| answer.get(field).and_then(serde_json::Value::as_u64);
        let (Some(expected), Some(received)) = (number("expected"), number("received")) else {
            return Err(format!("the test program printed {answer}"));
        };
        let (lost, twice) = (expected.saturating_sub(received), number("duplicates").unwrap_or_default());
        let damaged = number("damaged").unwrap_or_default();
        complete &= (lost, twice, damaged) == (0, 0, 0);
        let more =
            if (twice, damaged) == (0, 0) { String::new() } else { format!(", {twice} duplicated, {damaged} damaged") };
        parts.push(format!("{expected} frames of {size} bytes: {lost} lost{more}"));
    }
    let text = parts.join("; ");
    if complete { Ok(text) } else { Err(text) }
}

/// Returns the error of the CNI plugin in an event, such as `102 NoVolume: …`.
pub(crate) fn plugin_error(message: &str) -> Option<String> {
    let (_, said) = message.rsplit_once("usnet[")?;
    let (head, text) = said.split_once("]: ")?;
    Some(format!("{head}: {}", line(&text.chars().take(300).collect::<String>())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_check_is_one_line() {
        let checks = vec![
            Check::of_cluster(Subject::Installation, Ok("fine".to_owned())),
            Check::on_node(Subject::PodToPod, "OVS", "node-c", Err("11 EngineUnreachable: gone".to_owned())),
        ];
        let report = Report::new(checks, 21);
        assert_eq!((report.passed, report.failed), (1, 1));
        assert_eq!(
            text(&report),
            "✓ installation                   fine\n✗ pod to pod    OVS node-c       11 EngineUnreachable: gone\n1 check passed, 1 failed in 21 s\n"
        );
    }

    #[test]
    fn lost_frames_and_copies_fail() {
        let answer = |received: u64, duplicates: u64| {
            (64, json!({"expected": 1000, "received": received, "duplicates": duplicates, "damaged": 0}))
        };
        assert_eq!(frames(&[answer(1000, 0)]), Ok("1000 frames of 64 bytes: 0 lost".to_owned()));
        assert_eq!(frames(&[answer(1000, 0), answer(999, 0)]).unwrap_err().matches("1 lost").count(), 1);
        assert!(frames(&[answer(1000, 3)]).unwrap_err().contains("3 duplicated"));
        assert!(frames(&[(64, json!({"error": "no engine is connected"}))]).unwrap_err().contains("no engine"));
    }

    #[test]
    fn the_error_of_the_plugin_is_found_in_an_event() {
        let event = r#"failed: [ns/a:net]: error adding container to network "net": usnet[100 NetworkRefused]: network x is not for namespace ns"#;
        assert_eq!(plugin_error(event).unwrap(), "100 NetworkRefused: network x is not for namespace ns");
        assert_eq!(plugin_error("something else"), None);
    }
}
