# As the pods that were published for VPP: whatever is listed in the shared folder is the socket.
cd /var/lib/cni/usrspcni
while [ "$(echo *)" = '*' ]; do sleep 1; done
exec dpdk-testpmd $ARGUMENTS --vdev "net_memif0,role=client,id=0,socket=/var/lib/cni/usrspcni/$(echo *),socket-abstract=no" -- \
    --forward-mode=$MODE --stats-period=1 --auto-start --total-num-mbufs=2048 --no-mlockall
