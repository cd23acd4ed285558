//! The page.

use super::content::Content;
use super::{changes, status, traffic};
use crate::commands::graph;
use crate::html::{self, Page, unread_section};

pub(crate) fn page(content: &Content) -> String {
    let time = content.now.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    let version = format!("kubectl usnet {}", content.status.version);
    let subtitle = [content.server.as_str(), &time, &version].into_iter().filter(|part| !part.is_empty());
    let mut sections = status::sections(&content.status);
    sections.push(graph::section(&content.graph));
    sections.push(traffic::section(&content.traffic));
    sections.push(changes::section(&content.history, content.since));
    sections.extend(unread_section(&content.not_read));
    html::page(&Page {
        title: "usnet report",
        subtitle: &subtitle.collect::<Vec<_>>().join(" · "),
        style: graph::picture::STYLE,
        sections: &sections,
    })
}
