//! Texts in HTML and SVG.

use crate::output::line;

/// Escapes untrusted text for HTML and XML, as content and in quoted attributes. Control
/// characters, which XML does not have, and characters that reverse the direction of a text are
/// shown by their numbers.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for part in text.split_inclusive('\n') {
        let (part, end) = part.strip_suffix('\n').map_or((part, ""), |part| (part, "\n"));
        for character in line(part).chars() {
            match character {
                '&' => escaped.push_str("&amp;"),
                '<' => escaped.push_str("&lt;"),
                '>' => escaped.push_str("&gt;"),
                '"' => escaped.push_str("&quot;"),
                '\'' => escaped.push_str("&#39;"),
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => {
                    escaped.extend(character.escape_unicode());
                }
                other => escaped.push(other),
            }
        }
        escaped.push_str(end);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_an_element_or_an_attribute() {
        assert_eq!(escape("<script>\"'&"), "&lt;script&gt;&quot;&#39;&amp;");
        assert_eq!(escape("a\nb\u{0}\u{1b}[2J"), "a\nb\\u{0}\\u{1b}[2J", "a hint has lines");
        assert_eq!(escape("a\u{202e}b\u{ffff}"), "a\\u{202e}b\\u{ffff}");
    }
}
