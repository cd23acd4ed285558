//! The commands of the pages, and how each is run: in a folder with `blue.yaml` and `network.yaml`,
//! with the variables `AGENT`, a pod of an agent, and `CHECKOUT`.

use How::{As, Exits, Run, Tested};

/// A command as it is on a page, and how it is run.
pub(super) type Row = (&'static str, How);

/// The way in which a command is run.
pub(super) enum How {
    /// The command is run unmodified.
    Run,
    /// With names in place of the page's placeholders, or so that it only tries.
    As(&'static str),
    /// The command is run unmodified, and has this exit status.
    Exits(i32, &'static str),
    /// Another test runs it, or it is only a name.
    Tested(&'static str),
}

const RELEASED: How = Tested("release::the_chart_is_installed_upgraded_and_removed_under_running_pods");
const SWITCHED: How = Tested("legacy::switched::a_cluster_is_switched_to_usnet_and_back_without_the_loss_of_a_packet");
const MANIFESTS: How = Tested("release::install_yaml_is_applied_and_deleted");
const SIMULATOR: How = Tested("the simulator's own tests, e2e/vpp/tests");
const STANDALONE: How = Tested("agent tests, standalone::manifests");
const CAPTURE: How = Tested("networks::kubectl_usnet::capture::a_capture_streams_frames_until_its_user_ends_it");
const NODE_CAPTURE: How = Tested("agent tests, open_vswitch::capture_command");
const SAMPLES: How = Tested("networks::samples::every_sample_works_unchanged");
const ATTACHMENTS: How =
    Tested("pods::attachments::ports::every_type_of_port_is_plugged_into_running_pods_and_unplugged");
const NAME: How = Tested("the name of a command");
const DEBIAN: How = Tested("README.Debian of the package; the test bed starts the same programs");
const ENGINE: How = Tested("every test bed configures Open vSwitch so, engines/open_vswitch.rs");
const USER_ENGINE: How = Tested("engines::bare_node::a_node_without_an_engine_gets_one_and_loses_it_with_the_object");
const COMPILED_POLICY: How =
    Tested("networks::compiled_policies::a_policy_is_compiled_while_it_is_there_and_says_what_is_not_enforced");
const POLICIES: How = Tested("networks::policies::pods_reach_what_policies_allow_and_nothing_else_whatever_happens");
const SHELL: How = Tested("outages::components and networks::samples do this");

/// Run first: they create the network of "Getting started".
pub(super) const NETWORK: &[Row] = &[
    ("kubectl label namespace default usnet.dev/blue=allowed", Run),
    ("kubectl apply -f blue.yaml", Run),
    ("kubectl wait --for=condition=Ready usn/blue", Run),
    ("kubectl wait --for=condition=Ready usn/NAME", As("kubectl wait --for=condition=Ready usn/blue")),
    ("kubectl get usn", Run),
    ("kubectl get usna", Run),
    ("kubectl get usne", Run),
    ("kubectl label node node-a usnet.dev/engine=ovs", USER_ENGINE),
    ("kubectl apply -f config/samples/engine.yaml -f config/samples/network.yaml", USER_ENGINE),
    ("kubectl delete usne ovs", USER_ENGINE),
    ("usnet engines", NAME),
    ("usnet policies", NAME),
    ("kubectl get compiledpolicies", Run),
    ("kubectl get userspacepodslices", Run),
    ("kubectl exec -n usnet-system deployment/usnet-policies -- usnet probe metrics", Run),
    ("kubectl describe multi-networkpolicies -n db database", COMPILED_POLICY),
    ("kubectl get usnr -o wide", Run),
    ("kubectl wait --for=condition=Ready usna/web-extra", ATTACHMENTS),
    ("kubectl delete usna web-extra", ATTACHMENTS),
    ("kubectl apply", NAME),
    ("kubectl delete", NAME),
    (
        "kubectl rollout status -n usnet-system deployment/usnet-controller daemonset/usnet-agent",
        As(
            "for it in deployment/usnet-controller daemonset/usnet-agent; do kubectl rollout status -n usnet-system $it; done",
        ),
    ),
    ("kubectl apply -k .", As("kubectl apply --dry-run=server -k $CHECKOUT/config/default")),
    // The CRDs are not deleted: a network exists.
    ("kubectl delete -k config/default", Exits(1, "kubectl delete --dry-run=server -k $CHECKOUT/config/default")),
    (
        "kubectl annotate crd NAME usnet.dev/force-delete=NAME",
        Tested("outages::crds_removed::crds_of_users_stay_while_a_network_or_an_uplink_exists"),
    ),
    (
        "kubectl set env -n usnet-system deployment/usnet-controller USNET_LEGACY_NAD_NAMESPACES='team=a'",
        As(
            "kubectl set env --dry-run=server -n usnet-system deployment/usnet-controller USNET_LEGACY_NAD_NAMESPACES='team=a'",
        ),
    ),
    (
        "kubectl set env -n usnet-system daemonset/usnet-agent -c agent USNET_LISTEN_PORT_METRICS=127.0.0.1:8083",
        As(
            "kubectl set env --dry-run=server -n usnet-system daemonset/usnet-agent -c agent USNET_LISTEN_PORT_METRICS=127.0.0.1:8083",
        ),
    ),
    (
        "kubectl patch configmap argocd-cm -n argocd --patch-file config/gitops/argocd-cm.yaml",
        As("kubectl create namespace argocd; kubectl create configmap argocd-cm -n argocd; \
            kubectl patch configmap argocd-cm -n argocd --patch-file $CHECKOUT/config/gitops/argocd-cm.yaml; \
            kubectl delete namespace argocd --wait=false"),
    ),
    ("helm install usnet usnet-0.1.0.tgz --namespace usnet-system --create-namespace --wait", RELEASED),
    ("helm test usnet --namespace usnet-system", RELEASED),
    ("helm upgrade usnet usnet-0.2.0.tgz --namespace usnet-system", RELEASED),
    ("helm uninstall usnet --namespace usnet-system", RELEASED),
    ("helm rollback", NAME),
    ("helm uninstall", NAME),
    ("kubectl apply -f install.yaml", MANIFESTS),
    ("kubectl delete -f install.yaml", MANIFESTS),
    ("kubectl delete -f crds.yaml", RELEASED),
    ("install kubectl-usnet /usr/local/bin/kubectl-usnet", Tested("the test bed does this with its own folder")),
    ("ln -s kubectl-usnet /usr/local/bin/kubectl_complete-usnet", Tested("usnet_kubectl::completion")),
    ("vpp-simulator --folder /tmp/vpp --fault 'die after 3' &", SIMULATOR),
    ("echo 'fail 2 -14' | socat - UNIX-CONNECT:/tmp/vpp/control.sock", SIMULATOR),
    ("tail -f /tmp/vpp/messages.log", SIMULATOR),
    ("usnet agent --node-name NAME --manifests FOLDER", STANDALONE),
    ("usnet agent --listen-port-metrics 127.0.0.1:8083", Tested("agent tests, port metrics")),
    ("usnet agent", NAME),
    ("usnet controller", NAME),
    ("usnet node", NAME),
    ("usnet collect-garbage", NAME),
    ("usnet serve-attachments", NAME),
    ("usnet ENGINE NETWORK", Tested("an example of a text")),
    ("kubectl usnet", NAME),
    ("kubectl diff", NAME),
    ("apt-get install openvswitch-switch-dpdk", Tested("e2e/scripts/setup")),
    ("update-alternatives --set ovs-vswitchd /usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk", DEBIAN),
    ("service openvswitch-switch restart", DEBIAN),
    ("ovs-vsctl --no-wait set Open_vSwitch . other_config:dpdk-init=true", ENGINE),
    ("ovs-vsctl --no-wait set Open_vSwitch . other_config:dpdk-socket-mem=2048", Tested("needs hugepages")),
    (
        "ovs-vsctl --no-wait set Open_vSwitch . other_config:dpdk-extra=\"--no-pci --no-huge --legacy-mem -m 512\"",
        ENGINE,
    ),
    ("ovs-vsctl --no-wait set Open_vSwitch . other_config:per-port-memory=true", ENGINE),
    ("ovs-vsctl set Open_vSwitch . other_config:pmd-cpu-mask=0x4", ENGINE),
    ("ovs-vsctl set Open_vSwitch . other_config:pmd-maxsleep=200 other_config:pmd-sleep-max=200", ENGINE),
    (
        "ovs-vsctl get Open_vSwitch . dpdk_initialized",
        As("on-node node-a ovs-vsctl get Open_vSwitch . dpdk_initialized | grep -qx true"),
    ),
    (
        "ovs-vsctl get Open_vSwitch . iface_types",
        As("on-node node-a ovs-vsctl get Open_vSwitch . iface_types | grep -qw dpdkvhostuserclient"),
    ),
    ("ls /run/openvswitch/db.sock", As("on-node node-a ls /run/openvswitch/db.sock")),
    ("kubectl wait --for=condition=Ready usns/NODE", As("kubectl wait --for=condition=Ready usns/node-a")),
    ("kubectl describe pod", NAME),
];

/// Run once three pods select the network: one that works, one whose program is not there, one
/// without a volume. The last ones remove the network.
pub(super) const PODS: &[Row] = &[
    ("kubectl usnet status", Run),
    (
        "kubectl usnet test --node node-a",
        Tested("networks::kubectl_usnet::test_command::a_test_of_all_nodes_passes_and_leaves_nothing"),
    ),
    ("kubectl usnet pods blue", Exits(1, "kubectl usnet pods blue")),
    ("kubectl usnet pods NETWORK", Exits(1, "kubectl usnet pods blue")),
    ("kubectl usnet test", Tested("the same test as with --node")),
    ("kubectl usnet explain", NAME),
    ("kubectl usnet explain node NAME", As("kubectl usnet explain node node-b")),
    ("kubectl usnet migrate check", SWITCHED),
    ("kubectl usnet migrate check -A", SWITCHED),
    ("kubectl usnet migrate plan -A", SWITCHED),
    ("kubectl delete -n usnet-system deployment,daemonset -l app.kubernetes.io/name=usnet", SWITCHED),
    ("kubectl drain", NAME),
    // Pods with sockets are refused without the option.
    (
        "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data",
        As("if kubectl drain node-a --dry-run=server --force --ignore-daemonsets; then exit 1; fi; \
            kubectl drain node-a --dry-run=server --force --ignore-daemonsets --delete-emptydir-data"),
    ),
    ("kubectl usnet explain pod", NAME),
    ("kubectl usnet explain pod NAME", As("kubectl usnet explain pod user")),
    ("kubectl usnet explain pod web/dpdk-1", Exits(1, "kubectl usnet explain pod web/dpdk-1")),
    ("kubectl usnet explain network NAME", As("kubectl usnet explain network blue")),
    ("kubectl usnet explain usne NAME", Tested("engines::wrong::each_wrong_set_up_is_named_with_its_remedy")),
    (
        "kubectl usnet explain usne ovs",
        Tested(
            "engines::wrong::each_wrong_set_up_is_named_with_its_remedy, and the example by usnet_kubectl::documentation",
        ),
    ),
    (
        "kubectl usnet explain node node-b",
        Tested(
            "engines::wrong::each_wrong_set_up_is_named_with_its_remedy, and the example by usnet_kubectl::documentation",
        ),
    ),
    ("kubectl usnet explain TYPE NAME", As("kubectl usnet explain network blue; kubectl usnet explain node/node-b")),
    (
        "kubectl create clusterrolebinding usnet-networks --clusterrole=usnet-networks-view --group=system:authenticated",
        As(
            "kubectl create --dry-run=server clusterrolebinding usnet-networks --clusterrole=usnet-networks-view --group=system:authenticated",
        ),
    ),
    ("kubectl usnet graph", Run),
    (
        "kubectl usnet report --write usnet.html",
        As(
            "kubectl usnet report --interval 1 | grep -q 'Content-Security-Policy'; kubectl usnet graph -o svg | grep -q '</svg>'",
        ),
    ),
    ("kubectl usnet plan -f network.yaml", Exits(1, "kubectl usnet plan -f network.yaml")),
    ("kubectl usnet history", Run),
    ("kubectl usnet capture web/dpdk-0 net1 | wireshark -k -i -", CAPTURE),
    ("kubectl usnet capture web/dpdk-0 net1 --write frames.pcapng --count 1000", CAPTURE),
    ("usnet node capture web/dpdk-0 net1 --write frames.pcapng", NODE_CAPTURE),
    ("usnet node capture", NODE_CAPTURE),
    ("kubectl usnet top", As("kubectl usnet top --interval 1")),
    (
        "kubectl exec -n usnet-system AGENT -- usnet node ports",
        As("kubectl exec -n usnet-system $AGENT -- usnet node ports"),
    ),
    (
        "kubectl exec -n usnet-system AGENT -- usnet node status",
        As("kubectl exec -n usnet-system $AGENT -- usnet node status"),
    ),
    ("usnet node ports", As("kubectl exec -n usnet-system $AGENT -- usnet node ports")),
    ("usnet node history", As("kubectl exec -n usnet-system $AGENT -- usnet node history")),
    ("usnet probe healthz", As("kubectl exec -n usnet-system $AGENT -- usnet probe healthz")),
    ("usnet probe readyz", As("kubectl exec -n usnet-system $AGENT -- usnet probe readyz")),
    ("usnet node status", As("kubectl exec -n usnet-system $AGENT -- usnet node status")),
    ("usnet node attachments", As("kubectl exec -n usnet-system $AGENT -- usnet node attachments")),
    ("kubectl usnet trace db/client db/server tcp/5432", POLICIES),
    ("kubectl usnet trace POD POD [CONNECTION]", POLICIES),
    (
        "kubectl usnet trace POD POD",
        Tested("networks::kubectl_usnet::trace::the_path_between_pods_is_traced_on_one_node_and_across_nodes"),
    ),
    ("usnet node bundle", As("kubectl exec -n usnet-system $AGENT -- usnet node bundle")),
    ("vppctl show bridge-domain", Tested("a command of VPP")),
    ("vppctl show bridge-domain ID detail", Tested("a command of VPP")),
    ("vppctl show ip fib table ID", Tested("a command of VPP")),
    ("vppctl show version", Tested("a command of VPP")),
    ("kubectl apply -f config/samples/pod.yaml", SAMPLES),
    ("kubectl wait --for=condition=Ready pod/receiver", SAMPLES),
    ("kubectl apply -f config/samples/network.yaml", SAMPLES),
    ("kubectl label ns default usnet.dev/blue=allowed", SAMPLES),
    ("kubectl label ns default usnet.dev/memif=allowed", SAMPLES),
    ("kubectl get usn,usns,net-attach-def", Run),
    ("kubectl apply -f config/samples/vpp-memif.yaml", SAMPLES),
    ("on-node node-a ovs-vsctl show", Run),
    ("on-node node-a vppctl show bridge-domain 4 detail", Tested("a command of VPP")),
    ("component stop ovs-vswitchd node-a", SHELL),
    ("component stop vpp node-a", SHELL),
    ("kubectl exec receiver -- usnet-tools show", SAMPLES),
    ("kubectl exec sender -- usnet-tools ping 10.56.217.2 --count 3", SAMPLES),
    ("kubectl exec sender -- usnet-tools send --stream 7 --count 1000 --size 1500", SAMPLES),
    ("kubectl exec receiver -- usnet-tools receive --stream 7 --count 1000", SAMPLES),
    ("kubectl get usn -o yaml", Run),
    ("kubectl get usn NAME -o wide", As("kubectl get usn blue -o wide")),
    ("kubectl get usns", Run),
    ("kubectl get usns -o yaml", Run),
    ("kubectl get usu", Run),
    ("kubectl get events --field-selector involvedObject.kind=UserspaceNetwork", Run),
    ("kubectl get pods -n usnet-system -o wide", Run),
    ("kubectl replace --force", Tested("networks::in_use::a_network_in_use_is_not_deleted_until_its_pods_are_gone")),
    ("kubectl describe usn NAME", As("kubectl describe usn blue")),
    ("kubectl describe usn blue", Run),
    ("kubectl describe usn", Run),
    ("kubectl get lease -n usnet-system", Run),
    ("kubectl describe usns <node>", As("kubectl describe usns node-a")),
    ("kubectl label usn ovs-br0 usnet.dev/from-nad-", As("kubectl label usn blue usnet.dev/from-nad-")),
    (
        "kubectl annotate usn NAME usnet.dev/force-delete=NAME",
        Tested("outages::uninstalled::a_network_is_deleted_by_force_and_its_pods_keep_their_ports"),
    ),
    (
        "kubectl delete usn --all",
        As(
            "kubectl delete pods --all --grace-period=1; kubectl delete pods -n web --all --grace-period=1; kubectl delete usn --all",
        ),
    ),
    ("kubectl delete usu --all", Run),
];
