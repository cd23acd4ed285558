//! What standard output is: its width and colors if it is a terminal.

use clap::ValueEnum;
use console::{Style, Term};
use std::sync::OnceLock;

/// When colors are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    Always,
    Never,
}

/// The output that texts are made for. By default it is a pipe, and so it is in tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Screen {
    /// The number of columns; `None` if lines may have any length.
    pub width: Option<usize>,
    pub has_colors: bool,
}

static SCREEN: OnceLock<Screen> = OnceLock::new();

impl Screen {
    /// Returns what standard output is.
    pub(crate) fn of_stdout(choice: ColorChoice) -> Self {
        let terminal = Term::stdout();
        let has_colors = match choice {
            ColorChoice::Auto => terminal.is_term() && terminal.features().colors_supported(),
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        };
        let width = terminal.is_term().then(|| terminal.size_checked()).flatten().map(|(_, columns)| columns.into());
        Self { width, has_colors }
    }

    /// Sets what texts are made for from now on. Only the first call has an effect.
    pub(crate) fn set(self) {
        let _was_set = SCREEN.set(self);
    }

    pub(crate) fn current() -> Self {
        SCREEN.get().copied().unwrap_or_default()
    }

    /// Returns the text in the color of a tone, if there are colors.
    pub(crate) fn paint(self, text: &str, tone: Option<Tone>) -> String {
        let Some(tone) = tone.filter(|_| self.has_colors && !text.is_empty()) else { return text.to_owned() };
        let style = Style::new().force_styling(true);
        let style = match tone {
            Tone::Good => style.green(),
            Tone::Bad => style.red(),
            Tone::Doubtful => style.yellow(),
            Tone::Title => style.bold(),
        };
        style.apply_to(text).to_string()
    }
}

/// What a text means, which is its color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    /// Not known, or not yet.
    Doubtful,
    Title,
}

impl Tone {
    /// Returns the tone of a state, which may be followed by a colon and a message.
    pub(crate) fn of_state(state: &str) -> Option<Self> {
        let word = state.split([':', ',']).next().unwrap_or_default().trim();
        match word {
            "ok" | "yes" | "connected" | "done" | "attached" | "works" | "True" | "Ready" | "Programmed"
            | "Running" => Some(Self::Good),
            "FAILS" | "no" | "not connected" | "failed" | "False" | "Failed" | "NotReady" | "rejected"
            | "rolled back" | "Error" | "CrashLoopBackOff" => Some(Self::Bad),
            "unknown" | "Unknown" | "not attached" | "Pending" | "Working" | "Deleting" | "ContainerCreating"
            | "drains" => Some(Self::Doubtful),
            _ => None,
        }
    }
}

/// Returns a title, which is bold on a terminal.
pub(crate) fn title(text: &str) -> String {
    Screen::current().paint(text, Some(Tone::Title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_screen_with_colors_has_escape_sequences() {
        let colors = Screen { width: None, has_colors: true };
        assert_eq!(colors.paint("no", Tone::of_state("no")), "\u{1b}[31mno\u{1b}[0m");
        assert_eq!(colors.paint("blue", Tone::of_state("blue")), "blue", "not a state");
        assert_eq!(Screen::default().paint("no", Some(Tone::Bad)), "no");
        assert_eq!(Screen::current(), Screen::default(), "a pipe");
        assert_eq!(Tone::of_state("Failed: BridgeExists"), Some(Tone::Bad));
    }

    #[test]
    fn a_choice_decides_whatever_standard_output_is() {
        assert!(Screen::of_stdout(ColorChoice::Always).has_colors);
        assert!(!Screen::of_stdout(ColorChoice::Never).has_colors);
    }
}
