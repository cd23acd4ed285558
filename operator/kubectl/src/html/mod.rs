//! Pages that load nothing from elsewhere: one file with its style and its script, which a browser
//! runs only if they are those of this program (Content-Security-Policy).
//!
//! - [`mod@page`]: the frame of a page; [`mod@escape`]: untrusted texts;
//! - [`unread`]: what could not be read;
//! - `page.css`, `page.js`: the style, and search, zoom and sorting.

mod escape;
mod page;
mod unread;

pub(crate) use escape::escape;
#[cfg(test)]
pub(crate) use page::hash;
pub(crate) use page::{Page, Section, page, picture_section};
pub(crate) use unread::unread_section;
