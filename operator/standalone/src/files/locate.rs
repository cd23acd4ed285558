//! Finds the line of a field in a YAML text. The library reports the line of an error, so that a
//! visitor that walks to the field and rejects it learns the line, in any style of YAML. Pure.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Returns the line, counted from 1, of a field such as `spec.ipam.ranges[0][1].subnet` in one
/// document (counted from 0). For a missing field it is the line of the object that should contain
/// it.
pub(super) fn line_of(text: &str, document: usize, field: &str) -> Option<usize> {
    let deserializer = serde_yaml::Deserializer::from_str(text).nth(document)?;
    let steps = steps(field);
    let rejected = Walk { steps: &steps }.deserialize(deserializer).err()?;
    Some(rejected.location()?.line())
}

/// The keys and indices of a field.
fn steps(field: &str) -> Vec<&str> {
    field.split(['.', '[', ']']).filter(|step| !step.is_empty()).collect()
}

struct Walk<'a> {
    steps: &'a [&'a str],
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("nothing: only the line is needed")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if let Some((step, rest)) = self.steps.split_first() {
            while let Some(key) = map.next_key::<String>()? {
                if key == *step {
                    return map.next_value_seed(Walk { steps: rest });
                }
                map.next_value::<IgnoredAny>()?;
            }
        }
        Err(A::Error::custom("here"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        if let Some((step, rest)) = self.steps.split_first() {
            let before = step.parse().unwrap_or(usize::MAX);
            for _ in 0..before {
                if sequence.next_element::<IgnoredAny>()?.is_none() {
                    return Err(A::Error::custom("here"));
                }
            }
            if sequence.next_element_seed(Walk { steps: rest })?.is_some() {
                return Ok(());
            }
        }
        Err(A::Error::custom("here"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# two documents\nkind: A\n---\nkind: B\nspec:\n  ports: [{tag: 1}, {tag: 2},\n    {tag: 3}]\n  name: >-\n    x\n";

    #[test]
    fn fields_are_found_in_any_style() {
        let lines = ["kind", "spec.ports[1].tag", "spec.ports[2].tag", "spec.name", "spec"];
        let found: Vec<_> = lines.iter().map(|field| line_of(TEXT, 1, field)).collect();
        assert_eq!(found, [Some(4), Some(6), Some(7), Some(8), Some(6)]);
        assert_eq!(line_of(TEXT, 0, "kind"), Some(2));
    }

    #[test]
    fn a_missing_field_is_where_it_should_have_been() {
        assert_eq!(line_of(TEXT, 1, "spec.engine"), Some(6));
        assert_eq!(line_of(TEXT, 1, "spec.ports[7].tag"), Some(6));
        assert_eq!(line_of(TEXT, 5, "spec"), None);
    }
}
