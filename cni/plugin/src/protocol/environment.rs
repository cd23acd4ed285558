//! The environment variables of a CNI call.

use crate::protocol::arguments::{Arguments, ArgumentsError};
use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use usnet_dataplane::attachment::{AttachmentId, InvalidIdentifier, Record};

/// The name of the variable that has the verb.
pub const COMMAND: &str = "CNI_COMMAND";
const CONTAINER: &str = "CNI_CONTAINERID";
const NETWORK_NAMESPACE: &str = "CNI_NETNS";
const INTERFACE: &str = "CNI_IFNAME";
const ARGUMENTS: &str = "CNI_ARGS";
const PLUGIN_PATH: &str = "CNI_PATH";
/// The name of the variable that has the IPAM plugins that may be run, separated by commas; if it
/// is not set, all may be run. It is not a variable of CNI: `usnet serve-attachments` sets it,
/// because other programs write the files of the node that name IPAM plugins.
pub const IPAM_PLUGINS: &str = "USNET_IPAM_PLUGINS";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// ADD attaches an interface.
    Add,
    /// DEL detaches an interface.
    Del,
    /// CHECK reports how an interface differs from its ADD result.
    Check,
    /// GC detaches attachments that the runtime does not list.
    CollectGarbage,
    /// STATUS reports whether ADD would work.
    Status,
    /// VERSION reports the supported versions of the specification.
    Version,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    #[error("required environment variables [{}] are missing", .0.join(", "))]
    Missing(Vec<&'static str>),
    #[error("unknown CNI_COMMAND: {0}")]
    UnknownVerb(String),
    /// The container id or interface name is not valid.
    #[error("{variable} is not valid")]
    Identifier { variable: &'static str, source: InvalidIdentifier },
    #[error("CNI_ARGS cannot be used")]
    Arguments(#[source] ArgumentsError),
    #[error("{0} is not UTF-8 text")]
    NotText(&'static str),
}

/// The variables of CNI that are set and not empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<&'static str, OsString>);

impl Environment {
    pub fn from_process() -> Self {
        Self::new(env::var_os)
    }

    /// The variables that `lookup` finds.
    pub fn new(lookup: impl Fn(&'static str) -> Option<OsString>) -> Self {
        let names = [COMMAND, CONTAINER, NETWORK_NAMESPACE, INTERFACE, ARGUMENTS, PLUGIN_PATH, IPAM_PLUGINS];
        let set = names.into_iter().filter_map(|name| lookup(name).map(|value| (name, value)));
        Self(set.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// The variables that a runtime would pass to detach an attachment whose network namespace is
    /// gone. `plugin_folders` has the format of `CNI_PATH`.
    pub fn of_record(record: &Record, plugin_folders: &OsStr) -> Self {
        let (pod, container) = (&record.pod, &record.id.container);
        let arguments = format!(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE={};K8S_POD_NAME={};K8S_POD_INFRA_CONTAINER_ID={container};K8S_POD_UID={}",
            pod.namespace, pod.name, pod.uid
        );
        let variables = [(ARGUMENTS, arguments.into()), (PLUGIN_PATH, plugin_folders.to_owned())];
        Self(BTreeMap::from(variables)).for_attachment(&record.id)
    }

    /// The verb; none when the program was not called by a CNI runtime.
    pub fn verb(&self) -> Result<Option<Verb>, EnvironmentError> {
        let Some(verb) = self.0.get(COMMAND) else { return Ok(None) };
        match verb.to_string_lossy().as_ref() {
            "ADD" => Ok(Some(Verb::Add)),
            "DEL" => Ok(Some(Verb::Del)),
            "CHECK" => Ok(Some(Verb::Check)),
            "GC" => Ok(Some(Verb::CollectGarbage)),
            "STATUS" => Ok(Some(Verb::Status)),
            "VERSION" => Ok(Some(Verb::Version)),
            unknown => Err(EnvironmentError::UnknownVerb(unknown.to_owned())),
        }
    }

    /// Checks that the variables are set that ADD and CHECK need.
    pub fn require_for_add(&self) -> Result<(), EnvironmentError> {
        self.require(&[CONTAINER, NETWORK_NAMESPACE, INTERFACE])
    }

    /// Checks that the variables are set that DEL needs.
    pub fn require_for_del(&self) -> Result<(), EnvironmentError> {
        self.require(&[CONTAINER, INTERFACE])
    }

    /// Checks that the variables are set that GC needs.
    pub fn require_for_gc(&self) -> Result<(), EnvironmentError> {
        self.require(&[PLUGIN_PATH])
    }

    pub fn attachment(&self) -> Result<AttachmentId, EnvironmentError> {
        let container = self.text(CONTAINER)?.parse();
        let interface = self.text(INTERFACE)?.parse();
        Ok(AttachmentId {
            container: container.map_err(|source| EnvironmentError::Identifier { variable: CONTAINER, source })?,
            interface: interface.map_err(|source| EnvironmentError::Identifier { variable: INTERFACE, source })?,
        })
    }

    /// The pod's network namespace; empty when the runtime passed none.
    pub fn network_namespace(&self) -> PathBuf {
        self.0.get(NETWORK_NAMESPACE).map(PathBuf::from).unwrap_or_default()
    }

    pub fn arguments(&self) -> Result<Arguments<'_>, EnvironmentError> {
        let text = self.0.get(ARGUMENTS).map_or(Some(""), |text| text.to_str());
        let text = text.ok_or(EnvironmentError::NotText(ARGUMENTS))?;
        Arguments::parse(text).map_err(EnvironmentError::Arguments)
    }

    pub fn plugin_folders(&self) -> Result<Vec<PathBuf>, EnvironmentError> {
        let path = self.0.get(PLUGIN_PATH).ok_or_else(|| EnvironmentError::Missing(vec![PLUGIN_PATH]))?;
        Ok(env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty()).collect())
    }

    pub fn allows_ipam_plugin(&self, plugin: &str) -> bool {
        let allowed = self.0.get(IPAM_PLUGINS).map(|list| list.to_string_lossy());
        allowed.is_none_or(|list| list.split(',').any(|allowed| allowed == plugin))
    }

    /// The variables for a delegate plugin that is called with `verb`.
    pub fn for_delegate<'a>(&'a self, verb: &'a str) -> impl Iterator<Item = (&'static str, &'a OsStr)> {
        let rest = self.0.iter().filter(|(name, _)| **name != COMMAND).map(|(name, value)| (*name, value.as_os_str()));
        rest.chain([(COMMAND, OsStr::new(verb))])
    }

    /// A copy for another attachment.
    pub fn for_attachment(&self, attachment: &AttachmentId) -> Self {
        let mut variables = self.0.clone();
        variables.insert(CONTAINER, attachment.container.as_str().into());
        variables.insert(INTERFACE, attachment.interface.as_str().into());
        Self(variables)
    }

    /// A copy for an attachment whose network namespace the runtime does not pass.
    pub fn for_stale_attachment(&self, attachment: &AttachmentId, network_namespace: &Path) -> Self {
        let Self(mut variables) = self.for_attachment(attachment);
        if network_namespace.exists() {
            variables.insert(NETWORK_NAMESPACE, network_namespace.into());
        } else {
            variables.remove(NETWORK_NAMESPACE);
        }
        Self(variables)
    }

    /// A copy without the address that the pod requests from IPAM plugins (`IP` in `CNI_ARGS`).
    pub fn without_requested_address(&self) -> Self {
        self.without_arguments(&["IP="])
    }

    /// A copy for one of several interfaces that are attached in this call. Requests in `CNI_ARGS`
    /// apply only to the interface of the call itself.
    pub fn for_interface(&self, attachment: &AttachmentId) -> Self {
        self.for_attachment(attachment).without_arguments(&["IP=", "MAC="])
    }

    fn without_arguments(&self, starts: &[&str]) -> Self {
        let mut variables = self.0.clone();
        // Text that is not UTF-8 is kept: it is rejected when it is parsed.
        if let Some(text) = variables.get_mut(ARGUMENTS)
            && let Some(whole) = text.to_str()
        {
            let is_kept = |part: &&str| !starts.iter().any(|start| part.starts_with(start));
            *text = whole.split(';').filter(is_kept).collect::<Vec<_>>().join(";").into();
        }
        Self(variables)
    }

    fn require(&self, names: &[&'static str]) -> Result<(), EnvironmentError> {
        let missing: Vec<_> = names.iter().copied().filter(|name| !self.0.contains_key(name)).collect();
        if missing.is_empty() { Ok(()) } else { Err(EnvironmentError::Missing(missing)) }
    }

    fn text(&self, name: &'static str) -> Result<&str, EnvironmentError> {
        let value = self.0.get(name).ok_or_else(|| EnvironmentError::Missing(vec![name]))?;
        value.to_str().ok_or(EnvironmentError::NotText(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        let find = |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        Environment::new(find)
    }

    #[test]
    fn the_verbs() {
        let verb = |text| environment(&[(COMMAND, text)]).verb();
        assert_eq!(verb("ADD"), Ok(Some(Verb::Add)));
        assert_eq!(verb("DEL"), Ok(Some(Verb::Del)));
        assert_eq!(verb("CHECK"), Ok(Some(Verb::Check)));
        assert_eq!(verb("GC"), Ok(Some(Verb::CollectGarbage)));
        assert_eq!(verb("STATUS"), Ok(Some(Verb::Status)));
        assert_eq!(verb("VERSION"), Ok(Some(Verb::Version)));
        assert_eq!(environment(&[]).verb(), Ok(None));
        assert!(matches!(verb("add"), Err(EnvironmentError::UnknownVerb(_))));
    }

    #[test]
    fn all_missing_variables_are_named_and_empty_ones_are_missing() {
        let rejected = environment(&[(INTERFACE, ""), (CONTAINER, "c1")]).require_for_add();
        assert_eq!(rejected, Err(EnvironmentError::Missing(vec![NETWORK_NAMESPACE, INTERFACE])));
        assert_eq!(environment(&[(INTERFACE, "net1"), (CONTAINER, "c1")]).require_for_del(), Ok(()));
    }

    #[test]
    fn an_identifier_that_would_be_a_path_is_rejected() {
        for (variable, container, interface) in
            [(CONTAINER, "../c", "net1"), (INTERFACE, "c1", "a/b"), (INTERFACE, "c1", "..")]
        {
            let rejected = environment(&[(CONTAINER, container), (INTERFACE, interface)]).attachment();
            assert!(
                matches!(&rejected, Err(EnvironmentError::Identifier { variable: named, .. }) if *named == variable),
                "{rejected:?}"
            );
        }
    }

    #[test]
    fn a_delegate_gets_the_same_variables_with_its_own_verb() {
        let environment = environment(&[(COMMAND, "ADD"), (CONTAINER, "c1"), (ARGUMENTS, "IP=10.0.0.1")]);
        let given: BTreeMap<_, _> = environment.for_delegate("DEL").collect();
        let expected = [(COMMAND, "DEL"), (CONTAINER, "c1"), (ARGUMENTS, "IP=10.0.0.1")];
        assert_eq!(given, expected.into_iter().map(|(name, value)| (name, OsStr::new(value))).collect());
    }

    #[test]
    fn a_requested_address_can_be_removed() {
        let with_address =
            environment(&[(ARGUMENTS, "IgnoreUnknown=1;IP=10.0.0.1;K8S_POD_NAME=IP;MAC=02:00:00:00:00:01;")]);
        let without = environment(&[(ARGUMENTS, "IgnoreUnknown=1;K8S_POD_NAME=IP;MAC=02:00:00:00:00:01;")]);
        assert_eq!(with_address.without_requested_address(), without);
    }

    #[test]
    fn ipam_plugins_are_limited_where_the_caller_says_so() {
        let limited = environment(&[(IPAM_PLUGINS, "host-local,static")]);
        let allowed = ["host-local", "static", "bridge", "host", ""].map(|plugin| limited.allows_ipam_plugin(plugin));
        assert_eq!(allowed, [true, true, false, false, false]);
        assert!(environment(&[]).allows_ipam_plugin("any"));
    }

    #[test]
    fn folders_of_plugins_are_separated_by_colons() {
        let folders = environment(&[(PLUGIN_PATH, "/opt/cni/bin::/usr/lib/cni")]).plugin_folders();
        assert_eq!(folders, Ok(vec![PathBuf::from("/opt/cni/bin"), PathBuf::from("/usr/lib/cni")]));
        assert_eq!(environment(&[]).plugin_folders(), Err(EnvironmentError::Missing(vec![PLUGIN_PATH])));
    }
}
