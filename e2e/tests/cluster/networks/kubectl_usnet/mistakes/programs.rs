//! Programs that are not connected to the port. Their command lines are those of DPDK, which is all
//! that can be seen of them; no program is started.

use super::{MEMIF, Mistakes, NAME};
use serde_json::json;

const VHOST: &str = "start the program with --vdev=net_virtio_user0,path=/run/usnet/net1.sock,server=1";
const OF_MEMIF: &str = "start the program with --vdev=net_memif0,role=client,socket=/run/usnet/net1.sock";

pub(super) fn add(mistakes: &mut Mistakes<'_>) {
    for (what, network, device, remedy) in [
        ("a program that connects, and has to listen", NAME, "net_virtio_user0,path=/run/usnet/net1.sock", VHOST),
        ("a socket at another path", NAME, "net_virtio_user0,path=/tmp/net1.sock,server=1", VHOST),
        ("a socket of another name", NAME, "net_virtio_user0,path=/run/usnet/net0.sock,server=1", VHOST),
        ("memif with Open vSwitch", NAME, "net_memif0,role=client,socket=/run/usnet/net1.sock", VHOST),
        ("vhost-user at a memif of VPP", MEMIF, "net_virtio_user0,path=/run/usnet/net1.sock,server=1", OF_MEMIF),
        ("the wrong role of a memif", MEMIF, "net_memif0,role=server,socket=/run/usnet/net1.sock", OF_MEMIF),
    ] {
        let mut pod = mistakes.sleeping(network);
        let command = format!("busybox sleep 3600 # testpmd --vdev={device}");
        pod["spec"]["containers"][0]["command"] = json!(["sh", "-c", command]);
        mistakes.pod(what, pod, ("NotConnected", remedy));
    }
}
