//! What an administrator has to do on a node for the engines that usnet runs there, in lines to
//! copy: usnet changes neither boot parameters nor kubelet. `kubectl usnet explain node` prints
//! them, and `docs/engines.md` is generated from them. Pure.
//!
//! - [`needs`]: what the engines of a node ask for and do not have, as far as is known;
//! - [`boot`]: the boot parameters, and how a [`distribution`] sets them;
//! - [`kubelet`]: the fields of its configuration.

pub mod boot;
pub mod distribution;
pub mod kubelet;
pub mod needs;

use super::types::HugepageSize;
use distribution::Distribution;
use needs::Needs;
use serde::Serialize;
use std::collections::BTreeMap;

/// The module by which programs have PCI devices.
const MODULE: &str = "vfio-pci";

/// What the API says of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeFacts {
    pub name: String,
    /// Its distribution, such as `Rocky Linux 9.4 (Blue Onyx)`; empty if it is not known.
    pub os_image: String,
    /// Its architecture, such as `amd64`; empty if it is not known.
    pub architecture: String,
    /// How many hugepages of each size kubelet counted.
    pub hugepages: BTreeMap<HugepageSize, u32>,
}

/// A step, in the order in which they are done.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Step {
    /// What is done, and where.
    pub title: String,
    /// Commands, or the content of a file.
    pub lines: Vec<String>,
}

impl Step {
    fn new(title: impl Into<String>, lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { title: title.into(), lines: lines.into_iter().map(Into::into).collect() }
    }
}

/// The steps for a node; none if nothing is needed.
pub fn steps(needs: &Needs, node: &NodeFacts) -> Vec<Step> {
    let parameters = boot::parameters(needs, node);
    let fields = kubelet::fields(needs);
    let (has_reboot, has_kubelet) = (!parameters.is_empty(), !fields.is_empty());
    let mut steps = Vec::new();
    if has_reboot || has_kubelet {
        let drain = format!("kubectl drain {} --ignore-daemonsets --delete-emptydir-data", node.name);
        steps.push(Step::new("move its pods to other nodes", [drain]));
    }
    if has_reboot {
        let what = boot::purpose(needs, node);
        steps.extend(Distribution::candidates(&node.os_image).iter().map(|distribution| {
            let title = format!("on the node, boot parameters for {what} ({})", distribution.name(&node.os_image));
            Step::new(title, distribution.lines(&parameters))
        }));
    }
    if needs.has_vfio {
        let lines = [format!("echo {MODULE} > /etc/modules-load.d/{MODULE}.conf"), format!("modprobe {MODULE}")];
        steps.push(Step::new("on the node, the module for PCI devices, now and after each reboot", lines));
    }
    if has_kubelet {
        let title = format!("in the configuration of kubelet (with kubeadm {})", kubelet::FILE);
        steps.push(Step::new(title, fields));
    }
    if has_reboot || has_kubelet {
        let title = if has_reboot { "on the node, reboot" } else { "on the node, restart kubelet" };
        steps.push(Step::new(title, kubelet::restart(needs, has_reboot)));
        steps.push(Step::new("let pods come back", [format!("kubectl uncordon {}", node.name)]));
    }
    steps
}

#[cfg(test)]
mod tests;
