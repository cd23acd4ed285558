use super::needs::EngineOnNode;
use super::*;
use crate::UserspaceEngineSpec;
use crate::conditions::reason::{DEVICES_MISSING, INSUFFICIENT_HUGEPAGES, NIC_NOT_BOUND};
use crate::userspace_engine::validate::{ValidEngine, validate};
use serde_json::{Value, json};

fn engine(changes: &Value) -> ValidEngine {
    let mut spec = json!({"engine": "OVS", "image": "ovs"});
    spec.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let spec: UserspaceEngineSpec = serde_json::from_value(spec).unwrap();
    validate("ovs", &spec).unwrap()
}

fn node(os_image: &str, hugepages: &[(HugepageSize, u32)]) -> NodeFacts {
    NodeFacts {
        name: "node-a".to_owned(),
        os_image: os_image.to_owned(),
        architecture: "amd64".to_owned(),
        hugepages: hugepages.iter().copied().collect(),
    }
}

fn needs(engines: &[ValidEngine], reasons: &[&str], node: &NodeFacts) -> Needs {
    let engines: Vec<_> = engines.iter().map(|spec| EngineOnNode { spec, is_running: false }).collect();
    Needs::of(&engines, reasons, node)
}

fn parameters(engines: &[ValidEngine], reasons: &[&str], node: &NodeFacts) -> String {
    boot::parameters(&needs(engines, reasons, node), node).join(" ")
}

fn lines(engine: ValidEngine, os_image: &str) -> Vec<String> {
    let node = node(os_image, &[]);
    steps(&needs(&[engine], &[], &node), &node).into_iter().flat_map(|step| step.lines).collect()
}

fn hugepages(packets: &str, size: &str) -> ValidEngine {
    engine(&json!({"memory": {"packets": packets, "hugepages": size}}))
}

#[test]
fn boot_parameters_follow_from_the_spec() {
    let none = node("", &[]);
    for (changes, expected) in [
        (json!({}), ""),
        (json!({"memory": {"packets": "1Gi", "hugepages": "2Mi"}}), "hugepagesz=2M hugepages=512"),
        (json!({"memory": {"packets": "4Gi", "hugepages": "1Gi"}}), "default_hugepagesz=1G hugepagesz=1G hugepages=4"),
        (json!({"cpus": {"list": "6,2-3"}}), "isolcpus=2-3,6 nohz_full=2-3,6 rcu_nocbs=2-3,6"),
        (json!({"cpus": {"exclusive": 2}}), ""),
        (json!({"nics": "PCI"}), "intel_iommu=on amd_iommu=on iommu=pt"),
    ] {
        assert_eq!(parameters(&[engine(&changes)], &[], &none), expected, "{changes}");
    }
    let both = [hugepages("4Gi", "1Gi"), hugepages("512Mi", "2Mi")];
    assert_eq!(parameters(&both, &[], &none), "hugepagesz=2M hugepages=256 hugepagesz=1G hugepages=4");
    let arm = NodeFacts { architecture: "arm64".to_owned(), ..none };
    assert_eq!(parameters(&[engine(&json!({"nics": "PCI"}))], &[], &arm), "");
}

#[test]
fn hugepages_that_the_node_has_stay() {
    let wanted = || [hugepages("1Gi", "2Mi")];
    let enough = node("", &[(HugepageSize::Mi2, 1024)]);
    assert_eq!(parameters(&wanted(), &[], &enough), "", "nothing says that they are in use");
    let in_use = parameters(&wanted(), &[INSUFFICIENT_HUGEPAGES], &enough);
    assert_eq!(in_use, "hugepagesz=2M hugepages=1536");
    let others = node("", &[(HugepageSize::Gi1, 8), (HugepageSize::Mi2, 0)]);
    assert_eq!(parameters(&wanted(), &[], &others), "hugepagesz=2M hugepages=512 hugepagesz=1G hugepages=8");
}

#[test]
fn what_a_running_engine_has_is_left_out_except_for_cpus_that_nothing_checks() {
    let whole = |cpus: &Value| engine(&json!({"memory": {"hugepages": "2Mi"}, "cpus": cpus, "nics": "PCI"}));
    let node = node("", &[]);
    let running = |spec: &ValidEngine| Needs::of(&[EngineOnNode { spec, is_running: true }], &[], &node);
    assert!(running(&whole(&json!({"exclusive": 2}))).is_empty());
    let listed = running(&whole(&json!({"list": "2-3"})));
    assert_eq!(listed, Needs { listed_cpus: [2, 3].into(), ..Needs::default() });
}

