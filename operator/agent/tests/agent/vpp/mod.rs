//! The agent with VPP.

mod attachments;
mod captures;
mod foreign_objects;
mod gateways;
mod guards;
mod legacy_pods;
mod networks;
mod outages;
mod overlays;
mod policies;
mod program;
mod restarts;
pub(crate) mod testbed;
mod tunnels;
mod uplinks;

/// Runs each of these tests on the simulator, and on a real VPP where there is one.
macro_rules! on_each_vpp {
    ($($name:ident),+ $(,)?) => {
        $crate::vpp::on_each_vpp!(@module on_simulator, Simulator, [], $($name),+);
        $crate::vpp::on_each_vpp!(@module on_real_vpp, Real, [], $($name),+);
    };
    (without_memif: $($name:ident),+ $(,)?) => {
        $crate::vpp::on_each_vpp!(@module on_simulator_without_memif, Simulator, ["memif_plugin.so"], $($name),+);
        $crate::vpp::on_each_vpp!(@module on_real_vpp_without_memif, Real, ["memif_plugin.so"], $($name),+);
    };
    // The simulator forwards no packets and has no peers.
    (with_programs: $($name:ident),+ $(,)?) => {
        $crate::vpp::on_each_vpp!(@module on_real_vpp_with_programs, Real, [], $($name),+);
    };
    (@module $module:ident, $kind:ident, $missing:expr, $($name:ident),+) => {
        mod $module {
            $(
                #[test]
                fn $name() {
                    if let Some(mut testbed) = crate::vpp::testbed::VppTestbed::start(usnet_test_vpp::Kind::$kind, &$missing) {
                        super::$name(&mut testbed);
                    }
                }
            )+
        }
    };
}
use on_each_vpp;
