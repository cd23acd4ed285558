//! The commands of a page: lines of `sh` blocks, lines after a prompt in `console` blocks, and what
//! is written as code within the text and begins with the name of a program.

/// The programs whose calls within the text count.
const PROGRAMS: [&str; 5] = ["kubectl", "helm", "make", "usnet", "vppctl"];
/// The languages of blocks. A block without one could hide a command.
const LANGUAGES: [&str; 6] = ["sh", "console", "text", "yaml", "json", "mermaid"];

/// All commands of a page in their order, without comments. A line break within the text is a
/// space.
///
/// # Errors
/// When a block has no known language.
pub(super) fn commands(page: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut text = String::new();
    let mut block = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), block) {
            (Some(""), Some(_)) => block = None,
            (Some(language), None) if LANGUAGES.contains(&language) => {
                found.append(&mut spans(&std::mem::take(&mut text)));
                block = Some(language);
            }
            (Some(other), _) => {
                return Err(format!("a block begins with {other:?}, and not with one of {LANGUAGES:?}"));
            }
            (None, Some("sh")) => found.extend(without_comment(line)),
            (None, Some("console")) => found.extend(line.strip_prefix("$ ").and_then(without_comment)),
            (None, Some(_)) => (),
            (None, None) => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    found.append(&mut spans(&text));
    Ok(found)
}

/// A line of a shell without its comment; none when nothing is left.
fn without_comment(line: &str) -> Option<String> {
    let line = line.split("  # ").next().unwrap_or(line).trim();
    (!line.is_empty() && !line.starts_with('#')).then(|| line.to_owned())
}

/// Returns the code in back quotes that starts with a program and a space.
fn spans(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let joined = quoted.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "));
    joined.filter(|span| span.split_once(' ').is_some_and(|(program, _)| PROGRAMS.contains(&program))).collect()
}

#[test]
fn commands_are_found_in_blocks_and_within_the_text() {
    let page = "Use `kubectl get\nusn`, or `kubectl`.\n```console\n$ kubectl apply -f a.yaml\nusn created\n```\n\
                ```sh\nmake demo    # a demo\n# only a comment\n```\n```yaml\nspec: {}\n```\nAt last `helm list`: `true`.\n";
    let expected = ["kubectl get usn", "kubectl apply -f a.yaml", "make demo", "helm list"];
    assert_eq!(commands(page).unwrap(), expected);
    assert!(commands("```\nkubectl get usn\n```\n").unwrap_err().contains("one of"));
}
