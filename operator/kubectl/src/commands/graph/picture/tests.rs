use super::boxes::{Label, Picture, Rect, Wire};
use super::layout::layout;
use super::svg::{STYLE, document};
use crate::commands::graph::report::{Graph, graph};
use crate::commands::graph::testing::{large, small};
use quick_xml::Reader;
use quick_xml::events::Event;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

fn graphs() -> [Graph; 3] {
    [graph(&small(), None), graph(&large(7), None), graph(&large(1), None)]
}

fn overlap(one: &Rect, other: &Rect) -> bool {
    one.x < other.right() && other.x < one.right() && one.y < other.bottom() && other.y < one.bottom()
}

fn is_within(inner: &Rect, outer: &Rect) -> bool {
    inner.x >= outer.x && inner.y >= outer.y && inner.right() <= outer.right() && inner.bottom() <= outer.bottom()
}

/// The boxes in the frames, by frame.
fn boxes(picture: &Picture) -> Vec<(Rect, Vec<Rect>)> {
    let boxes = picture.frames.iter().map(|frame| {
        let plain = frame.nics.iter().chain(&frame.bridges).map(|plain| plain.rect);
        (frame.rect, plain.chain(frame.pods.iter().map(|pod| pod.rect)).collect())
    });
    boxes.collect()
}

#[test]
fn no_box_overlaps_another_one() {
    for graph in graphs() {
        let picture = layout(&graph);
        let whole = Rect { x: 0, y: 0, width: picture.width, height: picture.height };
        let frames: Vec<Rect> = boxes(&picture).into_iter().map(|(frame, _)| frame).collect();
        let all: Vec<Rect> = picture.segments.iter().map(|segment| segment.rect).chain(frames).collect();
        for (index, one) in all.iter().enumerate() {
            assert!(is_within(one, &whole), "{one:?}");
            assert!(all.iter().skip(index + 1).all(|other| !overlap(one, other)), "{one:?}");
        }
        for (frame, inner) in boxes(&picture) {
            for (index, one) in inner.iter().enumerate() {
                assert!(is_within(one, &frame), "{one:?} {frame:?}");
                let other = inner.iter().skip(index + 1).find(|other| overlap(one, other));
                assert!(other.is_none(), "{one:?} {other:?}");
            }
        }
    }
}

#[test]
fn each_pod_is_drawn_once_with_all_its_interfaces() {
    for (graph, snapshot) in [(graph(&small(), None), small()), (graph(&large(1), None), large(1))] {
        let picture = layout(&graph);
        let pods: Vec<_> = picture.frames.iter().flat_map(|frame| &frame.pods).collect();
        let names: BTreeSet<&str> = pods.iter().map(|pod| pod.name.text.as_str()).collect();
        assert_eq!((pods.len(), names.len()), (snapshot.pods.len(), snapshot.pods.len()));
        let ports: usize = pods.iter().map(|pod| pod.ports.len()).sum();
        let interfaces: usize =
            graph.networks.iter().flat_map(|network| &network.nodes).map(|node| node.interfaces.len()).sum();
        assert_eq!(ports, interfaces);
    }
}

/// The straight parts of a wire.
fn parts(wire: &Wire) -> impl Iterator<Item = ((i32, i32), (i32, i32))> + '_ {
    wire.points.windows(2).map(|pair| (pair[0], pair[1]))
}

/// A part of a wire as a box without width.
fn rect_of((one, other): ((i32, i32), (i32, i32))) -> Rect {
    let (x, y) = (one.0.min(other.0), one.1.min(other.1));
    Rect { x, y, width: (one.0 - other.0).abs(), height: (one.1 - other.1).abs() }
}

/// Whether a line passes through a box, and not only along its border.
fn crosses(line: &Rect, rect: &Rect) -> bool {
    line.x < rect.right() && line.right() > rect.x && line.y < rect.bottom() && line.bottom() > rect.y
        || (line.width == 0
            && line.x > rect.x
            && line.x < rect.right()
            && line.y < rect.bottom()
            && line.bottom() > rect.y)
        || (line.height == 0
            && line.y > rect.y
            && line.y < rect.bottom()
            && line.x < rect.right()
            && line.right() > rect.x)
}

