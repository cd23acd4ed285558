//! The syntax of Kubernetes names that become parts of paths, variables and CDI devices. No IO.

/// The maximum length of a label, in bytes.
const LABEL_MAX: usize = 63;
/// The maximum length of a subdomain, in bytes.
const SUBDOMAIN_MAX: usize = 253;

/// Whether a name is a DNS label (RFC 1123), as most names in Kubernetes are.
pub(super) fn is_dns_label(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LABEL_MAX).contains(&name.len())
        && name.bytes().all(is_inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// Whether a name consists of DNS labels separated by dots.
pub(super) fn is_dns_subdomain(name: &str) -> bool {
    name.len() <= SUBDOMAIN_MAX && name.split('.').all(is_dns_label)
}