#[test]
fn each_distribution_has_its_commands() {
    let of = |os_image| lines(hugepages("1Gi", "2Mi"), os_image)[1..].to_vec();
    let rest = ["systemctl reboot", "kubectl uncordon node-a"];
    let expected = |lines: &[&str]| -> Vec<String> { lines.iter().chain(&rest).map(ToString::to_string).collect() };
    let grubby = "grubby --update-kernel=ALL --args=\"hugepagesz=2M hugepages=512\"";
    for image in ["Rocky Linux 9.4 (Blue Onyx)", "Red Hat Enterprise Linux 9.4 (Plow)", "AlmaLinux 9.4", "Fedora 40"] {
        assert_eq!(of(image), expected(&[grubby]), "{image}");
    }
    let file =
        "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX hugepagesz=2M hugepages=512\"' > /etc/default/grub.d/usnet.cfg";
    for image in ["Debian GNU/Linux 12 (bookworm)", "Ubuntu 24.04.1 LTS"] {
        assert_eq!(of(image), expected(&[file, "update-grub"]), "{image}");
    }
    let ostree = "rpm-ostree kargs --append=hugepagesz=2M --append=hugepages=512";
    assert_eq!(of("Fedora CoreOS 40.20240616.3.0"), expected(&[ostree]));
    let open_shift = of("Red Hat Enterprise Linux CoreOS 417.94.202410250757-0");
    assert_eq!(open_shift[1], "kernelArguments: [hugepagesz=2M, hugepages=512]");
    assert_eq!(of("Talos (v1.7.0)")[1], "hugepagesz=2M hugepages=512");
    assert_eq!(of(""), expected(&[grubby, file, "update-grub", ostree]), "not known");
}

#[test]
fn grubby_is_not_told_two_sizes_of_hugepages_at_once() {
    let node = node("Rocky Linux 9.4", &[(HugepageSize::Gi1, 1)]);
    let steps = steps(&needs(&[hugepages("1Gi", "2Mi")], &[], &node), &node);
    let text = format!("{steps:?}");
    assert!(!text.contains("--update-kernel") && text.contains("hugepages=512 hugepagesz=1G hugepages=1"), "{text}");
}

#[test]
fn exclusive_cpus_are_a_matter_of_kubelet_alone() {
    let found = lines(engine(&json!({"cpus": {"exclusive": 2}})), "");
    assert_eq!(
        found,
        [
            "kubectl drain node-a --ignore-daemonsets --delete-emptydir-data",
            "cpuManagerPolicy: static",
            "reservedSystemCPUs: \"0\"   # CPU 0 and its hyperthread for the system",
            "systemctl stop kubelet",
            "rm -f /var/lib/kubelet/cpu_manager_state",
            "systemctl start kubelet",
            "kubectl uncordon node-a",
        ]
    );
    let listed = lines(engine(&json!({"cpus": {"list": "2-3"}})), "Debian GNU/Linux 12");
    assert!(listed.iter().any(|line| line.starts_with("reservedSystemCPUs: \"0,2-3\"")), "{listed:?}");
    assert!(!listed.iter().any(|line| line.contains("cpuManagerPolicy")), "{listed:?}");
    let with_hugepages = lines(engine(&json!({"cpus": {"exclusive": 2}, "memory": {"hugepages": "1Gi"}})), "");
    assert!(with_hugepages.iter().any(|line| line.contains("memoryManagerPolicy: Static")), "{with_hugepages:?}");
    assert!(with_hugepages.iter().any(|line| line.ends_with("memory_manager_state")), "{with_hugepages:?}");
}

#[test]
fn a_module_needs_neither_a_drain_nor_a_reboot() {
    let node = node("", &[]);
    let found = steps(&needs(&[], &[DEVICES_MISSING], &node), &node);
    let lines: Vec<&str> = found.iter().flat_map(|step| &step.lines).map(String::as_str).collect();
    assert_eq!(lines, ["echo vfio-pci > /etc/modules-load.d/vfio-pci.conf", "modprobe vfio-pci"]);
    let of_uplink = steps(&needs(&[], &[NIC_NOT_BOUND], &node), &node);
    assert!(format!("{of_uplink:?}").contains("intel_iommu=on"), "{of_uplink:?}");
}

#[test]
fn a_node_that_lacks_nothing_has_no_steps() {
    assert_eq!(lines(engine(&json!({})), ""), [""; 0]);
}
