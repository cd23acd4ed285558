//! Edits the XML of a libvirt domain. Everything else stays unchanged, byte for byte: the positions
//! of elements in the text are found, and text is replaced there.

use super::nic::Nic;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::ops::Range;

/// Why a domain cannot be edited. It then must not start, because it would lack network interfaces.
#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    #[error("the domain is not well-formed XML near byte {position}: {message}")]
    Malformed { position: usize, message: String },
    /// An element that every domain has once is missing, or exists several times.
    #[error("the XML has {count} elements {element}, where the domain of a virtual machine has one")]
    Count { element: &'static str, count: usize },
    /// Two interfaces have the alias of the same network.
    #[error("the domain has more than one interface with the alias {0:?}")]
    AliasTwice(String),
}

/// An element in the text.
#[derive(Debug, Clone)]
struct Element {
    /// The names of the elements from the root to this one, joined with `/`.
    path: String,
    /// The whole element.
    span: Range<usize>,
    /// The start tag, or the whole element if it has no end tag.
    tag: Range<usize>,
    /// Where the end tag begins, if there is one.
    end_tag: Option<usize>,
    attributes: Vec<(String, String)>,
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn contains(&self, other: &Self) -> bool {
        self.span.start < other.span.start && other.span.end <= self.span.end
    }
}

/// Adds these network interfaces to a domain, and shares its memory with the engine. An existing
/// interface with the same alias is replaced. A second edit changes nothing.
pub fn with_nics(xml: &str, nics: &[Nic]) -> Result<String, DomainError> {
    let elements = elements(xml)?;
    if nics.is_empty() {
        return Ok(xml.to_owned());
    }
    one(&elements, "domain")?;
    let devices = one(&elements, "domain/devices")?;
    let mut edits = Vec::new();
    let mut added = String::new();
    for nic in nics {
        match interface(&elements, &nic.alias())? {
            // The PCI address is kept, so that the guest names the device as before.
            Some(old) => {
                let address = child(&elements, old, "domain/devices/interface/address");
                let kept = address.and_then(|address| xml.get(address.span.clone())).unwrap_or_default();
                edits.push((old.span.clone(), nic.element(kept)));
            }
            None => added.push_str(&nic.element("")),
        }
    }
    if !added.is_empty() {
        edits.push(append(xml, devices, "devices", &added));
    }
    share_memory(xml, &elements, devices, &mut edits)?;
    Ok(apply(xml, edits))
}

fn interface<'e>(elements: &'e [Element], alias: &str) -> Result<Option<&'e Element>, DomainError> {
    let is_it = |interface: &&Element| {
        child(elements, interface, "domain/devices/interface/alias").and_then(|found| found.attribute("name"))
            == Some(alias)
    };
    let mut found = elements.iter().filter(|element| element.path == "domain/devices/interface").filter(is_it);
    match (found.next(), found.next()) {
        (first, None) => Ok(first),
        _ => Err(DomainError::AliasTwice(alias.to_owned())),
    }
}

/// Shares the guest's memory. The engine maps it, so that QEMU must allocate it from a file whose
/// descriptor it can pass.
fn share_memory(
    xml: &str,
    elements: &[Element],
    devices: &Element,
    edits: &mut Vec<(Range<usize>, String)>,
) -> Result<(), DomainError> {
    const SOURCE: &str = "<source type='memfd'/>";
    const ACCESS: &str = "<access mode='shared'/>";
    let backings = elements.iter().filter(|element| element.path == "domain/memoryBacking").count();
    if backings == 0 {
        let before = devices.span.start..devices.span.start;
        edits.push((before, format!("<memoryBacking>{SOURCE}{ACCESS}</memoryBacking>")));
    } else {
        let backing = one(elements, "domain/memoryBacking")?;
        let mut missing = String::new();
        for (path, wanted, attribute, accepted) in [
            ("domain/memoryBacking/source", SOURCE, "type", ["memfd", "file"].as_slice()),
            ("domain/memoryBacking/access", ACCESS, "mode", ["shared"].as_slice()),
        ] {
            match child(elements, backing, path) {
                None => missing.push_str(wanted),
                Some(found) if found.attribute(attribute).is_some_and(|value| accepted.contains(&value)) => {}
                Some(found) => edits.push((found.span.clone(), wanted.to_owned())),
            }
        }
        if !missing.is_empty() {
            edits.push(append(xml, backing, "memoryBacking", &missing));
        }
    }
    let cells = elements.iter().filter(|element| element.path == "domain/cpu/numa/cell");
    for cell in cells.filter(|cell| cell.attribute("memAccess") != Some("shared")) {
        edits.push((cell.tag.clone(), shared_cell(cell)));
    }
    Ok(())
}

