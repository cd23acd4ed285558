//! The checks (IO). Each returns what it observed, or what is wrong.

use super::activities::Activities;
use super::manifests::{Names, TestPod};
use super::objects::{PollError, create_in, events, pod, poll_until};
use super::report::{frames, plugin_error};
use crate::api::{Cluster, run_command};
use crate::output::line;
use k8s_openapi::api::core::v1::Pod;
use kube::api::Api;
use serde_json::Value;
use std::time::Duration;
use usnet_crds::UserspaceNetwork;
use usnet_crds::conditions::{READY, STALLED, Status, find};

/// The number of frames of each size.
const FRAMES: &str = "1000";
/// The sizes of frames in bytes.
const SIZES: [usize; 2] = [64, 1500];
const PROGRAM: &str = "/usr/local/bin/usnet-tools";

/// The parameters of all steps.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) names: &'a Names,
    pub(super) image: &'a str,
    /// The time limit of each step.
    pub(super) limit: Duration,
    pub(super) activities: &'a Activities,
}

impl Step<'_> {
    /// Waits until the network is ready or has failed on a node, which does not prevent the test of
    /// other nodes. Returns the problems of nodes.
    pub(super) async fn network(&self, name: &str) -> Result<Vec<(String, String)>, String> {
        let networks = Api::<UserspaceNetwork>::all(self.cluster.client.clone());
        let observed = poll_until(self.limit, || async {
            let network = networks.get(name).await?;
            let status = network.status.unwrap_or_default();
            let condition = |kind| find(&status.conditions, kind);
            let ready = condition(READY).map(|ready| (ready.status == Status::True.as_str(), ready.message.clone()));
            match ready {
                Some((true, _)) => Ok(Vec::new()),
                _ if !status.failures.is_empty() => {
                    let failures = status.failures.iter();
                    Ok(failures
                        .map(|failure| (failure.node.clone(), format!("{}: {}", failure.reason, failure.message)))
                        .collect())
                }
                Some((false, message)) if condition(STALLED).is_some() => Err(PollError::Fatal(message)),
                Some((false, message)) => Err(PollError::Retry(message)),
                None => Err(PollError::Retry("no controller has read the network".to_owned())),
            }
        });
        observed.await.map_err(|problem| format!("network {name} is not ready: {problem}"))
    }

    /// Checks that two pods of a node exchange frames in both directions.
    pub(super) async fn pod_to_pod(&self, network: &str, engine: &str, node: &str) -> Result<String, String> {
        let subject = format!("{engine} {node}");
        let result = self.exchange(&subject, network, engine, node).await;
        self.activities.end(&subject);
        result
    }

    async fn exchange(&self, subject: &str, network: &str, engine: &str, node: &str) -> Result<String, String> {
        let namespace = self.names.namespace();
        let pods = ["a", "b"].map(|which| format!("{}-{which}-{node}", engine.to_ascii_lowercase()));
        self.activities.begin(subject, "pods run");
        for name in &pods {
            self.create(&TestPod { name, namespace: &namespace, network, node, image: self.image }).await?;
        }
        for name in &pods {
            self.running(&namespace, name).await?;
        }
        let [a, b] = &pods;
        self.activities.begin(subject, "frames arrive");
        for (from, to) in [(a, b), (b, a)] {
            self.first_frame(&namespace, from, to).await?;
        }
        self.activities.begin(subject, "all frames are counted");
        let mut answers = Vec::new();
        for (from, to) in [(a, b), (b, a)] {
            for size in SIZES {
                let (stream, bytes) = (format!("--stream={size}"), format!("--size={size}"));
                self.run_tool(&namespace, from, &["send", &stream, &bytes, "--count", FRAMES]).await?;
                answers.push((size, self.run_tool(&namespace, to, &["receive", &stream, "--count", FRAMES]).await?));
            }
        }
        frames(&answers)
    }

    /// Checks that a pod of a namespace that the network does not select is refused.
    pub(super) async fn isolation(&self, network: &str, node: &str) -> Result<String, String> {
        let (namespace, name) = (self.names.other_namespace(), "intruder");
        let reference = format!("{}/{network}", self.names.namespace());
        self.create(&TestPod { name, namespace: &namespace, network: &reference, node, image: self.image }).await?;
        poll_until(self.limit, || async {
            let running = pod(self.cluster, &namespace, name).await?;
            if running.status.and_then(|status| status.phase).as_deref() == Some("Running") {
                return Err(PollError::Fatal("a pod of a namespace that is not selected was attached".to_owned()));
            }
            let messages = events(self.cluster, &namespace, name).await;
            let refused = messages.iter().rev().find_map(|message| plugin_error(message));
            match refused {
                Some(refused) if refused.starts_with("100 ") => {
                    Ok("a pod of a namespace that is not selected was refused (100)".to_owned())
                }
                Some(other) => Err(PollError::Retry(format!("it was refused for another reason: {other}"))),
                None => Err(PollError::Retry(format!(
                    "it was not refused: {}",
                    messages.last().map_or("no event", String::as_str)
                ))),
            }
        })
        .await
    }

    /// Creates a pod. The API server rejects pods until a new namespace has its service account.
    async fn create(&self, pod: &TestPod<'_>) -> Result<(), String> {
        let create = || async {
            let created = create_in::<Pod>(self.cluster, pod.namespace, self.names.pod_object(pod)).await;
            created.map_err(PollError::Retry)
        };
        poll_until(self.limit, create).await
    }

    /// Waits until a pod runs. The error has the cause from its events.
    async fn running(&self, namespace: &str, name: &str) -> Result<(), String> {
        let running = poll_until(self.limit, || async {
            let status = pod(self.cluster, namespace, name).await?.status.unwrap_or_default();
            let containers = status.container_statuses.unwrap_or_default();
            if containers.iter().any(|container| container.ready) {
                return Ok(());
            }
            let waiting = containers.iter().find_map(|container| container.state.as_ref()?.waiting.as_ref());
            let reason = waiting.and_then(|waiting| waiting.reason.clone()).unwrap_or_default();
            if ["ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"].contains(&reason.as_str())
            {
                return Err(PollError::Fatal(format!(
                    "{reason}: the node has no image {}: load it, or name another with --image",
                    self.image
                )));
            }
            Err(PollError::Retry(reason))
        });
        let Err(problem) = running.await else { return Ok(()) };
        let messages = events(self.cluster, namespace, name).await;
        let refused = messages.iter().rev().find_map(|message| plugin_error(message));
        let last = || messages.last().map(|message| line(&message.chars().take(300).collect::<String>()));
        Err(match refused.or_else(|| if problem.contains("mage") { None } else { last() }) {
            Some(said) => format!("attach: {said}"),
            None => format!("pod {name} is not running: {problem}"),
        })
    }

    /// Waits until a first frame arrives: the rings of a program work only some time after it
    /// connects.
    async fn first_frame(&self, namespace: &str, from: &str, to: &str) -> Result<(), String> {
        poll_until(self.limit, || async {
            self.run_tool(namespace, from, &["send", "--stream=1", "--count=1"]).await.map_err(PollError::Retry)?;
            let wait = ["receive", "--stream=1", "--count=1", "--timeout=200"];
            let answer = self.run_tool(namespace, to, &wait).await.map_err(PollError::Retry)?;
            match answer.get("received").and_then(Value::as_u64) {
                Some(received) if received > 0 => Ok(()),
                _ => Err(PollError::Retry("no frame arrives".to_owned())),
            }
        })
        .await
    }

    /// Runs the test program in a pod, and returns its output, also if frames were lost.
    async fn run_tool(&self, namespace: &str, pod: &str, command: &[&str]) -> Result<Value, String> {
        let command = [&[PROGRAM], command].concat();
        let text = run_command(self.cluster, (namespace, pod), "tools", &command).await?;
        let answer: Value =
            serde_json::from_str(&text).map_err(|_| format!("the test program printed {}", line(&text)))?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer),
        }
    }
}
