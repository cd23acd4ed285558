//! The same set-up made by hand on the other NIC, with which usnet's is compared.

use crate::bed::{Bed, run};
use crate::pod::Pod;
use crate::setup::Driver;

/// Connects a pod of each node by a VLAN over the first NIC: a bridge of Open vSwitch, with receive
/// offloads off, without which TCP would not work over a packet socket.
pub(crate) fn pods(bed: &Bed) -> [Pod<'_>; 2] {
    let nic = match bed.setup.driver {
        Driver::AfPacket => {
            "ethtool -K eth0 gro off; ethtool -K eth0 rx-gro-hw off 2>/dev/null; ip link set eth0 up; \
                             ovs-vsctl add-port br-hand eth0"
        }
        Driver::AfXdp => {
            "ethtool -K eth0 rxvlan off; ip link set eth0 up; queues=$(ls -d /sys/class/net/eth0/queues/rx-* | wc -l); \
             ovs-vsctl add-port br-hand eth0 -- set Interface eth0 type=afxdp options:n_rxq=$queues"
        }
        Driver::Dpdk => {
            "/machine/node driver 0000:01:00.0 vfio-pci; \
                         ovs-vsctl add-port br-hand hand0 -- set Interface hand0 type=dpdk options:dpdk-devargs=0000:01:00.0"
        }
    };
    bed.pair.both().map(|machine| {
        let pod = Pod::with_addresses(machine, "by-hand", 200, bed);
        run(
            machine,
            &format!(
                "set -e; ovs-vsctl add-br br-hand -- set Bridge br-hand datapath_type=netdev; {nic}; \
                 ip netns add by-hand; ip -n by-hand link set lo up; \
                 ip link add hand type veth peer name net1 netns by-hand; ip link set hand up; \
                 ip netns exec by-hand ethtool -K net1 tx off >/dev/null; ovs-vsctl add-port br-hand hand tag=142"
            ),
        );
        pod.configure("net1");
        pod
    })
}