#[test]
fn no_line_passes_through_a_box_and_no_two_lines_lie_on_each_other() {
    for graph in [graph(&small(), None), graph(&large(7), None)] {
        let picture = layout(&graph);
        let inner: Vec<Rect> = boxes(&picture).into_iter().flat_map(|(_, inner)| inner).collect();
        let segments: Vec<Rect> = picture.segments.iter().map(|segment| segment.rect).collect();
        let lines: Vec<_> =
            picture.wires.iter().flat_map(|wire| parts(wire).map(|part| (wire.network, rect_of(part)))).collect();
        for (network, line) in &lines {
            assert!(line.width == 0 || line.height == 0, "{network}: {line:?}");
            let crossed = inner.iter().chain(&segments).find(|rect| crosses(line, rect));
            assert!(crossed.is_none(), "network {network}: {line:?} through {crossed:?}");
        }
        for (index, (network, line)) in lines.iter().enumerate() {
            let is_along = |other: &Rect| {
                (line.width == 0
                    && other.width == 0
                    && line.x == other.x
                    && line.y < other.bottom()
                    && other.y < line.bottom())
                    || (line.height == 0
                        && other.height == 0
                        && line.y == other.y
                        && line.x < other.right()
                        && other.x < line.right())
            };
            let along = lines.iter().skip(index + 1).find(|(other, rect)| other != network && is_along(rect));
            assert!(along.is_none(), "network {network}: {line:?} on {along:?}");
        }
    }
}

/// Whether a point is on a wire.
fn touches(wire: &Wire, (x, y): (i32, i32)) -> bool {
    parts(wire).any(|part| {
        let rect = rect_of(part);
        (rect.x..=rect.right()).contains(&x) && (rect.y..=rect.bottom()).contains(&y)
    })
}

#[test]
fn each_bridge_of_a_network_that_connects_nodes_is_connected_to_its_row() {
    for graph in graphs() {
        let picture = layout(&graph);
        let mut wires: BTreeMap<usize, Vec<&Wire>> = BTreeMap::new();
        for wire in &picture.wires {
            wires.entry(wire.network).or_default().push(wire);
        }
        for segment in picture.segments.iter().filter(|segment| graph.networks[segment.network].connects_nodes) {
            let own = wires.get(&segment.network).cloned().unwrap_or_default();
            let begin = (segment.rect.right(), segment.rect.y + segment.rect.height / 2);
            let mut reached: Vec<&Wire> = own.iter().copied().filter(|wire| touches(wire, begin)).collect();
            loop {
                let is_new = |wire: &&&Wire| {
                    !reached.contains(*wire)
                        && reached.iter().any(|known| {
                            wire.points.iter().any(|point| touches(known, *point))
                                || known.points.iter().any(|point| touches(wire, *point))
                        })
                };
                let more: Vec<&Wire> = own.iter().filter(is_new).copied().collect();
                if more.is_empty() {
                    break;
                }
                reached.extend(more);
            }
            for frame in &picture.frames {
                for bridge in frame.bridges.iter().filter(|bridge| bridge.network == Some(segment.network)) {
                    // Behind a NIC a line begins at the NIC.
                    let nic = frame
                        .nics
                        .iter()
                        .find(|nic| nic.rect.y <= bridge.rect.y && nic.rect.bottom() >= bridge.rect.bottom());
                    let left = nic.map_or(bridge.rect.x, |nic| nic.rect.x);
                    let is_reached = reached.iter().any(|wire| touches(wire, (left, bridge.rect.y + 15)));
                    assert!(is_reached, "{:?} of {}", bridge.rect, segment.name.text);
                }
            }
        }
    }
}

