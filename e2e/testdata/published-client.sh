# As the pods that were published for vhost-user, but the program connects: its configuration says that the engine listens.
while ! grep -q containerId /etc/podinfo/annotations; do sleep 1; done
containerid=$(grep containerId /etc/podinfo/annotations | cut -d '"' -f 5 | sed 's/\\//')
exec dpdk-testpmd $ARGUMENTS --vdev net_virtio_user0,path=/var/lib/cni/usrspcni/${containerid:0:12}-net1 -- --forward-mode=$MODE \
    --stats-period=1 --auto-start --total-num-mbufs=2048 --no-mlockall
