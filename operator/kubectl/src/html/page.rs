//! The frame of a page. Only what is passed as [`Section::html`] is trusted.

use super::escape;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A part of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Section {
    pub title: &'static str,
    /// What is behind the title, such as a number; untrusted.
    pub note: String,
    /// The content, in which untrusted text is escaped.
    pub html: String,
}

/// A page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Page<'a> {
    /// Untrusted, as the subtitle is.
    pub title: &'a str,
    pub subtitle: &'a str,
    /// The style of pictures in the page.
    pub style: &'static str,
    pub sections: &'a [Section],
}

/// Returns a page as one file.
pub(crate) fn page(page: &Page<'_>) -> String {
    let style = format!("{}\n{STYLE}", page.style);
    let (title, subtitle) = (escape(page.title), escape(page.subtitle));
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{}'; script-src '{}'; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n\
         <header><h1>{title}</h1><p>{subtitle}</p></header>\n",
        hash(&style),
        hash(SCRIPT)
    );
    for Section { title, note, html } in page.sections {
        let note = if note.is_empty() { String::new() } else { format!(" <small>{}</small>", escape(note)) };
        let _ = writeln!(text, "<section>\n<h2>{title}{note}</h2>\n{html}</section>");
    }
    let _ = write!(text, "<script>{SCRIPT}</script>\n</body>\n</html>\n");
    text
}

/// Returns the source of a style or script as the Content-Security-Policy has it.
pub(crate) fn hash(source: &str) -> String {
    format!("sha256-{}", STANDARD.encode(digest(&SHA256, source.as_bytes())))
}

/// Returns the section with a picture of a graph, which can be searched and enlarged.
pub(crate) fn picture_section(picture: &str, note: String) -> Section {
    let html = format!(
        "<div class=\"tools\">\
         <input type=\"search\" id=\"search\" placeholder=\"Search pods, addresses, nodes, networks\" aria-label=\"Search\">\
         <label><input type=\"checkbox\" id=\"problems\"> Problems only</label>\
         <output id=\"found\"></output>\
         <span class=\"zoom\"><button type=\"button\" id=\"smaller\" aria-label=\"Smaller\">−</button>\
         <button type=\"button\" id=\"fit\">Fit</button>\
         <button type=\"button\" id=\"actual\">1:1</button>\
         <button type=\"button\" id=\"larger\" aria-label=\"Larger\">+</button></span></div>\n\
         <div class=\"canvas\" id=\"canvas\" tabindex=\"0\">{picture}</div>\n"
    );
    Section { title: "Networks and nodes", note, html }
}
