//! The part of `Containerfile`s that images of static programs need. Everything else is an error,
//! so that container engines build the same image from the file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Settings;

/// Why a `Containerfile` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ContainerfileError {
    /// It cannot be read.
    #[error("cannot read {0}")]
    Read(PathBuf, #[source] io::Error),
    /// An instruction is not supported, or not written as it is here.
    #[error(
        "{path}: {instruction:?}: only `FROM scratch`, `ARG NAME`, `LABEL NAME=\"VALUE\" …`, `ENV NAME=VALUE`, `COPY FILE … FOLDER/` and \
         `ENTRYPOINT [\"PROGRAM\", …]` are supported, and each ARG needs a value"
    )]
    Instruction {
        /// The file.
        path: PathBuf,
        /// The instruction.
        instruction: String,
    },
}

/// A program that is copied into an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Its name in the folder that the image is built from.
    pub source: String,
    /// Its path in the image.
    pub target: PathBuf,
}

/// What one says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Containerfile {
    /// What the image says besides its files.
    pub settings: Settings,
    /// Its files.
    pub copies: Vec<Copy>,
}

impl Containerfile {
    /// Reads one, with values for its `ARG`s.
    ///
    /// # Errors
    /// When it cannot be read or has an instruction that is not supported.
    pub fn read(path: &Path, arguments: &[(&str, &str)]) -> Result<Self, ContainerfileError> {
        let text = fs::read_to_string(path).map_err(|source| ContainerfileError::Read(path.to_owned(), source))?;
        Self::parse(&text, arguments)
            .map_err(|instruction| ContainerfileError::Instruction { path: path.to_owned(), instruction })
    }

    /// The error is the instruction that is not supported.
    fn parse(text: &str, arguments: &[(&str, &str)]) -> Result<Self, String> {
        let mut file = Self::default();
        let lines: String =
            text.lines().filter(|line| !line.trim_start().starts_with('#')).map(|line| format!("{line}\n")).collect();
        for instruction in lines.replace("\\\n", " ").lines().map(str::trim).filter(|line| !line.is_empty()) {
            file.add(instruction, arguments).ok_or_else(|| instruction.to_owned())?;
        }
        Ok(file)
    }

    /// None when the instruction is not supported.
    fn add(&mut self, instruction: &str, arguments: &[(&str, &str)]) -> Option<()> {
        let (word, rest) = instruction.split_once(' ')?;
        match (word, rest.trim()) {
            ("FROM", "scratch") => {}
            ("ARG", name) if arguments.iter().any(|(known, _)| *known == name) => {}
            ("LABEL", labels) => {
                for label in quoted_words(labels) {
                    let (name, value) = label.split_once('=')?;
                    self.settings.labels.insert(name.to_owned(), substitute(value, arguments)?);
                }
            }
            ("ENV", variable) if variable.contains('=') => {
                self.settings.environment.push(substitute(variable, arguments)?);
            }
            ("ENTRYPOINT", program) => self.settings.entrypoint = serde_json::from_str(program).ok()?,
            ("COPY", names) => {
                let mut names: Vec<&str> = names.split_whitespace().collect();
                let folder = names.pop().filter(|folder| folder.starts_with('/') && folder.ends_with('/'))?;
                let copy = |name: &str| Copy { source: name.to_owned(), target: Path::new(folder).join(name) };
                self.copies.extend(names.into_iter().map(copy));
            }
            _ => return None,
        }
        Some(())
    }
}

/// Words between spaces; what is in double quotes is one word, without them.
fn quoted_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for character in text.chars() {
        match (character, words.last_mut()) {
            ('"', _) => is_quoted = !is_quoted,
            (' ', _) if !is_quoted => words.push(String::new()),
            (_, Some(word)) => word.push(character),
            (_, None) => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// None when a `${NAME}` has no value.
fn substitute(text: &str, arguments: &[(&str, &str)]) -> Option<String> {
    let text =
        arguments.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value));
    (!text.contains("${")).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# what it is\nFROM scratch\nARG VERSION\nLABEL a=\"one two\" \\\n  b=\"${VERSION}\"\nENV PATH=/bin\n\
                        COPY x y /usr/bin/\nENTRYPOINT [\"/usr/bin/x\", \"-v\"]\n";

    #[test]
    fn what_the_image_is_made_of() {
        let file = Containerfile::parse(TEXT, &[("VERSION", "7")]).unwrap();
        let labels = [("a", "one two"), ("b", "7")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(file.settings.labels, labels.into_iter().collect());
        assert_eq!(file.settings.environment, ["PATH=/bin"]);
        assert_eq!(file.settings.entrypoint, ["/usr/bin/x", "-v"]);
        let targets: Vec<_> = file.copies.iter().map(|copy| copy.target.as_path()).collect();
        assert_eq!(targets, [Path::new("/usr/bin/x"), Path::new("/usr/bin/y")]);
    }

    #[test]
    fn what_would_be_another_image_elsewhere_is_an_error() {
        for text in ["FROM debian", "RUN true", "COPY x y", "ARG OTHER", "LABEL a=\"${OTHER}\"", "ENTRYPOINT x", "USER"]
        {
            assert_eq!(Containerfile::parse(text, &[("VERSION", "7")]), Err(text.to_owned()));
        }
    }
}
