//! Removes secrets from texts of programs: what follows the name of a secret and `=` or `:`, or
//! `Bearer`.

use super::keys::is_secret;
use super::{REMOVED, keys};

/// The characters that end the authority of a URL.
const AFTER_AUTHORITY: [char; 12] = ['/', '?', '#', ' ', '"', '\'', '\\', '\n', '\r', '\t', '<', '>'];
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// The text without users and passwords in URLs.
pub(super) fn without_credentials(text: &str) -> String {
    let mut parts = text.split("://");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str("://");
        let (authority, rest) = part.split_at(part.find(AFTER_AUTHORITY).unwrap_or(part.len()));
        match authority.rfind('@') {
            Some(end) => kept.extend([REMOVED, authority.get(end..).unwrap_or_default()]),
            None => kept.push_str(authority),
        }
        kept.push_str(rest);
    }
    kept
}

/// The text without what PEM files have between `BEGIN … KEY` and `END`.
pub(super) fn without_private_keys(text: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(begin) = rest.find(BEGIN) {
        let (before, block) = rest.split_at(begin);
        kept.push_str(before);
        let (block, after) = block.split_at(block.find(END).unwrap_or(block.len()));
        let is_key = block.lines().next().is_some_and(|line| line.contains("KEY-----"));
        kept.push_str(if is_key { REMOVED } else { block });
        let end = after.strip_prefix(END).and_then(|end| end.find("-----")).map_or(0, |end| END.len() + end + 5);
        let (end, after) = after.split_at(end);
        kept.push_str(end);
        rest = after;
    }
    kept.push_str(rest);
    kept
}

/// The text without the values of names of secrets. Line ends stay.
pub(super) fn without_named_secrets(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        rest_of_line(line, &mut kept);
    }
    kept
}

fn rest_of_line(line: &str, kept: &mut String) {
    let mut rest = line;
    let mut follows_scheme = false;
    loop {
        let Some(found) = rest.find(['=', ':', ' ']) else { break kept.push_str(rest) };
        let (before, after) = rest.split_at(found);
        kept.push_str(before);
        let name = before.trim_end_matches(['"', '\'', '\\']);
        let start = name.rfind(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '-' | '_'));
        let name = start.map_or(name, |start| name.get(start + 1..).unwrap_or_default());
        let is_separator = !after.starts_with(' ');
        // `Bearer abc`, of an HTTP header.
        let is_bearer = !is_separator && (name.eq_ignore_ascii_case("bearer") || follows_scheme && before.is_empty());
        if is_separator && is_secret(name) || is_bearer {
            let begins = after.find(|letter: char| !matches!(letter, '=' | ':' | ' ' | '"' | '\'' | '\\'));
            let (quotes, value) = after.split_at(begins.unwrap_or(after.len()));
            kept.push_str(quotes);
            // A quoted value ends with the quote that began it, and may have spaces.
            let quote = quotes.chars().rev().find(|letter| matches!(letter, '"' | '\''));
            let ends = match quote {
                Some(quote) => value.find([quote, '\n']),
                None => value.find([' ', '"', '\'', ',', ';', '&', ')', '}', ']', '\n', '\r', '\t']),
            };
            let (value, after) = value.split_at(ends.unwrap_or(value.len()));
            follows_scheme = value.eq_ignore_ascii_case("bearer");
            // What was removed already ends at its bracket.
            let is_removed = REMOVED.strip_suffix(')') == Some(value);
            let is_kept = value.is_empty() || follows_scheme || is_removed || keys::is_setting(value);
            kept.push_str(if is_kept { value } else { REMOVED });
            rest = after;
        } else {
            follows_scheme = false;
            let (separator, after) = after.split_at(1);
            kept.push_str(separator);
            rest = after;
        }
    }
}
