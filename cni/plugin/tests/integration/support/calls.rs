//! Calls of the plugin like those of a runtime.

use super::output::Output;
use super::pod::Pod;
use super::tools::plugin_path;
use super::{NETWORK, TestNode, configuration, run, with_result};
use serde_json::Value;
use std::ffi::OsString;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use usnet_plugin::protocol::environment::Environment;

impl TestNode {
    /// The variables of a call for this pod's sandbox.
    pub(crate) fn variables(&self, verb: &'static str, pod: &Pod, interface: &str) -> Vec<(&'static str, OsString)> {
        vec![
            ("CNI_COMMAND", verb.into()),
            ("CNI_CONTAINERID", pod.container.clone().into()),
            ("CNI_IFNAME", interface.into()),
            ("CNI_NETNS", self.network_namespace().into()),
            ("CNI_ARGS", pod.arguments().into()),
            ("CNI_PATH", plugin_path()),
        ]
    }

    /// The variables of a call, for code of the plugin that is called in this process.
    pub(crate) fn environment(&self, verb: &'static str, pod: &Pod, interface: &str) -> Environment {
        let variables = self.variables(verb, pod, interface);
        Environment::new(move |name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone()))
    }

    pub(crate) fn call(&self, verb: &'static str, pod: &Pod, interface: &str, configuration: &Value) -> Output {
        self.call_in(verb, pod, interface, configuration, &[])
    }

    /// Calls the plugin for the network that every node has, with other variables.
    pub(crate) fn call_with(&self, verb: &'static str, pod: &Pod, interface: &str, changed: &[(&str, &str)]) -> Output {
        self.call_in(verb, pod, interface, &configuration(NETWORK), changed)
    }

    /// Calls the plugin with other variables.
    pub(crate) fn call_in(
        &self,
        verb: &'static str,
        pod: &Pod,
        interface: &str,
        configuration: &Value,
        changed: &[(&str, &str)],
    ) -> Output {
        self.call_text(verb, pod, interface, configuration.to_string().as_bytes(), changed)
    }

    /// Calls the plugin with a configuration that need not be JSON.
    pub(crate) fn call_text(
        &self,
        verb: &'static str,
        pod: &Pod,
        interface: &str,
        configuration: &[u8],
        changed: &[(&str, &str)],
    ) -> Output {
        run(self.command(verb, pod, interface, changed), configuration)
    }

    /// Calls the plugin, and kills it after this time if it still runs. The time is the parameter
    /// of the test, so that it is slept and no condition is awaited.
    pub(crate) fn kill(&self, verb: &'static str, pod: &Pod, interface: &str, after: Duration) {
        let mut child = self.spawn(verb, pod, interface, &[]);
        std::thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Starts a call of the plugin for the network that every node has.
    pub(crate) fn spawn(&self, verb: &'static str, pod: &Pod, interface: &str, changed: &[(&str, &str)]) -> Child {
        let mut command = self.command(verb, pod, interface, changed);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let _written = child.stdin.take().unwrap().write_all(configuration(NETWORK).to_string().as_bytes());
        child
    }

    pub(crate) fn command(&self, verb: &'static str, pod: &Pod, interface: &str, changed: &[(&str, &str)]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_userspace"));
        command.env_clear().envs(self.variables(verb, pod, interface)).envs(changed.iter().copied());
        command.env("USNET_RUN_DIR", &self.paths.run);
        command.env("USNET_STATE_DIR", &self.paths.state);
        command.env("USNET_KUBELET_DIR", &self.paths.kubelet).env("USNET_DEVICE_INFO_DIR", &self.paths.device_info);
        command.env("USNET_OLDER_PLUGIN_ROOT", &self.paths.legacy_root);
        command
    }

    pub(crate) fn add(&self, pod: &Pod, interface: &str) -> Output {
        self.call("ADD", pod, interface, &configuration(NETWORK))
    }

    /// Calls CHECK after an ADD with this result.
    pub(crate) fn check(&self, pod: &Pod, interface: &str, result: &Value) -> Output {
        self.call("CHECK", pod, interface, &with_result(&configuration(NETWORK), result))
    }

    pub(crate) fn del(&self, pod: &Pod, interface: &str) -> Output {
        self.call("DEL", pod, interface, &configuration(NETWORK))
    }
}
