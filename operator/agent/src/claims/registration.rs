//! Whether kubelet has registered the driver. Pure.
//!
//! Kubernetes places pods on a node as soon as its slices are there. Kubelet repeats a call that it
//! could not make, because the driver is not registered, only after one and a half minutes.

/// Whether kubelet would call the driver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Kubelet has not registered these sockets.
    #[default]
    Unregistered,
    Registered,
    /// Kubelet registered them, and closed its connections since: it has ended. It deletes the
    /// slices of its node at its next start.
    KubeletGone,
}

/// What is known of the registration of the sockets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Registration {
    state: State,
    /// Kubelet's connections to the socket of the services, one for each registration.
    connections: usize,
    /// Why kubelet did not register the driver, if it did not.
    refusal: Option<String>,
}

impl Registration {
    pub(super) const fn state(&self) -> State {
        self.state
    }

    /// Called when kubelet says that it has registered the driver.
    pub(super) fn registered(&mut self) {
        *self = Self { state: State::Registered, refusal: None, ..*self };
    }

    /// Called when kubelet says that it did not register the driver; returns whether the reason is
    /// a new one.
    pub(super) fn refused(&mut self, reason: &str) -> bool {
        self.state = State::Unregistered;
        self.refusal.replace(reason.to_owned()).as_deref() != Some(reason)
    }

    /// Called when a client, which is kubelet, connects to the services. It only connects once it
    /// has registered the driver, and connects again when a connection ends.
    pub(super) const fn connected(&mut self) {
        self.connections += 1;
        if matches!(self.state, State::KubeletGone) {
            self.state = State::Registered;
        }
    }

    /// Called when such a connection has ended.
    pub(super) const fn disconnected(&mut self) {
        self.connections = self.connections.saturating_sub(1);
        if self.connections == 0 && matches!(self.state, State::Registered) {
            self.state = State::KubeletGone;
        }
    }

    /// Called when the sockets are not served any more. The connections are closed then.
    pub(super) fn ended(&mut self) {
        self.state = State::Unregistered;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The driver as kubelet has registered it.
    pub(in crate::claims) fn registered() -> Registration {
        Registration { state: State::Registered, connections: 1, refusal: None }
    }

    #[test]
    fn the_driver_is_registered_when_kubelet_says_so_and_until_its_last_connection_ends() {
        let mut registration = Registration::default();
        registration.connected();
        assert_eq!(registration.state(), State::Unregistered, "a connection of before the agent's restart");
        registration.registered();
        registration.connected();
        registration.disconnected();
        assert_eq!(registration.state(), State::Registered);
        registration.disconnected();
        assert_eq!(registration.state(), State::KubeletGone);
        registration.connected();
        assert_eq!(registration.state(), State::Registered, "only the connection had ended");
        registration.ended();
        registration.disconnected();
        assert_eq!(registration.state(), State::Unregistered);
    }

    #[test]
    fn a_refusal_is_new_once() {
        let mut registration = Registration::default();
        assert!(registration.refused("no handler"));
        assert!(!registration.refused("no handler"));
        registration.registered();
        assert!(registration.refused("no handler"), "it was registered since");
        assert_eq!(registration.state(), State::Unregistered);
    }
}
