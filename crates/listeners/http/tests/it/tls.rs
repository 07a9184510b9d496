//! The door under TLS.

use crate::client::{Door, TOKEN, memory};
use crate::journal::Lines;
use bobak_http::HttpServer;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// A door whose certificate a new authority has signed, and the authority's own, as PEM.
fn door() -> (Door, String, Lines) {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let [chain, key] = ["chain.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&chain, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let builder = HttpServer::builder().shared_database("main", memory()).tls(&chain, &key);
    let lines = Lines::default();
    let mut door = Door::of(lines.of(builder));
    door.home = format!("https://localhost:{}", door.server.addresses()[0].port());
    (door, made.cert.pem(), lines)
}

/// A client that trusts nobody else.
fn trusting(pem: &str) -> Agent {
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let root = Certificate::from_pem(pem.as_bytes()).unwrap();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::from([root]))
        .unversioned_rustls_crypto_provider(ring)
        .build();
    Agent::config_builder().tls_config(tls).http_status_as_error(false).build().new_agent()
}

#[test]
fn a_client_that_trusts_the_certificate_works_as_without() {
    let (mut door, pem, _) = door();
    door.agent = trusting(&pem);
    let name = "x".repeat(20);
    for _ in 0..3 {
        let body = format!(r#"{{"name":"{name}","photo":"{}"}}"#, "YWJj".repeat(20_000));
        door.send("POST", "/tables/person/rows", &body).ok(201);
    }
    let page = door.get("/tables/person/rows?columns=id,name").ok(200).json();
    assert_eq!(page["rows"][2], json!({"id": 3, "name": name}));
    assert_eq!(door.get("/tables/person/export").ok(200).text.lines().count(), 3);
    door.headers.clear();
    door.get("/tables").is(401, "Denied");
}

#[test]
fn a_client_that_does_not_trust_it_stays_away() {
    let (door, _, lines) = door();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let asked = trusting(&other.cert.pem()).get(format!("{}/health", door.home)).call();
    assert!(asked.is_err(), "{asked:?}");
    lines.has("127.0.0.1 ", "TLS handshake");
}

#[test]
fn who_speaks_no_tls_is_cut_off_and_harms_nobody() {
    let (mut door, pem, lines) = door();
    let mut plain = TcpStream::connect(door.server.addresses()[0]).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let silent = plain.try_clone().unwrap();
    let head = format!("GET /tables HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
    plain.write_all(head.as_bytes()).unwrap();
    let mut said = Vec::new();
    // It may be told so in TLS's own words; then the line is cut.
    let _ = plain.read_to_end(&mut said);
    assert!(!String::from_utf8_lossy(&said).contains("person"), "{said:?}");
    lines.has("127.0.0.1 ", "TLS handshake");
    door.agent = trusting(&pem);
    door.get("/tables").ok(200);
    drop(silent);
    assert!(door.server.stop());
}
