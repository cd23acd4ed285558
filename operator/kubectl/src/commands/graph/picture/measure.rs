//! Widths of texts, in pixels. Names and addresses are in a fixed-width font, whose width is known;
//! of other texts the width is an upper estimate.

/// The width of a letter of a fixed-width font, in thousandths of its size: that of DejaVu Sans
/// Mono, Menlo and Liberation Mono; others are narrower.
const FIXED_WIDTH: i32 = 603;
/// The average width of a letter of a wide proportional font (DejaVu Sans).
const PROPORTIONAL_WIDTH: i32 = 585;

/// A font and its size in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Font {
    Fixed(i32),
    Proportional(i32),
}

impl Font {
    fn letter(self) -> i32 {
        match self {
            Self::Fixed(size) => size * FIXED_WIDTH,
            Self::Proportional(size) => size * PROPORTIONAL_WIDTH,
        }
    }

    /// Returns the width of a text. A letter that is not ASCII may be twice as wide.
    pub(super) fn width(self, text: &str) -> i32 {
        let letters = text.chars().map(columns).fold(0, i32::saturating_add);
        self.letter().saturating_mul(letters).saturating_add(999) / 1000
    }

    /// Splits a text into lines of this width, at spaces; the last line has all that is left.
    pub(super) fn wrap(self, text: &str, width: i32, lines_max: usize) -> Vec<String> {
        let mut lines = vec![String::new()];
        for word in text.split(' ') {
            let is_last = lines.len() >= lines_max;
            let Some(line) = lines.last_mut() else { break };
            if line.is_empty() {
                line.push_str(word);
            } else if is_last || self.width(&format!("{line} {word}")) <= width {
                line.push(' ');
                line.push_str(word);
            } else {
                lines.push(word.to_owned());
            }
        }
        lines
    }

    /// Shortens a text in its middle, because names often differ at their ends.
    pub(super) fn fit(self, text: &str, width: i32) -> String {
        if self.width(text) <= width {
            return text.to_owned();
        }
        let room = (width.saturating_mul(1000) / self.letter() - columns('…')).max(2);
        let head = taken(text.chars(), room - room / 2);
        let tail = taken(text.chars().rev(), room / 2);
        let tail: String = tail.chars().rev().collect();
        format!("{head}…{tail}")
    }
}

/// Returns the first letters, as many as fit into this number of columns.
fn taken(letters: impl Iterator<Item = char>, room: i32) -> String {
    let mut used = 0;
    letters
        .take_while(|letter| {
            used += columns(*letter);
            used <= room
        })
        .collect()
}

fn columns(letter: char) -> i32 {
    if letter.is_ascii() || letter == '…' { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_spaces() {
        let font = Font::Fixed(10);
        let width = font.width("no connection");
        assert_eq!(font.wrap("no connection to Open vSwitch", width, 9), ["no connection", "to Open", "vSwitch"]);
        assert_eq!(font.wrap("no connection to Open vSwitch", width, 2), ["no connection", "to Open vSwitch"]);
    }

    #[test]
    fn a_text_that_is_too_wide_keeps_both_ends() {
        let font = Font::Fixed(10);
        let width = font.width("web/abcdef");
        assert_eq!(font.fit("web/abcdef", width), "web/abcdef");
        assert_eq!(font.fit("web/checkout-5f7c-x7k2p", width), "web/c…7k2p");
        assert!(font.width(&font.fit("namespace/日本語日本語日本語", width)) <= width);
        assert!(font.width(&font.fit("abcdefgh", 1)) < font.width("abcd"), "never less than both ends");
    }
}
