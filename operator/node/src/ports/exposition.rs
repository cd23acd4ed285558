//! The metrics of ports in the text format of Prometheus. Names and labels are part of the
//! interface: dashboards use them.
//!
//! The text is not written by a registry, which would keep the series of pods that are gone, and
//! build each label of each series again.

use std::collections::BTreeMap;
use std::fmt::Write;
use usnet_crds::EngineKind;
use usnet_node_output::ports::{Port, Reading};

/// A counter that each port has.
struct Counter {
    name: &'static str,
    help: &'static str,
    value: fn(&Port) -> Option<u64>,
}

const COUNTERS: [Counter; 8] = [
    Counter {
        name: "usnet_port_receive_packets_total",
        help: "Frames that the pod received from the engine.",
        value: |port| port.counters.receive.packets,
    },
    Counter {
        name: "usnet_port_receive_bytes_total",
        help: "Bytes of the frames for the pod.",
        value: |port| port.counters.receive.bytes,
    },
    Counter {
        name: "usnet_port_receive_dropped_total",
        help: "Frames for the pod that it did not take, for example because its ring was full.",
        value: |port| port.counters.receive.dropped,
    },
    Counter {
        name: "usnet_port_receive_errors_total",
        help: "Frames for the pod that could not be sent to it, for example because it was not connected.",
        value: |port| port.counters.receive.errors,
    },
    Counter {
        name: "usnet_port_transmit_packets_total",
        help: "Frames that the pod sent to the engine.",
        value: |port| port.counters.transmit.packets,
    },
    Counter {
        name: "usnet_port_transmit_bytes_total",
        help: "Bytes of the frames that the pod sent.",
        value: |port| port.counters.transmit.bytes,
    },
    Counter {
        name: "usnet_port_transmit_dropped_total",
        help: "Frames of the pod that the engine did not take or forward.",
        value: |port| port.counters.transmit.dropped,
    },
    Counter {
        name: "usnet_port_transmit_errors_total",
        help: "Frames of the pod that were malformed.",
        value: |port| port.counters.transmit.errors,
    },
];

/// Returns the text for all ports, and the numbers of failed readings of each engine.
pub(super) fn text(node: &str, reading: &Reading, failures: &BTreeMap<EngineKind, u64>) -> String {
    let labels: Vec<String> = reading.ports.iter().map(|port| labels(node, port)).collect();
    // 1800 bytes are the average of a port.
    let mut text = String::with_capacity(2048 + 1800 * labels.len());
    for Counter { name, help, value } in COUNTERS {
        head(&mut text, name, "counter", help);
        for (port, labels) in reading.ports.iter().zip(&labels) {
            if let Some(value) = value(port) {
                let _infallible = writeln!(text, "{name}{{{labels}}} {value}");
            }
        }
    }
    let name = "usnet_port_drop_cause_total";
    head(
        &mut text,
        name,
        "counter",
        "Dropped frames by cause, in the words of the engine. Its rx is what the pod sends.",
    );
    for (port, labels) in reading.ports.iter().zip(&labels) {
        for (cause, count) in &port.counters.drop_causes {
            let _infallible = writeln!(text, "{name}{{{labels},cause=\"{}\"}} {count}", escaped(cause));
        }
    }
    let name = "usnet_port_connected";
    head(&mut text, name, "gauge", "1 while the program of the pod is connected to the port, else 0.");
    for (port, labels) in reading.ports.iter().zip(&labels) {
        let _infallible = writeln!(text, "{name}{{{labels}}} {}", u8::from(port.counters.connected));
    }
    let name = "usnet_port_info";
    head(&mut text, name, "gauge", "1 for each port, with its constant properties.");
    for (port, labels) in reading.ports.iter().zip(&labels) {
        let (engine, port_type, mac) = (port.engine.traits().api_name, &port.port_type, escaped(&port.mac));
        let _infallible = writeln!(text, "{name}{{{labels},engine=\"{engine}\",type=\"{port_type}\",mac=\"{mac}\"}} 1");
    }
    let name = "usnet_port_scrape_errors_total";
    head(&mut text, name, "counter", "Readings of an engine's counters that failed.");
    for engine in EngineKind::ALL {
        let count = failures.get(&engine).copied().unwrap_or_default();
        let _infallible = writeln!(text, "{name}{{engine=\"{}\"}} {count}", engine.traits().api_name);
    }
    text
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _infallible = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn labels(node: &str, port: &Port) -> String {
    let Port { namespace, pod, interface, network, .. } = port;
    let labels = [("namespace", namespace), ("pod", pod), ("interface", interface), ("network", network)];
    let mut text = String::new();
    for (name, value) in labels {
        let _infallible = write!(text, "{name}=\"{}\",", escaped(value));
    }
    let _infallible = write!(text, "node=\"{}\"", escaped(node));
    text
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
