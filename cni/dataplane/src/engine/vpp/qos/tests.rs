use super::{Direction, Policed, Policer, Policers, policer_commands};
use crate::engine::vpp::command::VppCommand;
use crate::model::port::PortName;
use usnet_crds::{KilobitsPerSecond, RateLimit};
use usnet_vpp::messages::{PolicerAction, PolicerActionType, PolicerAddDel, PolicerDetails};

fn port() -> PortName {
    PortName::of(&"c1.net1".parse().unwrap())
}

fn rate(kilobits: i64) -> KilobitsPerSecond {
    kilobits.try_into().unwrap()
}

fn ingress(kilobits: i64) -> Policer {
    Policer { port: port(), direction: Direction::Ingress, rate: rate(kilobits) }
}

fn limit(kilobits: i64) -> RateLimit {
    RateLimit { ingress_kbps: Some(rate(kilobits)), egress_kbps: None }
}

/// The details that VPP reports for a policer.
fn details(policer: &Policer) -> PolicerDetails {
    let PolicerAddDel { name, cir, cb, conform_action, .. } = policer.request();
    PolicerDetails { name, cir, cb, conform_action, ..PolicerDetails::default() }
}

fn policers(list: &[Policer]) -> Policers {
    Policers::new(&list.iter().map(details).collect::<Vec<_>>())
}

const POLICED: Policed = Policed { ingress: Some(true), egress: Some(false) };

fn commands(found: &Policers, desired: &RateLimit, policed: Policed) -> Vec<String> {
    let print = |command: &VppCommand| match command {
        VppCommand::AddPolicer { policer } => format!("add {}", policer.rate.get()),
        VppCommand::DeletePolicer { name } => format!("delete {}", name.as_str().rsplit(':').next().unwrap()),
        VppCommand::AttachPolicer { policer, apply, index: 3, direction: Direction::Ingress } => {
            format!("{} {}", if *apply { "use" } else { "end" }, policer.as_str().rsplit(':').next().unwrap())
        }
        other => panic!("{other:?}"),
    };
    policer_commands(found, &port(), desired, (3, policed)).iter().map(print).collect()
}

#[test]
fn a_name_encodes_the_policer_and_foreign_names_are_ignored() {
    let policer = Policer { direction: Direction::Egress, rate: rate(1_000_000_000), ..ingress(1) };
    let name = policer.name();
    assert!(name.as_str().starts_with("usnet:vhu") && name.as_str().ends_with(":egress:1000000000"), "{name:?}");
    assert_eq!(Policer::parse(name.as_str()), Some(policer));
    for bad in ["", "usnet", "usnet:vhu1:ingress", "usnet:vhu1:ingress:0", "usnet:vhu1:in:5", "blue:vhu1:egress:5"] {
        assert_eq!(Policer::parse(bad), None, "{bad}");
    }
    assert_eq!(Policer::parse("usnet:vhu1:ingress:05"), None, "not as we write it");
    assert_eq!(Policer::parse("usnet:vhu1:ingress:5:"), None);
}

#[test]
fn limits_are_those_of_the_policers_that_are_used() {
    let one = policers(&[ingress(500)]);
    assert_eq!(one.limits(&port(), POLICED), Some(limit(500)));
    assert_eq!(one.limits(&port(), Policed::default()), Some(limit(500)), "VPP does not say");
    assert_eq!(one.limits(&port(), Policed::NOT), None, "it is not attached");
    assert_eq!(policers(&[ingress(500), ingress(600)]).limits(&port(), POLICED), None);
    assert_eq!(Policers::default().limits(&port(), Policed::NOT), Some(RateLimit::default()));
    assert_eq!(Policers::default().limits(&port(), POLICED), Some(RateLimit::default()), "of another client");
    let good = details(&ingress(500));
    let transmit = PolicerAction { r#type: PolicerActionType::Transmit, dscp: 0 };
    for changed in [
        PolicerDetails { cir: 7, ..good.clone() },
        PolicerDetails { cb: 7, ..good.clone() },
        PolicerDetails { violate_action: transmit, ..good },
    ] {
        assert_eq!(Policers::new(&[changed]).limits(&port(), POLICED), None);
    }
}

#[test]
fn a_limit_is_created_changed_and_deleted() {
    let (none, one) = (Policers::default(), policers(&[ingress(500)]));
    assert_eq!(commands(&none, &limit(500), Policed::NOT), ["add 500", "use 500"]);
    assert_eq!(commands(&one, &limit(500), POLICED), [""; 0]);
    assert_eq!(commands(&one, &limit(600), POLICED), ["add 600", "end 600", "use 600", "delete 500"]);
    assert_eq!(commands(&one, &RateLimit::default(), POLICED), ["end 500", "delete 500"]);
    assert_eq!(commands(&none, &RateLimit::default(), Policed::NOT), [""; 0]);
    // If VPP does not report it, a policer counts as attached.
    assert_eq!(commands(&one, &limit(500), Policed::default()), [""; 0]);
    assert_eq!(commands(&one, &RateLimit::default(), Policed::default()), ["end 500", "delete 500"]);
    assert_eq!(commands(&none, &limit(500), Policed::default()), ["add 500", "use 500"]);
}

#[test]
fn an_interrupted_change_is_completed() {
    let one = policers(&[ingress(500)]);
    assert_eq!(commands(&one, &limit(500), Policed::NOT), ["use 500"], "it was created and not attached");
    assert_eq!(commands(&one, &RateLimit::default(), Policed::NOT), ["delete 500"]);
    let two = policers(&[ingress(500), ingress(600)]);
    assert_eq!(commands(&two, &limit(600), POLICED), ["end 600", "use 600", "delete 500"]);
    let mut changed = details(&ingress(500));
    changed.cir = 7;
    let changed = Policers::new(&[changed]);
    assert_eq!(commands(&changed, &limit(500), POLICED), ["delete 500", "add 500", "end 500", "use 500"]);
    // With neither a name to end it by nor one to replace it.
    assert_eq!(commands(&Policers::default(), &RateLimit::default(), POLICED), [""; 0]);
    assert_eq!(commands(&Policers::default(), &limit(5), POLICED), ["add 5", "end 5", "use 5"]);
}

#[test]
fn policers_of_deleted_ports_are_orphans() {
    let other = Policer { port: PortName::of(&"c2.net1".parse().unwrap()), ..ingress(500) };
    let found = policers(&[ingress(500), other.clone()]);
    assert_eq!(found.orphans(|there| *there == port()).collect::<Vec<_>>(), [&other]);
    assert_eq!(found.of(&port()).collect::<Vec<_>>(), [&ingress(500)]);
}
