//! A port of Open vSwitch: two transactions as text, and of their replies the few words that
//! matter.

use std::error::Error;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// Creates a port, waits until the switch has it, and returns its uuid.
pub(crate) fn add(database: &str, bridge: &str, name: &str, socket: &str) -> Result<String, Box<dyn Error>> {
    let mut stream = UnixStream::connect(database)?;
    let reply = transact(
        &mut stream,
        &format!(
            r#"{{"op":"wait","table":"Bridge","where":[["name","==","{bridge}"]],"columns":["name"],"until":"==","rows":[{{"name":"{bridge}"}}],"timeout":0}},
{{"op":"insert","table":"Interface","uuid-name":"i","row":{{"name":"{name}","type":"dpdkvhostuserclient","options":["map",[["vhost-server-path","{socket}"]]],"mtu_request":1500}}}},
{{"op":"insert","table":"Port","uuid-name":"p","row":{{"name":"{name}","interfaces":["named-uuid","i"],"external_ids":["map",[["usnet.dev/network","bench"],["owner","{name}"]]]}}}},
{{"op":"mutate","table":"Bridge","where":[["name","==","{bridge}"]],"mutations":[["ports","insert",["named-uuid","p"]]]}},
{{"op":"mutate","table":"Open_vSwitch","where":[],"mutations":[["next_cfg","+=",1]]}},
{{"op":"select","table":"Open_vSwitch","where":[],"columns":["next_cfg"]}}"#
        ),
    )?;
    let port = reply.split("[\"uuid\",\"").nth(2).and_then(|rest| rest.split('"').next()).ok_or("no port")?;
    let next = reply.split("\"next_cfg\":").nth(1).map(digits).ok_or("no number")?;
    let reply = transact(
        &mut stream,
        &format!(
            r#"{{"op":"wait","table":"Open_vSwitch","where":[["cur_cfg","<",{next}]],"columns":["cur_cfg"],"until":"==","rows":[],"timeout":30000}},
{{"op":"select","table":"Interface","where":[["name","==","{name}"]],"columns":["ofport","error"]}}"#
        ),
    )?;
    let number = reply.split("\"ofport\":").nth(1).map(digits).unwrap_or_default();
    if number.is_empty() { Err(format!("the switch has no port: {reply}").into()) } else { Ok(port.to_owned()) }
}

/// Takes a port off its bridge.
pub(crate) fn del(database: &str, bridge: &str, port: &str) -> Result<(), Box<dyn Error>> {
    let mut stream = UnixStream::connect(database)?;
    let reply = transact(
        &mut stream,
        &format!(
            r#"{{"op":"mutate","table":"Bridge","where":[["name","==","{bridge}"],["ports","includes",["uuid","{port}"]]],"mutations":[["ports","delete",["uuid","{port}"]]]}},
{{"op":"mutate","table":"Open_vSwitch","where":[],"mutations":[["next_cfg","+=",1]]}}"#
        ),
    )?;
    if reply.contains("\"count\":1") { Ok(()) } else { Err(format!("no such port: {reply}").into()) }
}

fn digits(text: &str) -> &str {
    text.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default()
}

fn transact(stream: &mut UnixStream, operations: &str) -> Result<String, Box<dyn Error>> {
    let request = format!(r#"{{"id":0,"method":"transact","params":["Open_vSwitch",{operations}]}}"#);
    stream.write_all(request.as_bytes())?;
    let (mut reply, mut part) = (Vec::new(), [0; 4096]);
    // No text in a reply has a brace.
    let (mut open, mut closed) = (0, 0);
    while open == 0 || open > closed {
        let length = stream.read(&mut part)?;
        let received = part.get(..length).filter(|part| !part.is_empty()).ok_or("the database is gone")?;
        open += received.iter().filter(|byte| **byte == b'{').count();
        closed += received.iter().filter(|byte| **byte == b'}').count();
        reply.extend_from_slice(received);
    }
    let reply = String::from_utf8(reply)?;
    if reply.contains("\"details\"") { Err(reply.into()) } else { Ok(reply) }
}
