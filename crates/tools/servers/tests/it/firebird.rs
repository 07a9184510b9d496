//! Firebird, from outside.

use std::fs;
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use bobak_servers::{Firebird, Options};

const WANTED: &str = "BOBAK_TEST_FIREBIRD";

/// The local addresses, in hexadecimal, on which somebody listens at a port.
fn listening(port: u16) -> Vec<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|file| fs::read_to_string(file).unwrap_or_default());
    let lines = tables.iter().flat_map(|table| table.lines());
    let local = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        let (address, at) = words.nth(1)?.split_once(':')?;
        let is_listening = words.nth(1)? == "0A";
        (is_listening && at == format!("{port:04X}")).then(|| address.to_owned())
    });
    local.collect()
}

#[test]
fn it_listens_on_loopback_only_and_the_port_stays() {
    if !crate::wanted(WANTED) {
        return;
    }
    let server = Firebird::start_with(&Options::new().durable().password("a'b")).unwrap();
    assert!(server.url().starts_with("firebird://bobak:a%27b@127.0.0.1:"));
    assert!(server.url_of("x.fdb").ends_with("/x.fdb?create=on&forced_writes=on"));
    let (port, pid) = (server.port(), server.pid());
    assert_eq!(listening(port), ["0100007F"]);
    assert!(!server.hangs(Duration::from_secs(60)).unwrap());
    server.pause();
    assert!(server.hangs(Duration::from_secs(1)).unwrap());
    server.resume();
    assert_eq!(server.ended(), None);
    server.kill().unwrap();
    assert_eq!(server.ended(), None, "it was killed by us");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "it still listens");
    server.restart().unwrap();
    assert_eq!((server.port(), listening(port)), (port, vec!["0100007F".to_owned()]));
    assert_ne!(server.pid(), pid);
    server.stop().unwrap();
    server.restart().unwrap();
    assert!(server.remove("x.fdb").is_err(), "there is none");
}

#[test]
fn it_says_how_it_ended_and_starts_again() {
    if !crate::wanted(WANTED) {
        return;
    }
    let server = Firebird::start().unwrap();
    let pid = server.pid().unwrap().to_string();
    assert!(Command::new("kill").args(["-SEGV", &pid]).status().unwrap().success());
    let mut ended = None;
    while ended.is_none() {
        ended = server.ended();
    }
    assert_eq!(ended.unwrap().signal(), Some(11));
    server.restart().unwrap();
    assert_eq!(server.ended(), None);
    assert!(!server.hangs(Duration::from_secs(60)).unwrap());
}
