//! Reads JSON objects as Go's `encoding/json` does: keys are case-insensitive, and `null`, empty
//! text and 0 count as absent.

use super::error::InvalidLegacy;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// An object of the configuration, which may be absent, with its path.
#[derive(Debug, Clone)]
pub(super) struct Keys<'a> {
    path: String,
    object: Option<&'a Map<String, Value>>,
    /// The paths that were read, in lower case; none if they are not recorded.
    read: Option<Rc<RefCell<BTreeSet<String>>>>,
}

impl<'a> Keys<'a> {
    pub(super) fn of(object: &'a Map<String, Value>) -> Self {
        Self { path: String::new(), object: Some(object), read: None }
    }

    /// Records the paths that are read, for [`unread`](Self::unread).
    pub(super) fn recording(object: &'a Map<String, Value>) -> Self {
        Self { read: Some(Rc::default()), ..Self::of(object) }
    }

    /// The paths below this key that have a value and were not read, as they are spelled.
    pub(super) fn unread(&self, key: &str) -> Vec<String> {
        let mut unread = Vec::new();
        let read = self.read.as_ref().map(|read| read.borrow().clone()).unwrap_or_default();
        let entries = self.object.into_iter().flatten().filter(|(spelling, _)| spelling.eq_ignore_ascii_case(key));
        for (spelling, value) in entries {
            collect_unread(&self.path(spelling), value, &read, &mut unread);
        }
        unread
    }

    /// The path of a key of this object.
    pub(super) fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(super) fn value(&self, key: &str) -> Result<Option<&'a Value>, InvalidLegacy> {
        if let Some(read) = &self.read {
            read.borrow_mut().insert(self.path(key).to_ascii_lowercase());
        }
        let entries = self.object.into_iter().flatten();
        let mut found = entries.filter(|(spelling, _)| spelling.eq_ignore_ascii_case(key));
        let (first, second) = (found.next(), found.next());
        if let (Some((first, _)), Some((second, _))) = (first, second) {
            return Err(InvalidLegacy::Duplicate { key: self.path(key), first: first.clone(), second: second.clone() });
        }
        Ok(first.map(|(_, value)| value).filter(|value| !value.is_null()))
    }

    /// The object of a key; an empty one if it is absent.
    pub(super) fn object(&self, key: &str) -> Result<Keys<'a>, InvalidLegacy> {
        let object = match self.value(key)? {
            Some(value) => Some(value.as_object().ok_or_else(|| self.wrong(key, "an object"))?),
            None => None,
        };
        Ok(Keys { path: self.path(key), object, read: self.read.clone() })
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, InvalidLegacy> {
        let Some(value) = self.value(key)? else { return Ok(None) };
        let text = value.as_str().ok_or_else(|| self.wrong(key, "text"))?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    pub(super) fn number<T>(&self, key: &str) -> Result<Option<T>, InvalidLegacy>
    where
        T: TryFrom<i64, Error: std::fmt::Display>,
    {
        let Some(value) = self.value(key)? else { return Ok(None) };
        let number = value.as_i64().ok_or_else(|| self.wrong(key, "a whole number"))?;
        if number == 0 {
            return Ok(None);
        }
        T::try_from(number).map(Some).map_err(|problem| self.out_of_range(key, &problem))
    }

    pub(super) fn list(&self, key: &str) -> Result<&'a [Value], InvalidLegacy> {
        match self.value(key)? {
            Some(Value::Array(items)) => Ok(items),
            Some(_) => Err(self.wrong(key, "a list")),
            None => Ok(&[]),
        }
    }

    pub(super) const fn exists(&self) -> bool {
        self.object.is_some()
    }

    pub(super) fn wrong(&self, key: &str, expected: &'static str) -> InvalidLegacy {
        InvalidLegacy::WrongType { key: self.path(key), expected }
    }

    pub(super) fn missing(&self, key: &str, advice: &'static str) -> InvalidLegacy {
        InvalidLegacy::Missing { key: self.path(key), advice }
    }

    pub(super) fn unsupported(&self, key: &str, value: &str, advice: &'static str) -> InvalidLegacy {
        InvalidLegacy::Unsupported { key: self.path(key), value: value.to_owned(), advice }
    }

    pub(super) fn out_of_range(&self, key: &str, problem: &impl std::fmt::Display) -> InvalidLegacy {
        InvalidLegacy::OutOfRange { key: self.path(key), problem: problem.to_string() }
    }
}

/// Values that count as absent have no effect in any configuration.
fn collect_unread(path: &str, value: &Value, read: &BTreeSet<String>, unread: &mut Vec<String>) {
    match value {
        Value::Object(parts) => {
            for (key, value) in parts {
                collect_unread(&format!("{path}.{key}"), value, read, unread);
            }
        }
        Value::Null => {}
        _ if read.contains(&path.to_ascii_lowercase()) => {}
        _ => unread.push(path.to_owned()),
    }
}
