//! The DeviceClass of a network: by its name a claim selects the devices of this network, and by
//! its extended resource a pod without claims does. No IO.

use super::Claimable;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use kube::core::ClusterResourceScope;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use usnet_common::api::device_api::{DRIVER, device_api_kind};
use usnet_crds::device::resource_name;
use usnet_crds::nad::NETWORK_LABEL;
use usnet_crds::{NetworkName, UserspaceNetwork};

/// The prefix of the names of generated classes.
const PREFIX: &str = "usnet-";

/// The fields of a DeviceClass that are written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct DeviceClass {
    pub(super) metadata: ObjectMeta,
    #[serde(default)]
    pub(super) spec: ClassSpec,
}

device_api_kind!(DeviceClass, "deviceclasses", ClusterResourceScope);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ClassSpec {
    pub(super) selectors: Vec<Selector>,
    /// Kubernetes before 1.36 drops this field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extended_resource_name: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Selector {
    cel: Cel,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Cel {
    expression: String,
}

/// The classes of networks, by the names of the classes.
pub(super) fn classes(networks: &Claimable) -> BTreeMap<String, DeviceClass> {
    networks.iter().map(|(network, uid)| class(network, uid)).map(|class| (name_of(&class), class)).collect()
}

fn class(network: &NetworkName, uid: &str) -> DeviceClass {
    // The first part holds for devices of this driver only: others may lack the attribute.
    let expression =
        format!("device.driver == \"{DRIVER}\" && device.attributes[\"{DRIVER}\"].network == \"{network}\"");
    let owner = OwnerReference {
        api_version: UserspaceNetwork::api_version(&()).into_owned(),
        kind: UserspaceNetwork::kind(&()).into_owned(),
        name: network.to_string(),
        uid: uid.to_owned(),
        controller: Some(true),
        ..OwnerReference::default()
    };
    DeviceClass {
        metadata: ObjectMeta {
            name: Some(format!("{PREFIX}{network}")),
            labels: Some([(NETWORK_LABEL.to_owned(), network.to_string())].into()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: ClassSpec {
            selectors: vec![Selector { cel: Cel { expression } }],
            extended_resource_name: Some(resource_name(network)),
        },
    }
}

pub(super) fn name_of(class: &DeviceClass) -> String {
    class.metadata.name.clone().unwrap_or_default()
}

impl DeviceClass {
    /// Whether usnet generated it: by label and name, as the admission policy checks it.
    pub(super) fn is_generated(&self) -> bool {
        let network = self.metadata.labels.as_ref().and_then(|labels| labels.get(NETWORK_LABEL));
        network.is_some_and(|network| name_of(self) == format!("{PREFIX}{network}"))
    }

    /// Whether the class is as `desired`. `drops_resource`: Kubernetes drops the extended resource.
    pub(super) fn matches(&self, desired: &Self, drops_resource: bool) -> bool {
        let uid = |class: &Self| class.metadata.owner_references.iter().flatten().map(|owner| owner.uid.clone()).next();
        let mut spec = desired.spec.clone();
        if drops_resource {
            spec.extended_resource_name = None;
        }
        self.is_generated() && self.spec == spec && uid(self) == uid(desired)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    pub(in crate::device_classes) fn claimable(network: &str) -> Claimable {
        [(network.parse().unwrap(), "u-1".to_owned())].into()
    }

    #[test]
    fn a_class_selects_the_devices_of_its_network_and_goes_with_it() {
        let classes = classes(&claimable("blue"));
        let expected = json!({
            "metadata": {
                "name": "usnet-blue", "labels": {"usnet.dev/network": "blue"},
                "ownerReferences": [{
                    "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "name": "blue", "uid": "u-1",
                    "controller": true,
                }],
            },
            "spec": {
                "selectors": [{"cel": {"expression":
                    "device.driver == \"usnet.dev\" && device.attributes[\"usnet.dev\"].network == \"blue\""}}],
                "extendedResourceName": "usnet.dev/blue",
            },
        });
        assert_eq!(serde_json::to_value(classes.get("usnet-blue").unwrap()).unwrap(), expected);
    }

    #[test]
    fn a_class_of_another_network_or_release_or_of_a_user_does_not_match() {
        let desired = classes(&claimable("blue")).remove("usnet-blue").unwrap();
        assert!(desired.matches(&desired, false));
        let mut dropped = desired.clone();
        dropped.spec.extended_resource_name = None;
        assert!(dropped.matches(&desired, true) && !dropped.matches(&desired, false));
        let mut earlier = desired.clone();
        earlier.metadata.owner_references.as_mut().unwrap().first_mut().unwrap().uid = "u-0".into();
        assert!(!earlier.matches(&desired, false));
        let mut of_user = desired.clone();
        of_user.metadata.labels = None;
        assert!(!of_user.is_generated() && !of_user.matches(&desired, false));
    }
}
