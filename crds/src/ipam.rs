//! What is known of IPAM plugins.

/// The IPAM plugins whose configuration is known.
pub const PLUGINS: [&str; 4] = ["dhcp", "host-local", "static", "whereabouts"];

/// The keys of their configurations with addresses, routes and DNS. Their other keys name files,
/// folders and sockets of the node, such as `dataDir`, `resolvConf`, `log_file` and
/// `daemonSocketPath`.
pub const KEYS: [&str; 21] = [
    "type",
    // host-local, static
    "ranges",
    "subnet",
    "rangeStart",
    "rangeEnd",
    "gateway",
    "addresses",
    "routes",
    "dns",
    // dhcp
    "request",
    "provide",
    "priority",
    // whereabouts
    "range",
    "range_start",
    "range_end",
    "exclude",
    "ipRanges",
    "omit_ranges",
    "network_name",
    "enable_overlapping_ranges",
    "log_level",
];
