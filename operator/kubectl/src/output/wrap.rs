//! Lines that fit a terminal. Pure.

use console::measure_text_width;

/// The least number of columns of a wrapped text: less is harder to read than what the terminal
/// makes of it.
pub(super) const NARROWEST: usize = 24;

/// The maximum length of a word with a colon below which the lines of its text begin.
const LABEL_MAX: usize = 16;

/// What begins a line that stays as it is: a command to copy.
pub(crate) const VERBATIM: &str = "        ";

/// Breaks a text between words into lines of at most `width` columns. A longer word is a line.
pub(super) fn words(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let columns = measure_text_width(word);
        let Some(line) = lines.last_mut() else { break };
        if used == 0 {
            line.push_str(word);
            used = columns;
        } else if used + 1 + columns <= width {
            line.push(' ');
            line.push_str(word);
            used += 1 + columns;
        } else {
            lines.push(word.to_owned());
            used = columns;
        }
    }
    lines
}

/// Breaks the long lines of a text between words. Lines that continue one are indented as its text
/// is: `  Why: …` behind the colon.
pub(super) fn text(text: &str, width: usize) -> String {
    text.split_inclusive('\n').map(|line| wrapped_line(line, width)).collect()
}

fn wrapped_line(line: &str, width: usize) -> String {
    let content = line.trim_end_matches('\n');
    if measure_text_width(content) <= width || content.starts_with(VERBATIM) {
        return line.to_owned();
    }
    let spaces = |text: &str| text.len() - text.trim_start().len();
    let start = spaces(content);
    let text = content.get(start..).unwrap_or_default();
    let label = text.split(' ').next().filter(|word| word.ends_with(':') && word.len() <= LABEL_MAX);
    let head = start + label.map_or(0, |label| label.len() + spaces(text.get(label.len()..).unwrap_or_default()));
    let indent = if label.is_some() { head } else { start + 2 };
    if indent + NARROWEST > width {
        return line.to_owned();
    }
    let (head, body) = content.split_at(head);
    format!("{head}{}\n", words(body, width - indent).join(&format!("\n{}", " ".repeat(indent))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_continue_below_their_text() {
        let long = "short\n  Why: the pod has no emptyDir volume for the socket of its port\na sentence that is longer than the screen is\n";
        assert_eq!(
            text(long, 34),
            "short\n  Why: the pod has no emptyDir\n       volume for the socket of\n       its port\na sentence that is longer than\n  the screen is\n"
        );
        assert_eq!(text(long, 20), long, "too narrow");
        let command = "        grubby --update-kernel=ALL --args=\"hugepagesz=2M hugepages=512\"\n";
        assert_eq!(text(command, 34), command);
        assert_eq!(words("a verylongword b", 5), ["a", "verylongword", "b"]);
    }
}
