//! An object in all its forms: parts that only some options of the chart have are alternatives with
//! conditions.

use std::fmt;

use serde_json::Value;

/// A value of the chart that has to be true, or false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The value's path in `values.yaml`.
    pub value: &'static str,
    /// What it has to be.
    pub is_on: bool,
}

impl Guard {
    fn inverse(&self) -> Self {
        Self { value: self.value, is_on: !self.is_on }
    }
}

/// A part of an object: each alternative with the conditions under which it is there. The first one
/// is what the base has, if it has the part. Two are never there at the same time.
pub type Slot = Vec<(Vec<Guard>, Tree)>;

/// An object or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A scalar, or an empty map or list.
    Value(Value),
    /// A text of the template, in place of a scalar.
    Expression(String),
    /// The value of the chart with this path, which is a map or a list.
    Block(&'static str),
    /// A map, by keys.
    Map(Vec<(String, Slot)>),
    /// A list. Items with names have these as keys.
    List(Vec<(String, Slot)>),
}

/// Where two options of the chart change the same part.
#[derive(Debug, PartialEq, Eq)]
pub struct Conflict(pub String);

impl fmt::Display for Conflict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<&Value> for Tree {
    fn from(value: &Value) -> Self {
        match value {
            Value::Object(map) if !map.is_empty() => {
                Self::Map(map.iter().map(|(key, value)| (key.clone(), always(value))).collect())
            }
            Value::Array(items) if !items.is_empty() => {
                let keys = keys(items).unwrap_or_else(|| (0..items.len()).map(|index| index.to_string()).collect());
                Self::List(keys.into_iter().zip(items.iter().map(always)).collect())
            }
            _ => Self::Value(value.clone()),
        }
    }
}

/// A part that is always there.
#[must_use]
pub fn always(value: &Value) -> Slot {
    vec![(Vec::new(), Tree::from(value))]
}

/// Adds to `slot`, made from `base`, what an option makes of it: `other`, if `guard` holds.
///
/// # Errors
/// When an earlier option changed the same part.
pub fn merge(slot: &mut Slot, base: &Value, other: &Value, guard: &Guard) -> Result<(), Conflict> {
    if base == other {
        return Ok(());
    }
    let is_replaced = slot.len() > 1;
    let Some((conditions, tree)) = slot.first_mut() else { return Err(Conflict(base.to_string())) };
    if let (Some(before), Some(after)) = (parts(base), parts(other))
        && let (Tree::Map(slots), Value::Object(_), Value::Object(_))
        | (Tree::List(slots), Value::Array(_), Value::Array(_)) = (tree, base, other)
    {
        return merge_parts(slots, &before, &after, guard);
    }
    if is_replaced {
        return Err(Conflict(other.to_string()));
    }
    conditions.push(guard.inverse());
    slot.push((vec![guard.clone()], Tree::from(other)));
    Ok(())
}

fn merge_parts(
    slots: &mut Vec<(String, Slot)>,
    before: &[(String, &Value)],
    after: &[(String, &Value)],
    guard: &Guard,
) -> Result<(), Conflict> {
    let find = |parts: &[(String, &Value)], key: &str| {
        parts.iter().find(|(name, _)| name == key).map(|(_, value)| (*value).clone())
    };
    for (key, base) in before {
        let Some((_, slot)) = slots.iter_mut().find(|(name, _)| name == key) else { continue };
        match find(after, key) {
            Some(other) => merge(slot, base, &other, guard).map_err(|Conflict(at)| Conflict(format!("{key}: {at}")))?,
            None => slot.iter_mut().take(1).for_each(|(conditions, _)| conditions.push(guard.inverse())),
        }
    }
    for (key, other) in after.iter().filter(|(key, _)| find(before, key).is_none()) {
        if slots.iter().any(|(name, _)| name == key) {
            return Err(Conflict(key.clone()));
        }
        slots.push((key.clone(), vec![(vec![guard.clone()], Tree::from(*other))]));
    }
    Ok(())
}

/// The parts of a map, or of a list whose items have names.
fn parts(value: &Value) -> Option<Vec<(String, &Value)>> {
    match value {
        Value::Object(map) => Some(map.iter().map(|(key, value)| (key.clone(), value)).collect()),
        Value::Array(items) => Some(keys(items)?.into_iter().zip(items).collect()),
        _ => None,
    }
}

/// What tells the items of a list apart, if something does.
fn keys(items: &[Value]) -> Option<Vec<String>> {
    let key =
        |item: &Value| ["mountPath", "name"].iter().find_map(|field| item.get(field)?.as_str().map(ToOwned::to_owned));
    let keys: Vec<String> = items.iter().map(key).collect::<Option<_>>()?;
    let mut sorted = keys.clone();
    sorted.sort();
    sorted.dedup();
    (sorted.len() == keys.len()).then_some(keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const OPTION: Guard = Guard { value: "option", is_on: true };
    const OTHER: Guard = Guard { value: "other", is_on: true };

    fn slot_of<'a>(slot: &'a Slot, path: &[&str]) -> &'a Slot {
        path.iter().fold(slot, |slot, key| match &slot[0].1 {
            Tree::Map(slots) | Tree::List(slots) => &slots.iter().find(|(name, _)| name == key).unwrap().1,
            tree => panic!("{tree:?} has no {key}"),
        })
    }

    #[test]
    fn what_only_an_option_has_has_its_condition() {
        let base = json!({"volumes": [{"name": "a"}, {"name": "b"}], "x": 1});
        let mut slot = always(&base);
        let other = json!({"volumes": [{"name": "c", "y": 2}, {"name": "a"}], "x": 1, "z": {"w": true}});
        merge(&mut slot, &base, &other, &OPTION).unwrap();
        assert_eq!(slot_of(&slot, &["volumes", "a"]), &always(&json!({"name": "a"})));
        assert_eq!(slot_of(&slot, &["volumes", "b"])[0].0, [OPTION.inverse()]);
        assert_eq!(slot_of(&slot, &["volumes", "c"])[0].0, [OPTION]);
        assert_eq!(slot_of(&slot, &["z"])[0].0, [OPTION]);
        assert_eq!(slot_of(&slot, &["x"]), &always(&json!(1)));
    }

    #[test]
    fn what_an_option_changes_is_there_in_two_forms() {
        let base = json!({"command": ["run", "--local"]});
        let mut slot = always(&base);
        merge(&mut slot, &base, &json!({"command": ["run", "--all"]}), &OPTION).unwrap();
        let command = slot_of(&slot, &["command"]);
        assert_eq!(command[0], (vec![OPTION.inverse()], Tree::from(&json!(["run", "--local"]))));
        assert_eq!(command[1], (vec![OPTION], Tree::from(&json!(["run", "--all"]))));
    }

    #[test]
    fn two_options_that_change_one_part_are_an_error() {
        let base = json!({"x": {"y": 1}});
        let mut slot = always(&base);
        merge(&mut slot, &base, &json!({"x": {"y": 2}}), &OPTION).unwrap();
        assert_eq!(merge(&mut slot, &base, &json!({"x": {"y": 3}}), &OTHER), Err(Conflict("x: y: 3".to_owned())));
        merge(&mut slot, &base, &json!({"x": {"y": 1}, "new": 1}), &OTHER).unwrap();
        assert_eq!(
            merge(&mut slot, &base, &json!({"x": {"y": 1}, "new": 2}), &OPTION),
            Err(Conflict("new".to_owned()))
        );
    }
}
