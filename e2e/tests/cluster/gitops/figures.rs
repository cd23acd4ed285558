//! A table of the results of a tool, for users.

use super::tool::Applied;
use crate::support::cluster::{check, eventually, get};
use crate::support::stream::Sample;
use serde_json::Value;
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

/// The objects that must not change without a commit.
const KINDS: &str = "usn,usu,ucn,net-attach-def,deviceclass,crd,validatingadmissionpolicy";

/// A row for each operation.
pub(super) struct Figures {
    tool: &'static str,
}

impl Figures {
    pub(super) const fn new(tool: &'static str) -> Self {
        Self { tool }
    }

    pub(super) fn row(&self, what: &str, applied: &Applied, sample: Option<Sample>) {
        let Applied { is_ready, message, after } = applied;
        let state = if *is_ready { "Ready" } else { "failed" };
        let lost = sample.map_or_else(String::new, |sample| {
            format!(" | {} of {} packets lost", sample.lost.unwrap_or_default(), sample.packets)
        });
        println!("| {} | {what} | {state} after {:.1} s{lost} | {message} |", self.tool, after.as_secs_f64());
    }

    pub(super) fn text(&self, what: &str, text: &str) {
        println!("| {} | {what} | {text} |", self.tool);
    }

    pub(super) fn seconds(&self, what: &str, after: Duration) {
        println!("| {} | {what} | {:.1} s |", self.tool, after.as_secs_f64());
    }

    /// Compares all objects before and after so many minutes without a request, once the two pods
    /// of a network are counted.
    #[track_caller]
    pub(super) fn idle(&self, network: &str, minutes: u64) {
        if minutes == 0 {
            return;
        }
        eventually("both pods are counted", || {
            let status = get(&["usn", network]).unwrap()["status"].take();
            check(status["attachments"] == 2 && status["connected"] == 2, status.to_string())
        });
        let before = versions();
        thread::sleep(Duration::from_secs(60 * minutes));
        let after = versions();
        let changed: Vec<_> = before.iter().filter(|(object, version)| after.get(*object) != Some(version)).collect();
        println!("| {} | {minutes} minutes idle | {} of {} objects changed |", self.tool, changed.len(), before.len());
        assert!(changed.is_empty(), "{changed:?}");
    }
}

/// Whether `make gitops` started this, which has the time.
pub(super) fn is_long(what: &str) -> bool {
    let is_long = std::env::var_os("USNET_GITOPS").is_some();
    if !is_long {
        println!("SKIPPED: {what}; `make gitops` runs this");
    }
    is_long
}

/// How long `make gitops` waits; `make test` does not.
pub(super) fn idle_minutes() -> u64 {
    std::env::var("USNET_GITOPS_IDLE").ok().and_then(|minutes| minutes.parse().ok()).unwrap_or(0)
}

/// The version of each object.
fn versions() -> BTreeMap<String, Value> {
    let all = get(&[KINDS, "-A"]).unwrap();
    let entry = |object: &Value| {
        let metadata = &object["metadata"];
        let name = format!("{} {} {}", object["kind"], metadata["namespace"], metadata["name"]);
        (name, metadata["resourceVersion"].clone())
    };
    all["items"].as_array().unwrap().iter().map(entry).collect()
}
