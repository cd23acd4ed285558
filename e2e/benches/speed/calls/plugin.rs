//! The plugin, from exec to exit.

use super::Contestant;
use super::pod::Pod;
use crate::host::node::Node;
use crate::host::programs::{Programs, tried};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;
use tempfile::NamedTempFile;
use usnet_dataplane::paths::NodePaths;

/// The plugin with one configuration.
pub(crate) struct Plugin<'a> {
    programs: &'a Programs,
    roots: &'a NodePaths,
    configuration: NamedTempFile,
    failures: Mutex<Vec<String>>,
}

impl<'a> Plugin<'a> {
    /// With more in its configuration, such as `ipam`.
    pub(crate) fn new(programs: &'a Programs, node: &'a Node, more: Option<(&str, Value)>) -> Self {
        let mut text = json!({"cniVersion": "1.1.0", "name": "bench", "type": "userspace", "network": "bench"});
        if let Some((key, value)) = more {
            text[key] = value;
        }
        let configuration = NamedTempFile::new().expect("a file");
        fs::write(configuration.path(), text.to_string()).expect("the configuration");
        Self { programs, roots: &node.roots, configuration, failures: Mutex::default() }
    }

    /// One call, to be run.
    pub(crate) fn command(&self, verb: &str, number: usize) -> Command {
        Pod::numbered(self.roots, number).command(self.programs, self.roots, verb, &self.configuration)
    }

    /// One call: how long it took, and what it printed or why it failed.
    pub(crate) fn call(&self, verb: &str, number: usize) -> (Duration, Result<String, String>) {
        tried(&mut self.command(verb, number))
    }

    fn counted(&self, verb: &str, number: usize) -> Duration {
        let (took, output) = self.call(verb, number);
        if let Err(failure) = output {
            self.failures.lock().expect("no thread panicked").push(format!("{verb}: {failure}"));
        }
        took
    }

    /// Its configuration.
    pub(crate) fn configuration(&self) -> String {
        fs::read_to_string(self.configuration.path()).expect("the configuration")
    }

    /// How many calls failed so far.
    pub(crate) fn failures(&self) -> usize {
        self.failures.lock().expect("no thread panicked").len()
    }

    /// Prints how many calls failed so far, if any did, and why the first.
    pub(crate) fn print_failures(&self, place: &str) {
        let failures = self.failures.lock().expect("no thread panicked");
        if let Some(first) = failures.first() {
            println!("\n{place}: {} calls failed, such as {first}", failures.len());
        }
    }
}

impl Contestant for Plugin<'_> {
    fn add(&self, number: usize) -> Duration {
        self.counted("ADD", number)
    }

    fn del(&self, number: usize) -> Duration {
        self.counted("DEL", number)
    }
}
