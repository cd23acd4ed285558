//! Edits the XML of a domain of libvirt. What is not changed stays as it is, byte for byte: the
//! positions of elements in the text are found, and text is replaced there.

use super::nic::Nic;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::ops::Range;

/// Why a domain cannot be edited. It must not start without its network interfaces.
#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    /// It is no XML.
    #[error("the domain is not well-formed XML near byte {position}: {message}")]
    Malformed {
        /// Where.
        position: usize,
        /// What the parser said.
        message: String,
    },
    /// An element that every domain has is not there, or is there twice.
    #[error("the XML has {count} elements {element}, where the domain of a virtual machine has one")]
    Count {
        /// Its path.
        element: &'static str,
        /// How many there are.
        count: usize,
    },
    /// Two interfaces claim to be that of one network.
    #[error("the domain has more than one interface with the alias {0:?}")]
    AliasTwice(String),
}

/// An element in the text.
#[derive(Debug, Clone)]
struct Element {
    /// Its names from the root on, joined with `/`.
    path: String,
    /// The whole of it.
    span: Range<usize>,
    /// Its start tag, or all of it if it has no end tag.
    tag: Range<usize>,
    /// Where its end tag begins; none if it has none.
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

/// The domain with these network interfaces, whose memory is shared with the engine. An interface
/// with the alias of one of them is replaced. An edited domain is not changed again.
///
/// # Errors
/// When it is not the domain of a virtual machine.
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
            // The address keeps the guest's name of the device.
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

/// The engine maps the memory of the guest, which QEMU must have from a file that it can pass.
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

/// The start tag of a NUMA cell, which may override the access of the domain's memory.
fn shared_cell(cell: &Element) -> String {
    let others = cell.attributes.iter().filter(|(key, _)| key != "memAccess");
    let mut tag = BytesStart::new("cell");
    tag.extend_attributes(others.map(|(key, value)| (key.as_str(), value.as_str())));
    tag.push_attribute(("memAccess", "shared"));
    let close = if cell.end_tag.is_some() { ">" } else { "/>" };
    format!("<{}{close}", &*tag)
}

/// Text as the last content of an element.
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

/// Edits do not overlap; an insertion comes before a replacement that begins there.
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

/// All elements, each before those in it.
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
#[path = "domain_tests.rs"]
mod tests;
