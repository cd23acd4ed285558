//! The checks (IO): each is told what it is about and answers what it saw, or what is wrong.

use super::manifests::{Names, TestPod};
use super::objects::{Wait, create_in, events, pod, until};
use super::report::{frames, refusal};
use crate::kubectl::api::{Cluster, run_program};
use crate::kubectl::output::line;
use k8s_openapi::api::core::v1::Pod;
use kube::api::Api;
use serde_json::Value;
use std::time::Duration;
use usnet_crds::UserspaceNetwork;
use usnet_crds::conditions::{READY, STALLED, Status, find};

/// The frames of each size, and the sizes.
const FRAMES: &str = "1000";
const SIZES: [usize; 2] = [64, 1500];
/// The program in the image.
const PROGRAM: &str = "/usr/local/bin/usnet-tools";

/// What all steps need.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) names: &'a Names,
    pub(super) image: &'a str,
    /// How long each step waits.
    pub(super) limit: Duration,
}

impl Step<'_> {
    /// Waits until the network is ready, or fails somewhere: a broken node does not keep others
    /// from being tested. Returns the problems of nodes.
    pub(super) async fn network(&self, name: &str) -> Result<Vec<(String, String)>, String> {
        let networks = Api::<UserspaceNetwork>::all(self.cluster.client.clone());
        let observed = until(self.limit, || async {
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
                Some((false, message)) if condition(STALLED).is_some() => Err(Wait::Never(message)),
                Some((false, message)) => Err(Wait::For(message)),
                None => Err(Wait::For("no controller has read the network".to_owned())),
            }
        });
        observed.await.map_err(|problem| format!("network {name} is not ready: {problem}"))
    }

    /// Two pods of a node exchange frames in both directions.
    pub(super) async fn pod_to_pod(&self, network: &str, engine: &str, node: &str) -> Result<String, String> {
        let namespace = self.names.namespace();
        let pods = ["a", "b"].map(|which| format!("{}-{which}-{node}", engine.to_ascii_lowercase()));
        for name in &pods {
            self.create(&TestPod { name, namespace: &namespace, network, node, image: self.image }).await?;
        }
        for name in &pods {
            self.running(&namespace, name).await?;
        }
        let [a, b] = &pods;
        for (from, to) in [(a, b), (b, a)] {
            self.first_frame(&namespace, from, to).await?;
        }
        let mut answers = Vec::new();
        for (from, to) in [(a, b), (b, a)] {
            for size in SIZES {
                let (stream, bytes) = (format!("--stream={size}"), format!("--size={size}"));
                self.ask(&namespace, from, &["send", &stream, &bytes, "--count", FRAMES]).await?;
                answers.push((size, self.ask(&namespace, to, &["receive", &stream, "--count", FRAMES]).await?));
            }
        }
        frames(&answers)
    }

    /// A pod of a namespace that the network does not select is refused.
    pub(super) async fn isolation(&self, network: &str, node: &str) -> Result<String, String> {
        let (namespace, name) = (self.names.other_namespace(), "intruder");
        let reference = format!("{}/{network}", self.names.namespace());
        self.create(&TestPod { name, namespace: &namespace, network: &reference, node, image: self.image }).await?;
        until(self.limit, || async {
            let running = pod(self.cluster, &namespace, name).await?;
            if running.status.and_then(|status| status.phase).as_deref() == Some("Running") {
                return Err(Wait::Never("a pod of a namespace that is not selected was attached".to_owned()));
            }
            let said = events(self.cluster, &namespace, name).await;
            let refused = said.iter().rev().find_map(|message| refusal(message));
            match refused {
                Some(refused) if refused.starts_with("100 ") => {
                    Ok("a pod of a namespace that is not selected was refused (100)".to_owned())
                }
                Some(other) => Err(Wait::For(format!("it was refused for another reason: {other}"))),
                None => {
                    Err(Wait::For(format!("it was not refused: {}", said.last().map_or("no event", String::as_str))))
                }
            }
        })
        .await
    }

    /// A new namespace has no service account for a moment, and the API server then accepts no pod.
    async fn create(&self, pod: &TestPod<'_>) -> Result<(), String> {
        let create = || async {
            let created = create_in::<Pod>(self.cluster, pod.namespace, self.names.pod_object(pod)).await;
            created.map_err(Wait::For)
        };
        until(self.limit, create).await
    }

    /// Waits until a pod runs; what its events say if it does not.
    async fn running(&self, namespace: &str, name: &str) -> Result<(), String> {
        let running = until(self.limit, || async {
            let status = pod(self.cluster, namespace, name).await?.status.unwrap_or_default();
            let containers = status.container_statuses.unwrap_or_default();
            if containers.iter().any(|container| container.ready) {
                return Ok(());
            }
            let waiting = containers.iter().find_map(|container| container.state.as_ref()?.waiting.as_ref());
            let reason = waiting.and_then(|waiting| waiting.reason.clone()).unwrap_or_default();
            if ["ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"].contains(&reason.as_str())
            {
                return Err(Wait::Never(format!(
                    "{reason}: the node has no image {}: load it, or name another with --image",
                    self.image
                )));
            }
            Err(Wait::For(reason))
        });
        let Err(problem) = running.await else { return Ok(()) };
        let said = events(self.cluster, namespace, name).await;
        let refused = said.iter().rev().find_map(|message| refusal(message));
        let last = || said.last().map(|message| line(&message.chars().take(300).collect::<String>()));
        Err(match refused.or_else(|| if problem.contains("mage") { None } else { last() }) {
            Some(said) => format!("attach: {said}"),
            None => format!("pod {name} does not run: {problem}"),
        })
    }

    /// The first frames may come before the rings of a program that connects work.
    async fn first_frame(&self, namespace: &str, from: &str, to: &str) -> Result<(), String> {
        until(self.limit, || async {
            self.ask(namespace, from, &["send", "--stream=1", "--count=1"]).await.map_err(Wait::For)?;
            let wait = ["receive", "--stream=1", "--count=1", "--timeout=200"];
            let answer = self.ask(namespace, to, &wait).await.map_err(Wait::For)?;
            match answer.get("received").and_then(Value::as_u64) {
                Some(received) if received > 0 => Ok(()),
                _ => Err(Wait::For("no frame arrives".to_owned())),
            }
        })
        .await
    }

    /// An answer of the test program in a pod, also if it is that not all came.
    async fn ask(&self, namespace: &str, pod: &str, command: &[&str]) -> Result<Value, String> {
        let command = [&[PROGRAM], command].concat();
        let text = run_program(self.cluster, (namespace, pod), "tools", &command).await?;
        let answer: Value =
            serde_json::from_str(&text).map_err(|_| format!("the test program printed {}", line(&text)))?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer),
        }
    }
}
