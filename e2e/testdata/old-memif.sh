# A program for the userspace CNI (Intel) with VPP: it takes the name of its socket out of the annotation.
while ! grep -q socketfile /etc/podinfo/annotations; do sleep 1; done
socket=$(grep -o 'memif-[0-9a-f]*-net1\.sock' /etc/podinfo/annotations | head -n 1)
exec dpdk-testpmd $ARGUMENTS --vdev net_memif0,role=client,id=0,socket=/var/lib/cni/usrspcni/$socket,socket-abstract=no -- --forward-mode=$MODE \
    --stats-period=1 --auto-start --total-num-mbufs=2048 --no-mlockall
