//! Names of Kubernetes that become parts of paths, variables and CDI devices of containers. No IO.

/// The longest label, in bytes.
const LABEL_MAX: usize = 63;
/// The longest subdomain, in bytes.
const SUBDOMAIN_MAX: usize = 253;

/// Whether a name is a DNS label, as RFC 1123 has it and Kubernetes names most things.
pub(super) fn is_dns_label(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LABEL_MAX).contains(&name.len())
        && name.bytes().all(is_inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// Whether a name is DNS labels with dots between.
pub(super) fn is_dns_subdomain(name: &str) -> bool {
    name.len() <= SUBDOMAIN_MAX && name.split('.').all(is_dns_label)
}
