//! Connections: which messages are answered in which order, and which are not.

use crate::raw::Raw;
use crate::{Fixture, on_each};
use usnet_vpp::Batch;
use usnet_vpp::messages::{
    ControlPing, ControlPingReply, CreateLoopbackInstance, CreateLoopbackInstanceReply, NO_INTERFACE, ShowVersion,
    ShowVersionReply, SockclntDelete, SockclntDeleteReply, SwInterfaceDetails, SwInterfaceDump, SwInterfaceSetFlags,
};
use usnet_vpp::wire::Envelope;

#[test]
fn answers_come_in_the_order_of_requests() {
    on_each(|vpp| {
        let mut raw = Raw::connect(&vpp.vpp);
        raw.send(1, &CreateLoopbackInstance::default());
        raw.send(2, &SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() });
        raw.send(3, &ControlPing {});
        raw.send(4, &ShowVersion {});
        assert_eq!(raw.expect::<CreateLoopbackInstanceReply>().0.context, 1);
        for name in ["local0", "loop0"] {
            let (envelope, details) = raw.expect::<SwInterfaceDetails>();
            assert_eq!((envelope.context, details.interface_name.as_str()), (2, name));
        }
        let (envelope, ping) = raw.expect::<ControlPingReply>();
        assert_eq!((envelope.context, ping.client_index), (3, 0));
        assert_eq!(ping.vpe_pid, vpp.vpp.pid().unwrap_or_else(std::process::id));
        let (envelope, version) = raw.expect::<ShowVersionReply>();
        assert_eq!((envelope.context, version.program.as_str()), (4, "vpe"));
    });
}

#[test]
fn what_is_not_understood_is_not_answered() {
    on_each(|vpp| {
        let mut raw = Raw::connect(&vpp.vpp);
        raw.send_as(Envelope { client_index: 0, context: 1 }, &ShowVersion {});
        raw.send_as(Envelope { client_index: 1, context: 2 }, &ShowVersion {});
        raw.send_fields::<SwInterfaceSetFlags>(3, &[0, 0]);
        raw.write(&[0; 16]);
        raw.send_fields::<ShowVersion>(4, &[1, 2, 3]);
        let (envelope, _) = raw.expect::<ShowVersionReply>();
        assert_eq!(envelope.context, 4, "more than is needed is no error, and nothing was answered before");
    });
}

#[test]
fn client_that_says_goodbye_is_answered_and_disconnected() {
    on_each(|vpp| {
        let mut raw = Raw::connect(&vpp.vpp);
        raw.send(1, &ShowVersion {});
        raw.expect::<ShowVersionReply>();
        let index = raw.index;
        raw.send(2, &SockclntDelete { index });
        let (envelope, reply) = raw.expect::<SockclntDeleteReply>();
        assert_eq!((envelope.context, reply.response), (2, 1));
        assert_eq!(raw.next(), None);
    });
}

#[test]
fn goodbye_of_nobody_is_refused() {
    on_each(|vpp| {
        let mut raw = Raw::connect(&vpp.vpp);
        raw.send(1, &SockclntDelete { index: 0x8000_0777 });
        assert_eq!(raw.expect::<SockclntDeleteReply>().1.response, -1);
        raw.send(2, &ShowVersion {});
        raw.expect::<ShowVersionReply>();
    });
}

#[test]
fn several_clients_see_the_same_vpp() {
    on_each(|vpp| {
        let mut others = [Raw::connect(&vpp.vpp), Raw::connect(&vpp.vpp)];
        for (expected, other) in (1..).zip(&mut others) {
            other.send(7, &CreateLoopbackInstance::default());
            assert_eq!(other.expect::<CreateLoopbackInstanceReply>().1.sw_if_index, expected);
        }
        let [first, second] = &others;
        assert_ne!(first.index, second.index);
        assert_eq!(vpp.interfaces().len(), 3);
    });
}

#[test]
fn thousand_requests_in_one_batch() {
    on_each(|vpp| {
        let mut batch = Batch::new();
        let made: Vec<_> = (0..1000).map(|_| batch.request(CreateLoopbackInstance::default())).collect();
        let dump = batch.dump(SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() });
        let answers = vpp.client.send(&batch).expect("answers");
        let made = made.into_iter().map(|ticket| answers.reply(ticket).expect("loopback").sw_if_index);
        assert!(made.eq(1..=1000));
        assert_eq!(answers.details(dump).expect("details").len(), 1001);
    });
}

#[test]
fn vpp_that_starts_again_is_empty() {
    on_each(|vpp| {
        vpp.loopback();
        let path = vpp.path("m.sock");
        vpp.add_socket(5, &path).expect("socket");
        vpp.create_memif(5, 0).expect("memif");
        vpp.vpp.kill().expect("kill");
        assert!(!vpp.vpp.is_running() && vpp.vpp.client().is_err());
        assert!(vpp.exists("api.sock") && vpp.exists("m.sock"), "files stay");
        vpp.vpp.start_again().expect("start");
        let mut fresh = vpp.vpp.client().expect("client");
        std::mem::swap(&mut vpp.client, &mut fresh);
        assert_eq!((vpp.interfaces().len(), vpp.memifs().len()), (1, 0));
        vpp.add_socket(5, &path).expect("socket");
        vpp.create_memif(5, 0).expect("the file that was left is no obstacle");
    });
}

#[test]
fn two_vpps_are_apart() {
    on_each(|vpp| {
        let mut other = Fixture::start(vpp.vpp.kind());
        assert_ne!(other.vpp.folder(), vpp.vpp.folder());
        vpp.loopback();
        assert_eq!(other.interfaces().len(), 1);
    });
}
