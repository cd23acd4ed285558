# As the pods of the userspace CNI (Intel)'s own tests start testpmd: the container's id is cut out of the annotation, and the socket's name made of it. ARGUMENTS are for this machine, which
# has no huge pages to give away; instead of sleeping for ten seconds it waits until kubelet has shown the annotation.
while ! grep -q containerId /etc/podinfo/annotations; do sleep 1; done
containerid=$(grep containerId /etc/podinfo/annotations | cut -d '"' -f 5 | sed 's/\\//')
exec dpdk-testpmd $ARGUMENTS --vdev net_virtio_user0,path=/var/lib/cni/usrspcni/${containerid:0:12}-net1,server=1,queue_size=2048 -- --forward-mode=$MODE \
    --stats-period=1 --auto-start --total-num-mbufs=2048 --no-mlockall
