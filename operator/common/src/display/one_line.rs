//! Foreign text on one line: names of ports and messages of engines may contain line breaks and
//! terminal control sequences.

use std::fmt;

/// Displays text with control characters escaped as in Rust, so that it can neither start a line of
/// its own nor control a terminal.
#[derive(Debug, Clone, Copy)]
pub struct OneLine<T>(pub T);

impl<T: AsRef<str>> fmt::Display for OneLine<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        self.0.as_ref().chars().try_for_each(|character| match character {
            // Line and paragraph separators too: some viewers break lines there.
            '\u{2028}' | '\u{2029}' => write!(formatter, "{}", character.escape_unicode()),
            character if character.is_control() => write!(formatter, "{}", character.escape_default()),
            character => formatter.write_char(character),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_breaks_lines_or_commands_terminals_is_escaped() {
        let text = OneLine("a \"b\" ü\n2026 INFO\u{1b}[2J\u{2028}\u{9b}").to_string();
        assert_eq!(text, "a \"b\" ü\\n2026 INFO\\u{1b}[2J\\u{2028}\\u{9b}");
    }
}