#[test]
fn labels_are_within_their_boxes() {
    for graph in graphs() {
        let picture = layout(&graph);
        let check = |label: &Label, rect: &Rect, is_at_end: bool| {
            let width = label.style.font().width(&label.text);
            let (left, right) = if is_at_end { (label.x - width, label.x) } else { (label.x, label.x + width) };
            let is_inside = left >= rect.x && right <= rect.right() && label.y > rect.y && label.y < rect.bottom();
            assert!(label.text.is_empty() || is_inside, "{label:?} {rect:?}");
        };
        for segment in &picture.segments {
            check(&segment.name, &segment.rect, false);
            check(&segment.nodes, &segment.rect, true);
            segment.details.iter().for_each(|label| check(label, &segment.rect, false));
        }
        for frame in &picture.frames {
            check(&frame.name, &frame.rect, false);
            check(&frame.engines, &frame.rect, true);
            frame.notes.iter().for_each(|label| check(label, &frame.rect, false));
            for plain in frame.nics.iter().chain(&frame.bridges) {
                plain.labels.iter().for_each(|label| check(label, &plain.rect, false));
            }
            for pod in &frame.pods {
                check(&pod.name, &pod.rect, false);
                pod.ports.iter().for_each(|port| {
                    check(&port.interface, &pod.rect, false);
                    check(&port.state, &pod.rect, true);
                });
            }
        }
    }
}

/// Replaces all texts of a graph by hostile ones.
fn hostile() -> Graph {
    let evil =
        |text: &str| format!("{text}\"'><script src=\"http://evil\">alert(1)</script>]]>&\u{1b}[2J\u{0}\n\u{202e}");
    let mut graph = graph(&small(), None);
    for network in &mut graph.networks {
        for text in [&mut network.name, &mut network.description, &mut network.topology, &mut network.bridge] {
            *text = evil(text);
        }
        for node in &mut network.nodes {
            node.reason = evil("Reason: ");
            node.state = evil("Failed");
            for attached in &mut node.interfaces {
                attached.pod = evil(&attached.pod);
                attached.interface = evil(&attached.interface);
                attached.addresses.push(evil("address"));
            }
        }
    }
    for node in &mut graph.nodes {
        node.engines.push(evil("engine"));
        node.problems.push(evil("Problem"));
        for uplink in &mut node.uplinks {
            uplink.nic = evil("nic");
            uplink.problem = evil("Failed: ");
        }
    }
    graph
}

/// Checks that a picture is XML with nothing but elements and attributes that draw.
fn check_svg(text: &str) {
    let elements = ["svg", "style", "g", "rect", "text", "title", "path", "circle"];
    let attributes = [
        "xmlns",
        "class",
        "width",
        "height",
        "viewBox",
        "role",
        "aria-label",
        "x",
        "y",
        "cx",
        "cy",
        "r",
        "rx",
        "d",
        "data-n",
    ];
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) | Event::Empty(tag) => {
                let name = tag.name().as_ref().to_owned();
                assert!(elements.contains(&name.as_str()), "{name}");
                for attribute in tag.attributes() {
                    let attribute = attribute.unwrap();
                    let key = attribute.key.as_ref().to_owned();
                    assert!(attributes.contains(&key.as_str()), "{name} {key}");
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(!text.chars().any(|character| character.is_control() && character != '\n'), "control characters");
}

#[test]
fn hostile_names_draw_nothing_and_load_nothing() {
    let text = document(&hostile());
    check_svg(&text);
    assert!(text.contains("&lt;script") && !text.contains("<script"), "{text}");
    for graph in graphs() {
        let text = document(&graph);
        check_svg(&text);
        let own = text.replacen("http://www.w3.org/2000/svg", "", 1);
        for part in ["http://", "https://", "url(", "@import", "href", "src="] {
            assert!(!own.contains(part), "{part}");
        }
    }
    assert!(!STYLE.contains(['<', '&']), "a style in XML");
}

#[test]
fn a_large_cluster_is_drawn() {
    for every in [7, 1] {
        let snapshot = large(every);
        let start = Instant::now();
        let graph = graph(&snapshot, None);
        let counted = start.elapsed();
        let text = document(&graph);
        let picture = layout(&graph);
        println!(
            "200 nodes, 50 networks, {} pods: graph in {:.2} s, SVG of {} KB, {} x {} pixels in {:.2} s",
            snapshot.pods.len(),
            counted.as_secs_f64(),
            text.len() / 1000,
            picture.width,
            picture.height,
            (start.elapsed() - counted).as_secs_f64()
        );
        assert!(text.len() < 5_000_000, "{}", text.len());
        assert!(picture.width < 3 * picture.height && picture.height < 3 * picture.width, "a readable shape");
    }
}
