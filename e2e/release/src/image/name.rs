//! Names of images.

/// The name under which a container engine keeps an image: one without a registry is Docker Hub's.
///
/// ```
/// use usnet_release::image::name::complete;
/// assert_eq!(complete("usnet:0.1.0"), "docker.io/library/usnet:0.1.0");
/// assert_eq!(complete("team/usnet:0.1.0"), "docker.io/team/usnet:0.1.0");
/// assert_eq!(complete("localhost:5000/usnet:0.1.0"), "localhost:5000/usnet:0.1.0");
/// ```
#[must_use]
pub fn complete(name: &str) -> String {
    match name.split_once('/') {
        None => format!("docker.io/library/{name}"),
        Some((first, _)) if first == "localhost" || first.contains(['.', ':']) => name.to_owned(),
        Some(_) => format!("docker.io/{name}"),
    }
}

/// The tag: what follows the last `:` of the last part.
#[must_use]
pub fn tag(name: &str) -> Option<&str> {
    let last = name.rsplit('/').next()?;
    last.split_once(':').map(|(_, tag)| tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_registry_is_no_tag() {
        assert_eq!(tag("localhost:5000/usnet"), None);
        assert_eq!(tag("localhost:5000/usnet:0.1.0"), Some("0.1.0"));
    }
}