/// Returns the start tag of a NUMA cell with shared access, because a cell overrides the setting of
/// the domain.
fn shared_cell(cell: &Element) -> String {
    let others = cell.attributes.iter().filter(|(key, _)| key != "memAccess");
    let mut tag = BytesStart::new("cell");
    tag.extend_attributes(others.map(|(key, value)| (key.as_str(), value.as_str())));
    tag.push_attribute(("memAccess", "shared"));
    let close = if cell.end_tag.is_some() { ">" } else { "/>" };
    format!("<{}{close}", &*tag)
}

/// Appends text to the content of an element.
fn append(xml: &str, element: &Element, name: &str, text: &str) -> (Range<usize>, String) {
    match element.end_tag {
        Some(end) => (end..end, text.to_owned()),
        None => {
            let tag = xml.get(element.tag.clone()).unwrap_or_default();
            let open = tag.trim_end_matches('>').trim_end_matches('/').trim_end();
            (element.span.clone(), format!("{open}>{text}</{name}>"))
        }
    }
}

/// Applies edits, which do not overlap. An insertion comes before a replacement at the same
/// position.
fn apply(xml: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut edited, mut position) = (String::with_capacity(xml.len() + 1024), 0);
    for (range, text) in edits {
        edited.push_str(xml.get(position..range.start).unwrap_or_default());
        edited.push_str(&text);
        position = range.end;
    }
    edited.push_str(xml.get(position..).unwrap_or_default());
    edited
}

fn one<'e>(elements: &'e [Element], path: &'static str) -> Result<&'e Element, DomainError> {
    let mut found = elements.iter().filter(|element| element.path == path);
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (first, _) => {
            let count = first.iter().count() + elements.iter().filter(|element| element.path == path).skip(1).count();
            Err(DomainError::Count { element: path, count })
        }
    }
}

fn child<'e>(elements: &'e [Element], parent: &Element, path: &str) -> Option<&'e Element> {
    elements.iter().find(|element| element.path == path && parent.contains(element))
}

/// Returns all elements, each before its children.
fn elements(xml: &str) -> Result<Vec<Element>, DomainError> {
    let mut reader = Reader::from_str(xml);
    let (mut all, mut open): (Vec<Element>, Vec<usize>) = (Vec::new(), Vec::new());
    loop {
        let start = position(&reader);
        let event = reader.read_event().map_err(|error| malformed(start, &error))?;
        let end = position(&reader);
        match event {
            Event::Start(tag) => {
                open.push(all.len());
                all.push(element(&all, &open, &tag, start..end)?);
            }
            Event::Empty(tag) => {
                open.push(all.len());
                all.push(element(&all, &open, &tag, start..end)?);
                open.pop();
            }
            Event::End(_) => {
                if let Some(ended) = open.pop().and_then(|index| all.get_mut(index)) {
                    ended.span.end = end;
                    ended.end_tag = Some(start);
                }
            }
            Event::Eof if open.is_empty() => return Ok(all),
            Event::Eof => return Err(malformed(start, &"it ends within an element")),
            _ => {}
        }
    }
}

fn element(all: &[Element], open: &[usize], tag: &BytesStart<'_>, span: Range<usize>) -> Result<Element, DomainError> {
    let parent = open.iter().rev().nth(1).and_then(|index| all.get(*index));
    let name = tag.name().as_ref().to_owned();
    let path = parent.map_or_else(|| name.clone(), |parent| format!("{}/{name}", parent.path));
    let mut attributes = Vec::new();
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| malformed(span.start, &error))?;
        let value =
            quick_xml::escape::unescape(&attribute.value).map_err(|error| malformed(span.start, &error))?.into_owned();
        attributes.push((attribute.key.as_ref().to_owned(), value));
    }
    Ok(Element { path, tag: span.clone(), span, end_tag: None, attributes })
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

fn malformed(position: usize, error: &impl ToString) -> DomainError {
    DomainError::Malformed { position, message: error.to_string() }
}

#[cfg(test)]
mod tests;
