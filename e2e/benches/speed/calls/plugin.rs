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

    fn call(&self, verb: &str, number: usize) -> Duration {
        let (took, output) = tried(&mut self.command(verb, number));
        if let Err(failure) = output {
            self.failures.lock().expect("no thread panicked").push(format!("{verb}: {failure}"));
        }
        took
    }

    /// Its configuration.
    pub(crate) fn configuration(&self) -> String {
        fs::read_to_string(self.configuration.path()).expect("the configuration")
    }

    /// What failed so far.
    pub(crate) fn failures(&self) -> Vec<String> {
        self.failures.lock().expect("no thread panicked").clone()
    }
}

impl Contestant for Plugin<'_> {
    fn add(&self, number: usize) -> Duration {
        self.call("ADD", number)
    }

    fn del(&self, number: usize) -> Duration {
        self.call("DEL", number)
    }
}
