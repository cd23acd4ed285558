//! `CNI_ARGS`, which identify the pod. Runtimes and Multus write `KEY=VALUE;KEY=VALUE`, and Multus
//! repeats the keys that it was passed.

use std::collections::BTreeMap;
use usnet_dataplane::attachment::{InvalidIdentifier, Pod};

/// The keys that runtimes and Multus send. Some of them are ignored here; IPAM plugins get all
/// arguments.
const KNOWN: [&str; 7] =
    ["IgnoreUnknown", "K8S_POD_NAMESPACE", "K8S_POD_NAME", "K8S_POD_UID", "K8S_POD_INFRA_CONTAINER_ID", "IP", "MAC"];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsError {
    #[error("CNI_ARGS contains {0:?}, which is not KEY=VALUE")]
    NotAPair(String),
    #[error("CNI_ARGS contains {key} twice, as {first:?} and as {second:?}")]
    ConflictingValues { key: String, first: String, second: String },
    #[error("CNI_ARGS contains the unknown key {0}; add IgnoreUnknown=true to ignore it")]
    Unknown(String),
    #[error("CNI_ARGS has no {0}: the container runtime must identify the Kubernetes pod there")]
    Missing(&'static str),
    #[error("K8S_POD_UID in CNI_ARGS is not valid")]
    Uid(#[source] InvalidIdentifier),
}

/// The arguments of `CNI_ARGS`, each key once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Arguments<'a> {
    pub fn parse(text: &'a str) -> Result<Self, ArgumentsError> {
        let mut arguments = BTreeMap::new();
        for part in text.split(';').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| ArgumentsError::NotAPair(part.to_owned()))?;
            match arguments.insert(key, value) {
                Some(first) if first != value && key != "IgnoreUnknown" => {
                    let (first, second) = (first.to_owned(), value.to_owned());
                    return Err(ArgumentsError::ConflictingValues { key: key.to_owned(), first, second });
                }
                _ => {}
            }
        }
        let ignore_unknown = matches!(arguments.get("IgnoreUnknown"), Some(&("1" | "true" | "TRUE" | "True")));
        match arguments.keys().find(|key| !KNOWN.contains(key)) {
            Some(unknown) if !ignore_unknown => Err(ArgumentsError::Unknown((*unknown).to_owned())),
            _ => Ok(Self(arguments)),
        }
    }

    pub fn pod(&self) -> Result<Pod, ArgumentsError> {
        Ok(Pod {
            namespace: self.required("K8S_POD_NAMESPACE")?.to_owned(),
            name: self.required("K8S_POD_NAME")?.to_owned(),
            uid: self.required("K8S_POD_UID")?.parse().map_err(ArgumentsError::Uid)?,
        })
    }

    pub fn mac(&self) -> Option<&'a str> {
        self.0.get("MAC").copied()
    }

    pub fn ips(&self) -> impl Iterator<Item = &'a str> {
        self.0.get("IP").into_iter().flat_map(|list| list.split(',')).filter(|text| !text.is_empty())
    }

    fn required(&self, key: &'static str) -> Result<&'a str, ArgumentsError> {
        self.0.get(key).copied().filter(|value| !value.is_empty()).ok_or(ArgumentsError::Missing(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = "K8S_POD_NAMESPACE=db;K8S_POD_NAME=mysql-0;K8S_POD_UID=0b6e";

    #[test]
    fn multus_repeats_its_keys_and_closes_with_a_semicolon() {
        let text = format!("IgnoreUnknown=true;{POD};IgnoreUnknown=1;{POD};K8S_POD_INFRA_CONTAINER_ID=c1;");
        let pod = Arguments::parse(&text).and_then(|arguments| arguments.pod()).unwrap();
        assert_eq!((pod.namespace.as_str(), pod.name.as_str(), pod.uid.as_str()), ("db", "mysql-0", "0b6e"));
    }

    #[test]
    fn two_pods_in_one_call_are_rejected() {
        let text = format!("{POD};K8S_POD_UID=ffff");
        assert!(
            matches!(Arguments::parse(&text), Err(ArgumentsError::ConflictingValues { key, .. }) if key == "K8S_POD_UID")
        );
    }

    #[test]
    fn an_unknown_key_is_an_error_unless_ignored() {
        assert_eq!(Arguments::parse("COLOUR=red"), Err(ArgumentsError::Unknown("COLOUR".to_owned())));
        for yes in ["1", "true"] {
            assert!(Arguments::parse(&format!("COLOUR=red;IgnoreUnknown={yes}")).is_ok());
        }
        assert!(Arguments::parse("COLOUR=red;IgnoreUnknown=false").is_err());
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing = |text| Arguments::parse(text).and_then(|arguments| arguments.pod()).unwrap_err();
        assert_eq!(missing(""), ArgumentsError::Missing("K8S_POD_NAMESPACE"));
        assert_eq!(missing("K8S_POD_NAMESPACE=db;K8S_POD_NAME=p"), ArgumentsError::Missing("K8S_POD_UID"));
        assert_eq!(missing("K8S_POD_NAMESPACE=db;K8S_POD_NAME="), ArgumentsError::Missing("K8S_POD_NAME"));
    }

    #[test]
    fn a_uid_that_is_a_path_is_rejected() {
        let text = "K8S_POD_NAMESPACE=db;K8S_POD_NAME=p;K8S_POD_UID=../../etc";
        let rejected = Arguments::parse(text).and_then(|arguments| arguments.pod());
        assert!(matches!(rejected, Err(ArgumentsError::Uid(_))), "{rejected:?}");
    }

    #[test]
    fn a_part_that_is_no_pair_is_named() {
        assert_eq!(Arguments::parse("IgnoreUnknown"), Err(ArgumentsError::NotAPair("IgnoreUnknown".to_owned())));
    }
}
