//! What is explained, as users name it: `TYPE NAME`, or `TYPE/NAME` as kubectl prints it.

use crate::error::Error;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsStr;

/// The types of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pod,
    Network,
    Node,
    Engine,
    Attachment,
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    Job,
}

/// The names of each type that kubectl accepts, the one that is listed first.
const NAMES: [(Kind, &[&str]); 10] = [
    (Kind::Pod, &["pod", "pods", "po"]),
    (Kind::Network, &["network", "userspacenetwork", "userspacenetworks", "usn"]),
    (Kind::Node, &["node", "nodes", "no", "userspacenodestate", "userspacenodestates", "usns"]),
    (Kind::Engine, &["usne", "userspaceengine", "userspaceengines", "engine"]),
    (Kind::Attachment, &["usna", "userspaceattachment", "userspaceattachments", "attachment"]),
    (Kind::Deployment, &["deployment", "deployments", "deploy"]),
    (Kind::ReplicaSet, &["replicaset", "replicasets", "rs"]),
    (Kind::StatefulSet, &["statefulset", "statefulsets", "sts"]),
    (Kind::DaemonSet, &["daemonset", "daemonsets", "ds"]),
    (Kind::Job, &["job", "jobs"]),
];

impl Kind {
    /// Parses the name of a type, with or without its group, such as `deployment.apps`.
    fn parse(text: &str) -> Option<Self> {
        let name = text.split('.').next().unwrap_or(text);
        let is_it = |(_, names): &&(Self, &[&str])| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        NAMES.iter().find(is_it).map(|(kind, _)| *kind)
    }
}

/// The object to explain.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Subject {
    /// The type of the object, or TYPE/NAME.
    #[arg(value_name = "TYPE", value_parser = Parser)]
    kind: TypeAndName,
    /// The name of the object; of those in a namespace NAME or NAMESPACE/NAME.
    name: Option<String>,
}

/// A type, with a name if it was written as `TYPE/NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TypeAndName {
    kind: Kind,
    name: Option<String>,
}

impl Subject {
    /// Returns type and name.
    ///
    /// # Errors
    /// The name is missing, or there are two.
    pub(crate) fn object(&self) -> Result<(Kind, &str), Error> {
        match (&self.kind.name, &self.name) {
            (Some(name), None) | (None, Some(name)) => Ok((self.kind.kind, name)),
            (None, None) => Err(Error::Usage("name the object: kubectl usnet explain TYPE NAME".to_owned())),
            (Some(one), Some(other)) => Err(Error::Usage(format!(
                "name one object: {one} and {other} are two. A pod in another namespace is pod {one}/{other}"
            ))),
        }
    }
}

#[derive(Debug, Clone)]
struct Parser;

impl TypedValueParser for Parser {
    type Value = TypeAndName;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<TypeAndName, clap::Error> {
        let text = value.to_string_lossy();
        let (kind, name) = text.split_once('/').map_or((text.as_ref(), None), |(kind, name)| (kind, Some(name)));
        if let Some(kind) = Kind::parse(kind) {
            return Ok(TypeAndName { kind, name: name.map(str::to_owned) });
        }
        let mut error = clap::Error::new(ErrorKind::InvalidValue).with_cmd(command);
        let argument = argument.map(ToString::to_string).unwrap_or_default();
        error.insert(ContextKind::InvalidArg, ContextValue::String(argument));
        error.insert(ContextKind::InvalidValue, ContextValue::String(text.into_owned()));
        let known = NAMES.iter().filter_map(|(_, names)| names.first()).map(ToString::to_string).collect();
        error.insert(ContextKind::ValidValue, ContextValue::Strings(known));
        Err(error)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |(_, names): &(Kind, &[&'static str])| {
            let [first, others @ ..] = names else { return None };
            Some(PossibleValue::new(*first).aliases(others.iter().copied()))
        };
        Some(Box::new(NAMES.iter().filter_map(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        subject: Subject,
    }

    #[test]
    fn types_and_names_are_those_of_kubectl() {
        for (words, kind, name) in [
            (["pod", "web/app"].as_slice(), Kind::Pod, "web/app"),
            (&["po/app"], Kind::Pod, "app"),
            (&["pod/web/app"], Kind::Pod, "web/app"),
            (&["Deployment.apps/web"], Kind::Deployment, "web"),
            (&["sts", "db"], Kind::StatefulSet, "db"),
            (&["usn/blue"], Kind::Network, "blue"),
            (&["usna", "extra"], Kind::Attachment, "extra"),
            (&["usne", "ovs"], Kind::Engine, "ovs"),
            (&["userspaceengine.usnet.dev/ovs"], Kind::Engine, "ovs"),
        ] {
            let line = Line::parse_from(["explain"].iter().chain(words));
            assert_eq!(line.subject.object().unwrap(), (kind, name), "{words:?}");
        }
        for words in [["pod"].as_slice(), &["pod/a", "b"]] {
            let line = Line::parse_from(["explain"].iter().chain(words));
            assert_eq!(line.subject.object().unwrap_err().exit_status(), 2, "{words:?}");
        }
        let error = Line::try_parse_from(["explain", "service/web"]).unwrap_err().to_string();
        assert!(error.contains("service/web") && error.contains("deployment"), "{error}");
    }
}
