//! Errors of IPAM plugins.

use super::errors;

errors! {
    IPAM;
    IPAM_FAILED = 105 "IpamFailed" "The IPAM plugin failed. A code that it returned is in the brackets instead: `usnet[11 IpamFailed]`." {
        "it is not installed"
        says "IPAM plugin host-local is not installed on this node: install it in one of /opt/cni/bin";
        "it rejected the request: for host-local, the address is outside of `spec.ipam` or the node's part, or assigned to another pod"
        says "requested IP address 10.56.0.2 is not available in range set …"
        => "request an address in the ranges, or delete the pod that has it";
        "it assigned no address or another one than requested, or took longer than 30 s";
    }
    ADDRESSES_EXHAUSTED = 108 "AddressesExhausted" "The IPAM plugin has no address left." {
        "all addresses of the ranges, or of the node's part, are assigned"
        says "no IP addresses available in range set"
        => "extend the ranges of `spec.ipam`, or delete pods";
    }
}
