//! The blocking client against a real VPP.

use crate::common::{Vpp, all_interfaces, interfaces, loopback};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::*;
use usnet_vpp::wire::{Envelope, FixedText, FrameDecoder, Reader, Secret, Text, read_envelope, write_message};
use usnet_vpp::{Api, Batch, Error, Message, Remedy, ReplyError, ReturnCode};

#[test]
fn vpp_knows_every_message_of_the_table() {
    let Some(vpp) = Vpp::start() else { return };
    let mut stream = UnixStream::connect(vpp.socket()).expect("connect");
    let mut bytes = Vec::new();
    let create = SockclntCreate { name: FixedText::new("table").expect("fits") };
    write_message(&mut bytes, SOCKCLNT_CREATE_ID, Envelope::default(), &create);
    stream.write_all(&bytes).expect("write");
    let mut decoder = FrameDecoder::default();
    let message = loop {
        let mut buffer = [0; 4096];
        let bytes = stream.read(&mut buffer).expect("read");
        decoder.receive(&buffer[..bytes]);
        if let Some(message) = decoder.next_message().expect("a stream of VPP") {
            break message;
        }
    };
    let mut reader = Reader::new(&message);
    read_envelope(SockclntCreateReply::HEADER, &mut reader).expect("an envelope");
    let reply = SockclntCreateReply::decode(&mut reader).expect("the table");
    let entries = &reply.message_table.0;
    let known: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let missing: Vec<&str> = all().map(|message| message.name_crc).filter(|name| !known.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn version_process_and_command_line() {
    let Some(vpp) = Vpp::start() else { return };
    let mut client = vpp.client();
    let mut batch = Batch::new();
    let version = batch.request(ShowVersion {});
    let ping = batch.request(ControlPing {});
    let command = batch.request(CliInband { cmd: Text::from("show version") });
    // This is how code for any `Api` sends.
    let mut sending = pin!(Api::send(&mut client, &batch));
    let Poll::Ready(answers) = sending.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("a blocking client has nothing to wait for");
    };
    let answers = answers.expect("answers");
    let version = answers.reply(version).expect("a version");
    assert_eq!((version.program.as_str(), answers.reply(ping).expect("pong").vpe_pid), ("vpe", vpp.pid()));
    let observed = answers.reply(command).expect("text").reply;
    assert!(observed.as_str().contains(version.version.as_str()), "{observed:?}");
}

/// Creates a memif with id 3 on socket id 7, after a refused one.
fn create_memif(client: &mut Client, path: &str) -> u32 {
    let mut batch = Batch::new();
    let socket_filename = Text::from(path);
    let socket = batch.request(MemifSocketFilenameAddDelV2 { is_add: true, socket_id: 7, socket_filename });
    let bad = batch.request(MemifCreateV2 { socket_id: 7, ring_size: 1000, ..MemifCreateV2::default() });
    let secret = Secret::new("s3cret").expect("fits");
    let good = batch.request(MemifCreateV2 { socket_id: 7, id: 3, secret, ..MemifCreateV2::default() });
    let answers = client.send(&batch).expect("answers");
    assert_eq!(answers.reply(socket).expect("a socket").socket_id, 7);
    let code = ReturnCode::InvalidArgument;
    assert_eq!(answers.reply(bad), Err(ReplyError::Refused { message: "memif_create_v2", code }));
    answers.reply(good).expect("a memif").sw_if_index
}

#[test]
fn created_memif_is_read_back() {
    let Some(vpp) = Vpp::start() else { return };
    let mut client = vpp.client();
    let path = vpp.folder().join("memif.sock").display().to_string();
    let sw_if_index = create_memif(&mut client, &path);
    let tag = FixedText::new("t".repeat(63)).expect("fits");
    let mut batch = Batch::new();
    batch.request(SwInterfaceTagAddDel { is_add: true, sw_if_index, tag: tag.clone() });
    batch.request(HwInterfaceSetMtu { sw_if_index, mtu: 1500 });
    batch.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::ADMIN_UP });
    let memifs = batch.dump(MemifDump {});
    let sockets = batch.dump(MemifSocketFilenameDump {});
    let answers = client.send(&batch).expect("answers");
    let memifs = answers.details(memifs).expect("memifs");
    let [memif] = memifs.as_slice() else { panic!("not one memif: {memifs:?}") };
    assert_eq!((memif.id, memif.socket_id, memif.role), (3, 7, MemifRole::Master));
    assert_eq!(memif.flags, IfStatusFlags::ADMIN_UP);
    let sockets = answers.details(sockets).expect("sockets");
    let socket = sockets.iter().find(|socket| socket.socket_id == 7).expect("the socket");
    assert_eq!(socket.socket_filename.as_str(), path);
    let interface = interfaces(&mut client).into_iter().find(|interface| interface.sw_if_index == sw_if_index);
    let interface = interface.expect("the memif");
    assert_eq!((interface.interface_name.as_str(), interface.tag, interface.link_mtu), ("memif7/3", tag, 1500));
}

