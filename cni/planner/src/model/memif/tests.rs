use super::*;
use std::collections::BTreeSet;

#[test]
fn a_socket_is_what_vpp_takes_and_shows() {
    let file = MemifSocket::file("/run/usnet/ports/1f/net1.sock".into()).unwrap();
    let inside = MemifSocket::in_namespace("net1", Path::new("/run/netns/cni-1")).unwrap();
    assert_eq!(inside.to_string(), "abstract:net1,netns_name=/run/netns/cni-1");
    for socket in [file, inside] {
        assert_eq!(MemifSocket::parse(&socket.to_string()), Some(socket.clone()));
        let json = serde_json::to_string(&socket).unwrap();
        assert_eq!(serde_json::from_str::<MemifSocket>(&json).unwrap(), socket);
    }
}

#[test]
fn a_socket_ends_at_106_bytes() {
    let path = |length: usize| PathBuf::from(format!("/{}", "a".repeat(length - 1)));
    assert!(MemifSocket::file(path(106)).is_ok());
    assert!(matches!(MemifSocket::file(path(107)), Err(InvalidSocket::TooLong { .. })));
}

#[test]
fn characters_that_vpp_refuses_are_refused_before() {
    for bad in ["", "/run/a b", "/run/a:b", "/run/a,b", "/run/a=b", "/run/ä"] {
        assert!(matches!(MemifSocket::file(bad.into()), Err(InvalidSocket::Character { .. })), "{bad}");
    }
    assert!(MemifSocket::in_namespace("net1,x", Path::new("/run/netns/a")).is_err());
    assert!(serde_json::from_str::<MemifSocket>(r#"{"file":"/run/a b"}"#).is_err());
}

#[test]
fn a_secret_is_not_printed() {
    let secret = MemifSecret::try_from("open-sesame".to_owned()).unwrap();
    assert!(!format!("{secret:?}").contains("sesame"));
    assert!(MemifSecret::try_from("x".repeat(24)).is_err() && MemifSecret::try_from(String::new()).is_err());
}

#[test]
fn socket_ids_start_anywhere_and_come_round() {
    let ids: MemifSocketIds = "7-9".parse().unwrap();
    let names = (0..20).map(|number| format!("/run/{number}.sock"));
    let found: BTreeSet<Vec<u32>> = names.map(|name| ids.of_socket(&name).collect()).collect();
    assert_eq!(found, BTreeSet::from([vec![7, 8, 9], vec![8, 9, 7], vec![9, 7, 8]]));
    assert_eq!(ids.of_socket("a").next(), ids.of_socket("a").next());
    assert!(ids.contains(7) && ids.contains(9) && !ids.contains(6) && !ids.contains(10));
    for bad in ["", "0-9", "9-7", "1-4294967295", "a-b", "7"] {
        assert!(bad.parse::<MemifSocketIds>().is_err(), "{bad}");
    }
}
