//! Removes secrets from what leaves a node or a cluster in a bundle of diagnostics. Pure.
//!
//! A secret is the value of a key whose name says so, in documents as well as in texts. Its value
//! is remembered, and removed wherever else it stands: a program may have logged it. Where others
//! than usnet choose the keys, only what is known is kept: [annotations], configurations of
//! [IPAM plugins](ipam) and [NetworkAttachmentDefinitions](definition).

mod annotations;
mod definition;
mod ipam;
mod keys;
mod text;
mod values;

#[cfg(test)]
mod tests;

use keys::is_secret;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The text that replaces a secret.
pub(crate) const REMOVED: &str = "(removed)";
/// Values that are not searched for elsewhere: shorter ones are parts of other words.
const SEARCHED_MIN: usize = 6;
/// How many levels of documents within texts of documents are read.
const NESTED_MAX: usize = 4;
/// Keys of objects whose values repeat the object as it was applied.
const REPEATED: [&str; 2] = ["kubectl.kubernetes.io/last-applied-configuration", "managedFields"];

/// Removes secrets, and remembers them.
#[derive(Debug, Default)]
pub struct Redactor {
    /// The values that were removed, the longest of which have to be searched first.
    known: BTreeSet<(usize, String)>,
}

impl Redactor {
    /// Removes the secrets of a document.
    pub fn document(&mut self, value: &mut Value) {
        self.visit(value, 0);
    }

    /// Reduces a NetworkAttachmentDefinition to its known fields.
    pub fn definition(&mut self, value: &mut Value) {
        let reduced = definition::known(value);
        // The values of keys that name secrets are remembered.
        self.document(value);
        *value = reduced;
        self.document(value);
    }

    /// Remembers a secret that is in no document.
    pub(crate) fn remember(&mut self, secret: &str) {
        if secret.len() >= SEARCHED_MIN && !keys::is_setting(secret) {
            self.known.insert((secret.len(), secret.to_owned()));
        }
    }

    /// The text without known secrets, and without what follows the name of one.
    pub fn text(&self, text: &str) -> String {
        let text = text::without_private_keys(&text::without_credentials(text));
        let mut text = text::without_named_secrets(&text);
        for (_, secret) in self.known.iter().rev() {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), REMOVED);
            }
        }
        text
    }

    /// The text of a file without secrets: a document, lines each of which is a document, or a
    /// text.
    pub fn file(&mut self, text: &str) -> String {
        match serde_json::from_str::<Value>(text) {
            Ok(mut document) if document.is_object() || document.is_array() => {
                self.document(&mut document);
                let pretty = serde_json::to_string_pretty(&document).unwrap_or_default();
                self.text(&pretty) + "\n"
            }
            _ => self.lines(text),
        }
    }

    /// Lines of JSON documents without secrets; other lines count as text.
    fn lines(&mut self, text: &str) -> String {
        let mut lines = String::new();
        for line in text.lines() {
            match serde_json::from_str::<Value>(line) {
                Ok(mut document) if document.is_object() => {
                    self.document(&mut document);
                    lines.push_str(&self.text(&document.to_string()));
                }
                _ => lines.push_str(&self.text(line)),
            }
            lines.push('\n');
        }
        lines
    }

    fn visit(&mut self, value: &mut Value, nested: usize) {
        match value {
            Value::Object(fields) => self.object(fields, nested),
            Value::Array(items) => items.iter_mut().for_each(|item| self.visit(item, nested)),
            Value::String(text) => self.string(text, nested),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>, nested: usize) {
        fields.retain(|key, _| !REPEATED.contains(&key.as_str()));
        // A variable of a container: `{"name": "API_TOKEN", "value": "…"}`.
        let is_named_secret = fields.get("name").and_then(Value::as_str).is_some_and(is_secret);
        for (key, value) in fields.iter_mut() {
            match value {
                Value::Object(parts) if key.eq_ignore_ascii_case("ipam") => self.ipam(parts),
                Value::Object(parts) if key == "annotations" => annotations::reduce(parts),
                _ => {}
            }
            if is_secret(key) || is_named_secret && key == "value" {
                self.remove(value);
            } else {
                self.visit(value, nested);
            }
        }
    }

    /// Values that are left out are remembered: the plugin or the API server may have repeated
    /// them.
    fn ipam(&mut self, ipam: &mut Map<String, Value>) {
        let kept = ipam::known(ipam);
        let mut left_out = BTreeSet::new();
        texts(&Value::Object(std::mem::replace(ipam, kept)), &mut left_out);
        let mut present = BTreeSet::new();
        texts(&Value::Object(ipam.clone()), &mut present);
        let secrets = left_out.difference(&present).filter(|text| !is_address(text));
        secrets.for_each(|text| self.remember(text));
    }

    /// A text may be a document itself, as the configuration of a NetworkAttachmentDefinition is.
    fn string(&mut self, text: &mut String, nested: usize) {
        let begins = text.trim_start().starts_with(['{', '[']);
        if nested < NESTED_MAX
            && begins
            && let Ok(mut inner) = serde_json::from_str::<Value>(text)
        {
            self.visit(&mut inner, nested + 1);
            *text = inner.to_string();
        }
    }

    /// Removes all values below a key that names a secret, except booleans.
    fn remove(&mut self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Object(fields) => fields.values_mut().for_each(|value| self.remove(value)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.remove(item)),
            Value::Number(number) => {
                self.remember(&number.to_string());
                *value = Value::String(REMOVED.to_owned());
            }
            Value::String(text) if keys::is_setting(text) => {}
            Value::String(text) => {
                self.remember(text);
                *text = REMOVED.to_owned();
            }
        }
    }
}

/// Addresses and ranges are no secrets, and occur everywhere.
fn is_address(text: &str) -> bool {
    text.split('/').next().is_some_and(|address| address.parse::<IpAddr>().is_ok())
}

fn texts(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::String(text) => drop(found.insert(text.clone())),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
