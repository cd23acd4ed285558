//! What users can choose, in the chart and with kustomize.

/// Whether the component is there when the value is true or when it is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// The component adds what the value names.
    Adds,
    /// The component removes it.
    Removes,
}

/// A value of the chart, and the component of `config/` that it stands for.
#[derive(Clone, Copy, Debug)]
pub struct ChartOption {
    /// The value's path in `values.yaml`.
    pub value: &'static str,
    /// The component's folder in `config/`.
    pub folder: &'static str,
    /// When the component is used.
    pub switch: Switch,
}

/// All of them. What they change of an object must not overlap.
pub const OPTIONS: [ChartOption; 18] = [
    ChartOption { value: "engines.ovs", folder: "engines/ovs", switch: Switch::Adds },
    ChartOption { value: "engines.vpp", folder: "engines/vpp", switch: Switch::Adds },
    ChartOption { value: "nodeNetwork", folder: "components/node-network", switch: Switch::Adds },
    ChartOption { value: "nicBinding", folder: "components/nic-binding", switch: Switch::Adds },
    ChartOption { value: "garbageCollection", folder: "components/no-garbage-collection", switch: Switch::Removes },
    ChartOption { value: "legacyNads", folder: "components/no-legacy-nads", switch: Switch::Removes },
    ChartOption { value: "legacyPods", folder: "components/legacy-pods", switch: Switch::Adds },
    ChartOption { value: "networkPolicy", folder: "components/network-policy", switch: Switch::Adds },
    ChartOption { value: "prometheus", folder: "components/prometheus", switch: Switch::Adds },
    ChartOption { value: "metricsCertificate", folder: "components/metrics-certificate", switch: Switch::Adds },
    ChartOption { value: "selinux", folder: "components/selinux", switch: Switch::Adds },
    ChartOption { value: "openshift", folder: "components/openshift", switch: Switch::Adds },
    ChartOption { value: "attachments", folder: "components/attachments", switch: Switch::Adds },
    ChartOption { value: "resourceClaims", folder: "components/resource-claims", switch: Switch::Adds },
    ChartOption { value: "hotPlug", folder: "components/hot-plug", switch: Switch::Adds },
    ChartOption { value: "userspaceEngines", folder: "components/engines", switch: Switch::Adds },
    ChartOption { value: "policies", folder: "components/policies", switch: Switch::Adds },
    ChartOption { value: "tenantRoles", folder: "components/tenant-roles", switch: Switch::Adds },
];

/// Components that include others, for which the chart has values of their own.
const INCLUDED: [(&str, &[&str]); 3] = [
    ("components/openshift", &["components/selinux", "components/cni-folders/openshift"]),
    ("components/resource-claims", &["components/attachments"]),
    ("components/hot-plug", &["components/attachments"]),
];

/// Values whose default follows from values that include their component: `_helpers.tpl` has a
/// template `usnet.VALUE` for each, which is empty where the value is false.
pub const DEFAULT_FOLLOWS: [&str; 2] = ["attachments", "selinux"];

impl ChartOption {
    /// The components that this one's includes.
    #[must_use]
    pub fn included(&self) -> &'static [&'static str] {
        INCLUDED.iter().find(|(folder, _)| *folder == self.folder).map_or(&[], |(_, included)| included)
    }
}
