//! Events of interfaces.

use crate::on_each;
use crate::raw::Raw;
use usnet_vpp::messages::{
    ControlPing, ControlPingReply, DeleteLoopback, IfStatusFlags, MemifDelete, SwInterfaceEvent, SwInterfaceSetFlags,
    SwInterfaceTagAddDel, WantInterfaceEvents, WantInterfaceEventsReply,
};
use usnet_vpp::wire::FixedText;
use usnet_vpp::{Reply, ReturnCode};

const PID: u32 = 42;

impl Raw {
    fn want_events(&mut self, enable_disable: u32) -> ReturnCode {
        self.send(1, &WantInterfaceEvents { enable_disable, pid: PID });
        self.expect::<WantInterfaceEventsReply>().1.retval().into()
    }

    /// Returns interface, flags, and whether the interface was deleted.
    fn event(&mut self) -> (u32, IfStatusFlags, bool) {
        let (envelope, event) = self.expect::<SwInterfaceEvent>();
        assert_eq!((envelope.client_index, event.pid), (self.index, PID));
        (event.sw_if_index, event.flags, event.deleted)
    }
}

#[test]
fn subscribers_get_events_of_what_another_client_does() {
    on_each(|vpp| {
        let mut raw = Raw::connect(&vpp.vpp);
        assert_eq!(raw.want_events(1), ReturnCode::from(0));
        let (none, up) = (IfStatusFlags(0), IfStatusFlags::ADMIN_UP);
        let sw_if_index = vpp.create_memif(0, 0).expect("memif");
        assert_eq!(raw.event(), (sw_if_index, none, false), "made");
        for (flags, reported) in [(up, up), (none, none), (up, up)] {
            vpp.request(SwInterfaceSetFlags { sw_if_index, flags }).expect("flags");
            assert_eq!(raw.event(), (sw_if_index, reported, false));
            // The same flags again cause no event.
            vpp.request(SwInterfaceSetFlags { sw_if_index, flags }).expect("flags");
        }
        let tag = FixedText::new("ours").expect("fits");
        vpp.request(SwInterfaceTagAddDel { is_add: true, sw_if_index, tag }).expect("no event of this");
        vpp.request(MemifDelete { sw_if_index }).expect("delete");
        assert_eq!(raw.event(), (sw_if_index, none, true));
    });
}

#[test]
fn loopback_goes_up_with_its_link() {
    on_each(|vpp| {
        let sw_if_index = vpp.loopback();
        let mut raw = Raw::connect(&vpp.vpp);
        assert_eq!(raw.want_events(1), ReturnCode::from(0));
        vpp.request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::ADMIN_UP }).expect("up");
        assert_eq!(raw.event(), (sw_if_index, IfStatusFlags::ADMIN_UP | IfStatusFlags::LINK_UP, false));
        vpp.request(DeleteLoopback { sw_if_index }).expect("delete");
        assert_eq!(raw.event(), (sw_if_index, IfStatusFlags(0), true));
    });
}

#[test]
fn subscribing_twice_is_refused_and_ending_it_ends_it() {
    on_each(|vpp| {
        let mut raw = Raw::connect(&vpp.vpp);
        let twice = ReturnCode::InvalidRegistration;
        assert_eq!(raw.want_events(0), twice);
        assert_eq!((raw.want_events(1), raw.want_events(1)), (ReturnCode::from(0), twice));
        assert_eq!(raw.want_events(0), ReturnCode::from(0));
        vpp.loopback();
        raw.send(2, &ControlPing {});
        assert_eq!(raw.expect::<ControlPingReply>().0.context, 2, "no event came before");
    });
}

#[test]
fn interface_that_was_refused_came_and_went() {
    on_each(|vpp| {
        let mut raw = Raw::connect(&vpp.vpp);
        assert_eq!(raw.want_events(1), ReturnCode::from(0));
        vpp.add_socket(5, "/no/such/folder/m.sock").expect("socket");
        assert_eq!(vpp.create_memif(5, 0), Err(ReturnCode::SyscallError4));
        assert_eq!(raw.event(), (1, IfStatusFlags(0), true));
    });
}
