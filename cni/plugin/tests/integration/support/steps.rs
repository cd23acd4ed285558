//! ADD and DEL up to one of their steps: the plugin's code is called in this process, and nothing
//! is rolled back, as after `kill -9`.

use super::TestNode;
use super::pod::Pod;
use serde_json::Value;
use usnet_plugin::attachment::detach::Detachment;
use usnet_plugin::attachment::node::Node;
use usnet_plugin::attachment::{attach, detach};
use usnet_plugin::protocol::configuration::Configuration;
use usnet_plugin::verbs::add::AddRequest;

impl TestNode {
    /// Runs these steps of ADD.
    pub(crate) fn run_add_steps(&self, pod: &Pod, interface: &str, configuration: &Value, steps: &[attach::Step]) {
        self.run_add_steps_of(pod, interface, configuration, steps, |request| request);
    }

    /// Runs these steps of an ADD that `change` returns.
    pub(crate) fn run_add_steps_of(
        &self,
        pod: &Pod,
        interface: &str,
        configuration: &Value,
        steps: &[attach::Step],
        change: impl FnOnce(AddRequest<'_>) -> AddRequest<'_>,
    ) {
        let opened = Node::open(self.paths.clone());
        let environment = self.environment("ADD", pod, interface);
        let configuration = Configuration::parse(configuration.to_string().as_bytes()).unwrap();
        let request = change(AddRequest::parse(&environment, &configuration).unwrap());
        let prepared = request.prepare(&opened).unwrap();
        let locked = opened.journal.lock(&environment.attachment().unwrap()).unwrap();
        let mut attachment = prepared.start(&opened, &environment, &locked);
        for step in steps {
            attachment.run_step(*step).unwrap();
        }
    }

    /// Runs these steps of DEL.
    pub(crate) fn run_del_steps(&self, pod: &Pod, interface: &str, steps: &[detach::Step]) {
        let opened = Node::open(self.paths.clone());
        let environment = self.environment("DEL", pod, interface);
        let locked = opened.journal.lock(&environment.attachment().unwrap()).unwrap();
        let record = locked.read().unwrap().unwrap();
        let mut detachment = Detachment::new(&opened, &environment, &locked, record);
        for step in steps {
            detachment.run_step(*step);
        }
    }
}
