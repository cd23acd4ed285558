//! The kinds that tests use, and their paths in the API.

/// A kind of object.
pub(super) struct Kind {
    /// As `kubectl` takes it.
    names: &'static [&'static str],
    kind: &'static str,
    api: &'static str,
    plural: &'static str,
    is_namespaced: bool,
}

const fn kind(
    names: &'static [&'static str],
    kind: &'static str,
    api: &'static str,
    plural: &'static str,
    is_namespaced: bool,
) -> Kind {
    Kind { names, kind, api, plural, is_namespaced }
}

const USNET: &str = "apis/usnet.dev/v1alpha1";
const KINDS: [Kind; 27] = [
    kind(&["usn", "userspacenetworks"], "UserspaceNetwork", USNET, "userspacenetworks", false),
    kind(&["usns"], "UserspaceNodeState", USNET, "userspacenodestates", false),
    kind(&["usu"], "UserspaceUplink", USNET, "userspaceuplinks", false),
    kind(&["usna"], "UserspaceAttachment", USNET, "userspaceattachments", true),
    kind(&["usne"], "UserspaceEngine", USNET, "userspaceengines", false),
    kind(&["userspacenodeslices"], "UserspaceNodeSlice", USNET, "userspacenodeslices", false),
    kind(&["usnr"], "UserspaceReservation", USNET, "userspacereservations", true),
    kind(&["ucn", "compilednetwork"], "CompiledNetwork", USNET, "compilednetworks", false),
    kind(&["ucp", "compiledpolicies"], "CompiledPolicy", USNET, "compiledpolicies", false),
    kind(&["usps", "userspacepodslices"], "UserspacePodSlice", USNET, "userspacepodslices", false),
    kind(
        &["multi-networkpolicies"],
        "MultiNetworkPolicy",
        "apis/k8s.cni.cncf.io/v1beta1",
        "multi-networkpolicies",
        true,
    ),
    kind(
        &["net-attach-def"],
        "NetworkAttachmentDefinition",
        "apis/k8s.cni.cncf.io/v1",
        "network-attachment-definitions",
        true,
    ),
    kind(&["pod", "pods"], "Pod", "api/v1", "pods", true),
    kind(&["events"], "Event", "api/v1", "events", true),
    kind(&["node"], "Node", "api/v1", "nodes", false),
    kind(&["namespace"], "Namespace", "api/v1", "namespaces", false),
    kind(&["serviceaccount"], "ServiceAccount", "api/v1", "serviceaccounts", true),
    kind(&["secrets"], "Secret", "api/v1", "secrets", true),
    kind(&["configmap"], "ConfigMap", "api/v1", "configmaps", true),
    kind(&["deployment"], "Deployment", "apis/apps/v1", "deployments", true),
    kind(&["daemonset"], "DaemonSet", "apis/apps/v1", "daemonsets", true),
    kind(&["statefulset"], "StatefulSet", "apis/apps/v1", "statefulsets", true),
    kind(&["resourceclaim", "resourceclaims"], "ResourceClaim", "apis/resource.k8s.io/v1", "resourceclaims", true),
    kind(
        &["resourceclaimtemplate"],
        "ResourceClaimTemplate",
        "apis/resource.k8s.io/v1",
        "resourceclaimtemplates",
        true,
    ),
    kind(&["resourceslices", "resourceslice"], "ResourceSlice", "apis/resource.k8s.io/v1", "resourceslices", false),
    kind(&["deviceclass"], "DeviceClass", "apis/resource.k8s.io/v1", "deviceclasses", false),
    kind(&["crd"], "CustomResourceDefinition", "apis/apiextensions.k8s.io/v1", "customresourcedefinitions", false),
];

impl Kind {
    /// Finds a kind by a name that `kubectl` takes.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.names.contains(&name))
    }

    /// Finds the kind of a manifest.
    pub(super) fn of(version: &str, name: &str) -> Option<&'static Self> {
        // "api/v1" is the path of "v1", and "apis/apps/v1" that of "apps/v1".
        KINDS.iter().find(|kind| kind.kind == name && kind.api.split_once('/').is_some_and(|(_, api)| api == version))
    }

    /// Finds the kind of a manifest, which may be of a copy of it in another group.
    pub(super) fn of_any_group(name: &str) -> &'static Self {
        KINDS.iter().find(|kind| kind.kind == name).unwrap_or_else(|| panic!("add {name} to the kinds of tests"))
    }

    /// Returns the path of the objects in a namespace, which counts only for kinds that have one.
    pub(super) fn path(&self, namespace: &str) -> String {
        self.path_below(self.api, namespace)
    }

    /// Returns that path for another group and version.
    pub(super) fn path_in(&self, version: &str, namespace: &str) -> String {
        let root = if version.contains('/') { "apis" } else { "api" };
        self.path_below(&format!("{root}/{version}"), namespace)
    }

    /// Returns the path of the objects of all namespaces.
    pub(super) fn path_of_all(&self) -> String {
        format!("/{}/{}", self.api, self.plural)
    }

    fn path_below(&self, api: &str, namespace: &str) -> String {
        let plural = self.plural;
        if self.is_namespaced {
            return format!("/{api}/namespaces/{namespace}/{plural}");
        }
        format!("/{api}/{plural}")
    }
}

/// Returns the path that `kubectl get` with these arguments reads; `None` if only `kubectl` knows
/// it.
pub(in super::super) fn path(arguments: &[&str]) -> Option<String> {
    let (mut names, mut namespace, mut query) = (Vec::new(), "default", Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match *argument {
            "-n" => namespace = rest.next()?,
            "-l" => query.push(("labelSelector", *rest.next()?)),
            "--field-selector" => query.push(("fieldSelector", *rest.next()?)),
            option if option.starts_with('-') => return None,
            name => names.push(name),
        }
    }
    let (kind, name) = match names[..] {
        [kind] => (kind, None),
        [kind, name] => (kind, Some(name)),
        _ => return None,
    };
    let mut path = Kind::named(kind)?.path(namespace);
    path.extend(name.map(|name| format!("/{name}")));
    let mut separator = '?';
    for (key, value) in query {
        path += &format!("{separator}{key}={}", encoded(value));
        separator = '&';
    }
    Some(path)
}

fn encoded(value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    value.bytes().map(encode).collect()
}