#[test]
fn created_bridge_domain_is_read_back() {
    let Some(vpp) = Vpp::start() else { return };
    let mut client = vpp.client();
    let bd_tag = FixedText::new("t".repeat(63)).expect("fits");
    let bridge = BridgeDomainAddDelV2 { bd_id: 5, is_add: true, bd_tag, ..BridgeDomainAddDelV2::default() };
    let mut batch = Batch::new();
    batch.request(BridgeDomainAddDelV2 { mac_age: 3, learn: true, ..bridge.clone() });
    let taken = batch.request(bridge.clone());
    let member = batch.request(CreateLoopbackInstance::default());
    let enter =
        SwInterfaceSetL2Bridge { rx_sw_if_index: 1, bd_id: 5, enable: true, ..SwInterfaceSetL2Bridge::default() };
    batch.request(enter);
    let flags = batch.request(BridgeFlags { bd_id: 5, is_set: true, flags: BdFlags::FLOOD | BdFlags::FWD });
    let bridges = batch.dump(BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE });
    let answers = client.send(&batch).expect("answers");
    assert_eq!(answers.reply(taken).map_err(|error| error.code()), Err(Some(ReturnCode::BdAlreadyExists)));
    assert_eq!(answers.reply(member).map(|reply| reply.sw_if_index), Ok(1));
    answers.reply(flags).expect("flags");
    let bridges = answers.details(bridges).expect("bridge domains");
    let found = bridges.iter().find(|found| found.bd_id == 5).expect("the bridge domain");
    assert_eq!((found.mac_age, found.learn, found.flood, &found.bd_tag), (3, true, true, &bridge.bd_tag));
    let members: Vec<u32> = found.sw_if_details.iter().map(|member| member.sw_if_index).collect();
    assert_eq!(members, [1]);
}

#[test]
fn vhost_user_interface_is_created_and_deleted() {
    let Some(vpp) = Vpp::start() else { return };
    let mut client = vpp.client();
    let path = vpp.folder().join("vhost.sock");
    let mut batch = Batch::new();
    let sock_filename = FixedText::new(path.display().to_string()).expect("fits");
    let created = batch.request(CreateVhostUserIfV2 {
        is_server: true,
        sock_filename: sock_filename.clone(),
        ..CreateVhostUserIfV2::default()
    });
    let dump = batch.dump(SwInterfaceVhostUserDump { sw_if_index: NO_INTERFACE });
    let answers = client.send(&batch).expect("answers");
    let sw_if_index = answers.reply(created).expect("an interface").sw_if_index;
    let found = answers.details(dump).expect("details");
    let [found] = found.as_slice() else { panic!("not one: {found:?}") };
    assert_eq!((found.sw_if_index, found.is_server, &found.sock_filename), (sw_if_index, true, &sock_filename));
    assert!(path.exists());
    let mut batch = Batch::new();
    let deleted = batch.request(DeleteVhostUserIf { sw_if_index });
    let again = batch.request(DeleteVhostUserIf { sw_if_index });
    let answers = client.send(&batch).expect("answers");
    answers.reply(deleted).expect("deleted");
    assert_eq!(answers.reply(again).map_err(|error| error.code()), Err(Some(ReturnCode::InvalidSwIfIndex)));
    assert!(!path.exists());
}

