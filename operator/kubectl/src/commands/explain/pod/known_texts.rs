//! Texts of Multus, the container runtime, the kubelet and the scheduler, with the cause that each
//! stands for and what to do. Pure.
//!
//! Causes that follow from objects take precedence over these. The texts are those of Multus 4.3,
//! containerd 1.7 and 2, and Kubernetes 1.32 to 1.36.

/// A text, and its cause.
pub(super) struct KnownText {
    /// Parts of the text, all of which it has.
    parts: &'static [&'static str],
    pub cause: &'static str,
    pub remedy: &'static str,
}

const fn known(cause: &'static str, parts: &'static [&'static str], remedy: &'static str) -> KnownText {
    KnownText { parts, cause, remedy }
}

const ANNOTATION: &str = "AnnotationInvalid";
const RECREATE: &str =
    "correct the annotation k8s.v1.cni.cncf.io/networks as the message says, and create the pod again";

const INTERFACE: &str =
    "use a name of at most 15 letters, digits, '.', '_' and '-' for the interface, and create the pod again";

/// The texts of Multus and of the runtime, from the closest to the most general.
static SANDBOX: [KnownText; 19] = [
    known(
        "DefaultRouteTwice",
        &["does not support ECMP"],
        "leave default-route in one element of the annotation, and create the pod again",
    ),
    known(
        ANNOTATION,
        &["cannot unmarshal", "andwidth"],
        "write rates as numbers of bits per second without unit or quotes, such as \"ingressRate\": 10000000, and create the pod again",
    ),
    known(ANNOTATION, &["parsePodNetworkAnnotation"], RECREATE),
    known(ANNOTATION, &["failed to parse IP address"], RECREATE),
    known(ANNOTATION, &["failed to parse CIDR"], RECREATE),
    known(
        "InterfaceNameTwice",
        &["validateIfName", "already exists"],
        "give each interface of the pod a name of its own that is not eth0, such as blue@net2, and create the pod again",
    ),
    known("InterfaceNameInvalid", &["Failed to parse interface name"], INTERFACE),
    known("InterfaceNameInvalid", &["interface name is"], INTERFACE),
    known(
        "DefinitionMissing",
        &["cannot find a network-attachment-definition"],
        "the name in the annotation is wrong, or the network does not select the namespace: kubectl get net-attach-def",
    ),
    known(
        "NamespaceIsolated",
        &["namespace isolation enabled"],
        "Multus runs with namespaceIsolation: use a definition of the pod's own namespace (spec.definitions: PerNamespace of the network), or add the namespace of the definition to globalNamespaces of Multus",
    ),
    known(
        "ClusterNetworkNotReady",
        &["readinessindicatorfile"],
        "the plugin of the cluster's own network is not ready on the node: look at its pods there",
    ),
    known(
        "MultusUnreachable",
        &["multus.sock"],
        "the daemon of Multus does not run on the node: look at its pod there",
    ),
    known(
        "MultusWithoutApiServer",
        &["error getting k8s client"],
        "Multus cannot use its kubeconfig on the node: look at its pod there, which writes /etc/cni/net.d/multus.d",
    ),
    known(
        "MultusWithoutApiServer",
        &["Multus: ", "error waiting for pod"],
        "Multus cannot read the pod: its ServiceAccount needs get of pods, and the API server has to be reachable from the node",
    ),
    known(
        "PluginMissing",
        &["failed to find plugin"],
        "install the CNI plugin of that name on the node, in the folder that the message names (bin_dir of the container runtime)",
    ),
    known(
        "RuntimeNotReady",
        &["cni plugin not initialized"],
        "the container runtime has no CNI configuration: see /etc/cni/net.d on the node, and the pods of the cluster's own network",
    ),
    known(
        "NodeDiskFull",
        &["no space left on device"],
        "free space on the node: kubectl describe node shows DiskPressure",
    ),
    known("MultusRefused", &["Multus: "], "correct the pod as the message of Multus says, and create it again"),
    known(
        "SandboxFailed",
        &[],
        "act on the message, which is that of the container runtime; its log and the kubelet's on the node say more",
    ),
];

/// The texts about resource claims, of kubelet, scheduler and the controller of claims.
static CLAIM: [KnownText; 5] = [
    known(
        "DriverNotRegistered",
        &["DRA driver usnet.dev is not registered"],
        "the agent of the node registers the driver within seconds, and the kubelet tries again; if this stays: see that config/components/resource-claims is installed, and the log of the agent",
    ),
    known(
        "NoFreePort",
        &["cannot allocate all claims"],
        "no node that suits the pod has a port left for its claims: raise spec.resourceClaims.ports of the network, delete other pods, or extend the network to more nodes; kubectl get resourceslices shows which nodes offer ports",
    ),
    known(
        "ClaimMissing",
        &["resourceclaimtemplate", "not found"],
        "create the ResourceClaimTemplate in the namespace of the pod, or correct its name in spec.resourceClaims: kubectl get resourceclaimtemplates",
    ),
    known(
        "ClaimMissing",
        &["resourceclaim", "not found"],
        "create the ResourceClaim in the namespace of the pod, or correct its name in spec.resourceClaims: kubectl get resourceclaims",
    ),
    known(
        "ClaimMissing",
        &["waiting for", "resourceclaim"],
        "Kubernetes has not created the claim from its template: see that the template exists (kubectl get resourceclaimtemplates), and the events of the pod",
    ),
];

impl KnownText {
    fn is_in(&self, message: &str) -> bool {
        self.parts.iter().all(|part| message.contains(part))
    }
}

/// Returns the cause of a text of Multus or the container runtime.
pub(super) fn of_sandbox(message: &str) -> &'static KnownText {
    let [.., general] = &SANDBOX;
    SANDBOX.iter().find(|known| known.is_in(message)).unwrap_or(general)
}

/// Returns the cause of a text about resource claims, if it is one.
pub(super) fn of_claim(message: &str) -> Option<&'static KnownText> {
    CLAIM.iter().find(|known| known.is_in(message))
}
