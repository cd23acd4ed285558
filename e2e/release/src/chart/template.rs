//! Writes an object as a template of Helm.

use std::fmt::Write;

use serde_json::Value;

use super::options::DEFAULT_FOLLOWS;
use super::tree::{Guard, Slot, Tree};

/// The text of a whole file.
#[must_use]
pub fn write(object: &Slot) -> String {
    let mut text = String::from("# Made from config/ by `make release`.\n");
    for (conditions, tree) in object {
        guarded(&mut text, conditions, |text| part(text, tree, 0));
    }
    text
}

fn guarded(text: &mut String, conditions: &[Guard], body: impl FnOnce(&mut String)) {
    if conditions.is_empty() {
        return body(text);
    }
    let condition = match conditions {
        [guard] => term(guard),
        guards => guards.iter().fold("and".to_owned(), |and, guard| match term(guard) {
            call if call.contains(' ') => format!("{and} ({call})"),
            value => format!("{and} {value}"),
        }),
    };
    text.push_str(&format!("{{{{- if {condition} }}}}\n"));
    body(text);
    text.push_str("{{- end }}\n");
}

fn term(guard: &Guard) -> String {
    let Guard { value, is_on } = guard;
    match (DEFAULT_FOLLOWS.contains(value), is_on) {
        (false, true) => format!(".Values.{value}"),
        (false, false) => format!("not .Values.{value}"),
        (true, true) => format!("include \"usnet.{value}\" ."),
        (true, false) => format!("not (include \"usnet.{value}\" .)"),
    }
}

/// The lines of a map or a list.
fn part(text: &mut String, tree: &Tree, indent: usize) {
    match tree {
        Tree::Map(slots) => {
            for (key, slot) in slots {
                for (conditions, tree) in slot {
                    guarded(text, conditions, |text| entry(text, key, tree, indent));
                }
            }
        }
        Tree::List(slots) => {
            for (_, slot) in slots {
                for (conditions, tree) in slot {
                    guarded(text, conditions, |text| item(text, tree, indent));
                }
            }
        }
        Tree::Value(_) | Tree::Expression(_) | Tree::Block(_) => {
            let _ = writeln!(text, "{}{}", " ".repeat(indent), scalar(tree, indent));
        }
    }
}

fn entry(text: &mut String, key: &str, tree: &Tree, indent: usize) {
    let _ = write!(text, "{}{}:", " ".repeat(indent), quoted(key, indent));
    match tree {
        Tree::Map(_) => {
            text.push('\n');
            part(text, tree, indent + 2);
        }
        Tree::List(_) => {
            text.push('\n');
            part(text, tree, indent);
        }
        Tree::Block(value) => {
            let _ = writeln!(
                text,
                "\n{}{{{{- toYaml .Values.{value} | nindent {} }}}}",
                " ".repeat(indent + 2),
                indent + 2
            );
        }
        Tree::Value(_) | Tree::Expression(_) => {
            let _ = writeln!(text, " {}", scalar(tree, indent));
        }
    }
}

fn item(text: &mut String, tree: &Tree, indent: usize) {
    let mut body = String::new();
    part(&mut body, tree, indent + 2);
    let spaces = " ".repeat(indent);
    // Directives are written without indentation, and a line before them has to have the dash.
    match body.strip_prefix(&format!("{spaces}  ")) {
        Some(rest) => text.push_str(&format!("{spaces}- {rest}")),
        None => text.push_str(&format!("{spaces}-\n{body}")),
    }
}

fn scalar(tree: &Tree, indent: usize) -> String {
    match tree {
        Tree::Expression(expression) => expression.clone(),
        Tree::Value(Value::String(string)) => quoted(string, indent),
        Tree::Value(value) => value.to_string(),
        Tree::Block(_) | Tree::Map(_) | Tree::List(_) => String::new(),
    }
}

/// A string in the simplest form of YAML that every reader takes for that string.
fn quoted(string: &str, indent: usize) -> String {
    if is_plain(string) {
        return string.to_owned();
    }
    let lines: Vec<&str> = string.lines().collect();
    let is_block = lines.len() > 1
        && !string.ends_with("\n\n")
        && !string.starts_with([' ', '\n'])
        && lines.iter().all(|line| !line.ends_with(' ') && !line.contains(['\t', '\r']));
    if !is_block {
        return escape(&Value::from(string).to_string());
    }
    let spaces = " ".repeat(indent + 2);
    let keep = if string.ends_with('\n') { "|" } else { "|-" };
    let lines =
        lines.iter().map(|line| if line.is_empty() { String::new() } else { format!("{spaces}{}", escape(line)) });
    format!("{keep}\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn is_plain(string: &str) -> bool {
    let is_word = string.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && string.chars().all(|character| character.is_ascii_alphanumeric() || "/.-_".contains(character));
    let lower = string.to_ascii_lowercase();
    is_word && !["true", "false", "yes", "no", "on", "off", "null", "y", "n"].contains(&lower.as_str())
}

/// Text in which Helm finds no directive.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace("{{", "{{ `{{` }}")
}

#[cfg(test)]
mod tests {
    use super::super::tree::{always, merge};
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_with_conditions() {
        let base = json!({"items": [{"name": "a", "on": "yes"}], "text": "one: {{ two }}", "zero": {}});
        let mut object = always(&base);
        let other = json!({"items": [{"name": "a", "on": "no"}, {"name": "b"}], "text": "one: {{ two }}"});
        merge(&mut object, &base, &other, &Guard { value: "x.y", is_on: true }).unwrap();
        let expected = "\
# Made from config/ by `make release`.
items:
- name: a
{{- if not .Values.x.y }}
  \"on\": \"yes\"
{{- end }}
{{- if .Values.x.y }}
  \"on\": \"no\"
{{- end }}
{{- if .Values.x.y }}
- name: b
{{- end }}
text: \"one: {{ `{{` }} two }}\"
{{- if not .Values.x.y }}
zero: {}
{{- end }}
";
        assert_eq!(write(&object), expected);
    }

    #[test]
    fn values_with_a_default_that_follows_from_others_are_templates() {
        let on = Guard { value: "selinux", is_on: true };
        let off = Guard { value: "attachments", is_on: false };
        assert_eq!(term(&on), "include \"usnet.selinux\" .");
        assert_eq!(term(&off), "not (include \"usnet.attachments\" .)");
        let mut text = String::new();
        guarded(&mut text, &[on, Guard { value: "x.y", is_on: true }, off], |_| ());
        let condition = "and (include \"usnet.selinux\" .) .Values.x.y (not (include \"usnet.attachments\" .))";
        assert_eq!(text, format!("{{{{- if {condition} }}}}\n{{{{- end }}}}\n"));
    }

    #[test]
    fn long_texts_are_blocks() {
        let object = always(&json!({"a": {"b": "one\n  two\n\nthree"}, "c": "one\ntwo\n", "d": "bad \nend"}));
        let expected = "a:\n  b: |-\n    one\n      two\n\n    three\nc: |\n  one\n  two\nd: \"bad \\nend\"\n";
        assert_eq!(write(&object).split_once('\n').unwrap().1, expected);
    }
}
