# Starts QEMU once the file `start` is in the volume: on the port of usnet whose description is there, or on the tap of TAP. The other
# variables are of the pod's manifest.
set -eu
cd /var/run/kubevirt-hooks
field() { sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$INTERFACE.json"; }
until [ -e start ]; do sleep 0.05; done
if [ -n "$TAP" ]; then
    mac=$(cat "/sys/class/net/$INTERFACE/address") mtu=$(cat "/sys/class/net/$TAP/mtu")
    backend="-netdev tap,id=net,ifname=$TAP,script=no,downscript=no,vhost=off"
else
    mac=$(field mac) mtu=$(field mtu)
    backend="-chardev socket,id=port,path=$PWD/$(field socket),server=on -netdev vhost-user,id=net,chardev=port,queues=$QUEUES"
fi
[ "$QUEUES" = 1 ] && several=off || several=on
echo "pod: user $(id -u) starts QEMU"
# `vectors=0`: QEMU 7.2 without KVM crashes when a guest uses MSI-X with a vhost-user device.
# shellcheck disable=SC2086 # lists of options
exec qemu-system-x86_64 -accel tcg -machine q35,memory-backend=mem -m 128M -object memory-backend-memfd,id=mem,size=128M,share=on \
    -nodefaults -no-user-config -no-reboot -display none -serial stdio -qmp unix:monitor.sock,server=on,wait=off \
    -kernel /guest/vmlinuz -initrd /guest/initramfs -append "console=ttyS0 quiet panic=-1 $APPEND" \
    $backend -device "virtio-net-pci,netdev=net,mac=$mac,host_mtu=$mtu,mq=$several,vectors=0,romfile=" $OPTIONS