/// The requests, and the answers, are far more than the socket buffers hold.
#[test]
fn thousands_of_requests_in_one_batch() {
    const LOOPBACKS: u32 = 2000;
    let Some(vpp) = Vpp::start() else { return };
    let mut client = vpp.client();
    let mut batch = Batch::new();
    let created: Vec<_> = (0..LOOPBACKS).map(|_| batch.request(CreateLoopbackInstance::default())).collect();
    let dumps: Vec<_> = (0..20).map(|_| batch.dump(all_interfaces())).collect();
    let commands: Vec<_> = (0..20).map(|_| batch.request(CliInband { cmd: Text::from("show interface") })).collect();
    let answers = client.send(&batch).expect("answers");
    let mut indexes: Vec<u32> =
        created.iter().map(|ticket| answers.reply(*ticket).expect("created").sw_if_index).collect();
    indexes.sort_unstable();
    assert_eq!(indexes, (1..=LOOPBACKS).collect::<Vec<u32>>(), "each request got its own reply");
    for dump in dumps {
        assert_eq!(answers.details(dump).expect("interfaces").len(), 1 + LOOPBACKS as usize);
    }
    for command in commands {
        let observed = answers.reply(command).expect("text").reply;
        assert!(observed.as_str().contains(&format!("loop{}", LOOPBACKS - 1)));
    }
}

#[test]
fn client_connects_again_after_vpp_was_killed() {
    let Some(mut vpp) = Vpp::start() else { return };
    let mut client = vpp.client();
    client.send(&loopback()).expect("answers");
    assert_eq!(interfaces(&mut client).len(), 2);
    vpp.kill();
    let error = client.send(&loopback()).expect_err("killed");
    assert!(matches!(error, Error::Closed { .. }), "{error}");
    let error = client.send(&loopback()).expect_err("no server");
    assert!(matches!(error, Error::Connect { .. }), "{error}");
    vpp.start_again();
    assert_eq!(interfaces(&mut client).len(), 1, "a new VPP is empty");
}

#[test]
fn plugin_that_is_not_loaded_is_named() {
    let Some(vpp) = Vpp::start_without(&["memif_plugin.so"]) else {
        return;
    };
    let mut client = vpp.client();
    assert!(!client.supports::<MemifCreateV2>() && client.supports::<BridgeDomainAddDelV2>());
    let mut batch = loopback();
    batch.request(MemifCreateV2::default());
    match client.send(&batch).expect_err("no memif") {
        Error::Unsupported { message: "memif_create_v2", remedy: Remedy::LoadPlugin("memif_plugin.so"), .. } => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(interfaces(&mut client).len(), 1, "nothing was sent, and the connection is good");
    assert_eq!(client.socket(), vpp.socket());
}

/// VPP hangs if a client closes its end while `errno` is still EAGAIN from a reply that did not
/// fit.
#[test]
fn vpp_keeps_running_after_clients_that_read_many_interfaces() {
    const LOOPBACKS: u32 = 500;
    const CLIENTS: u32 = 50;
    let Some(vpp) = Vpp::start() else { return };
    let mut batch = Batch::new();
    for _ in 0..LOOPBACKS {
        batch.request(CreateLoopbackInstance::default());
    }
    vpp.client().send(&batch).expect("answers");
    for _ in 0..CLIENTS {
        assert_eq!(interfaces(&mut vpp.client()).len(), 1 + LOOPBACKS as usize);
    }
}
