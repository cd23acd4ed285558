//! Whether, and in which namespaces, NADs of the Userspace CNI (Intel) are converted.

use crate::cache::Cache;
use kube::core::{Expression, Selector, SelectorExt};

/// The default maximum of networks that the NADs of one namespace create. Each is a bridge on all
/// nodes, so the number that one tenant can create must be bounded.
pub const NETWORKS_MAX: usize = 32;

/// Whether networks are created for bridges that NADs of the Userspace CNI (Intel) name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "PascalCase")]
pub enum Conversion {
    /// Networks are created.
    #[default]
    Enabled,
    /// No networks are created. Networks that were created before stay.
    Disabled,
}

/// Options of `usnet controller` for NADs of the Userspace CNI (Intel).
#[derive(Debug, Clone, clap::Args)]
#[group(id = "legacy")]
pub struct Options {
    /// Whether networks are created for the bridges of NetworkAttachmentDefinitions of the
    /// Userspace CNI (Intel).
    #[arg(long = "legacy-nads", env = "USNET_LEGACY_NADS", value_enum, default_value_t)]
    pub conversion: Conversion,
    /// A label selector of namespaces: only their NetworkAttachmentDefinitions are converted.
    #[arg(long = "legacy-nad-namespaces", env = "USNET_LEGACY_NAD_NAMESPACES", value_name = "SELECTOR", value_parser = selector, default_value = "")]
    pub namespaces: Selector,
    /// The maximum number of networks that are created for the NetworkAttachmentDefinitions of one
    /// namespace. Each is a bridge on every node.
    #[arg(long = "legacy-nad-networks", env = "USNET_LEGACY_NAD_NETWORKS", value_name = "NUMBER", default_value_t = NETWORKS_MAX)]
    pub networks_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { conversion: Conversion::Enabled, namespaces: Selector::default(), networks_max: NETWORKS_MAX }
    }
}

impl Options {
    /// Whether NADs of this namespace are converted.
    pub fn converts(&self, cache: &Cache, namespace: &str) -> bool {
        let is_selected = || cache.namespaces.get(namespace).is_some_and(|it| self.namespaces.matches(&it.labels));
        self.conversion == Conversion::Enabled && is_selected()
    }
}

/// Text that is not a label selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a requirement of a label selector: write KEY, !KEY, KEY=VALUE, KEY!=VALUE, KEY in (A,B) or KEY notin (A,B)"
)]
pub(super) struct InvalidSelector(String);

/// Parses a label selector as `kubectl --selector` takes it.
///
/// # Errors
/// The first requirement that cannot be parsed.
pub(super) fn selector(text: &str) -> Result<Selector, InvalidSelector> {
    let mut depth = 0_usize;
    let is_separator = |character: char| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    };
    let requirements = text.split(is_separator).map(str::trim).filter(|requirement| !requirement.is_empty());
    requirements.map(|text| requirement(text).ok_or_else(|| InvalidSelector(text.to_owned()))).collect()
}

fn requirement(text: &str) -> Option<Expression> {
    let set = |values: &str| {
        let values = values.trim().strip_prefix('(')?.strip_suffix(')')?;
        Some(values.split(',').map(|value| value.trim().to_owned()).collect())
    };
    if let Some(key) = text.strip_prefix('!') {
        return Some(Expression::DoesNotExist(label_key(key)?));
    }
    if let Some((key, values)) = text.split_once(" notin ") {
        return Some(Expression::NotIn(label_key(key)?, set(values)?));
    }
    if let Some((key, values)) = text.split_once(" in ") {
        return Some(Expression::In(label_key(key)?, set(values)?));
    }
    if let Some((key, value)) = text.split_once("!=") {
        return Some(Expression::NotEqual(label_key(key)?, value.trim().to_owned()));
    }
    match text.split_once('=') {
        Some((key, value)) => {
            let value = value.strip_prefix('=').unwrap_or(value);
            Some(Expression::Equal(label_key(key)?, value.trim().to_owned()))
        }
        None => Some(Expression::Exists(label_key(text)?)),
    }
}

fn label_key(text: &str) -> Option<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    let text = text.trim();
    (!text.is_empty() && text.bytes().all(is_part)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_selector_is_read_as_kubectl_reads_it() {
        let labels = |text: &str| -> BTreeMap<String, String> {
            let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
            pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        for (text, yes, no) in [
            ("team=a", "team=a", "team=b"),
            ("team==a, env in (x, y)", "team=a,env=y", "team=a,env=z"),
            ("env notin (x),team", "team=b", "team=b,env=x"),
            ("!usnet.dev/off", "team=a", "usnet.dev/off=1"),
            ("team!=a", "team=b", "team=a"),
        ] {
            let selector = selector(text).unwrap();
            assert!(selector.matches(&labels(yes)) && !selector.matches(&labels(no)), "{text}");
        }
        assert!(selector("").unwrap().selects_all());
        for bad in ["=a", "a in x", "a b", "!"] {
            assert!(selector(bad).is_err(), "{bad}");
        }
    }
}
