//! Connections over TLS.

use crate::client::{TOKEN, TestServer, memory};
use crate::log::LogLines;
use bobak_http::HttpServer;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// A server with a new self-signed certificate, the certificate as PEM, and the log.
fn server() -> (TestServer, String, LogLines) {
    let folder = tempfile::tempdir().unwrap();
    let [chain, key] = ["chain.pem", "key.pem"].map(|name| folder.path().join(name));
    let pem = write_certificate(&chain, &key);
    let builder = HttpServer::builder().shared_database("main", memory()).tls(&chain, &key);
    let lines = LogLines::default();
    let mut server = TestServer::of(lines.of(builder));
    server.base_url = format!("https://localhost:{}", server.http.addresses()[0].port());
    (server, pem, lines)
}

/// A client that trusts only this certificate.
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
fn trusting_client_works_over_tls() {
    let (mut server, pem, _) = server();
    server.agent = trusting(&pem);
    let name = "x".repeat(20);
    for _ in 0..3 {
        let body = format!(r#"{{"name":"{name}","photo":"{}"}}"#, "YWJj".repeat(20_000));
        server.send("POST", "/tables/person/rows", &body).ok(201);
    }
    let page = server.get("/tables/person/rows?columns=id,name").ok(200).json();
    assert_eq!(page["rows"][2], json!({"id": 3, "name": name}));
    assert_eq!(server.get("/tables/person/export").ok(200).text.lines().count(), 3);
    server.headers.clear();
    server.get("/tables").is(401, "Denied");
}

#[test]
fn untrusting_client_does_not_connect() {
    let (server, _, lines) = server();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let result = trusting(&other.cert.pem()).get(format!("{}/health", server.base_url)).call();
    assert!(result.is_err(), "{result:?}");
    lines.has("127.0.0.1 ", "TLS handshake");
}

#[test]
fn client_without_tls_is_disconnected() {
    let (mut server, pem, lines) = server();
    let mut plain = TcpStream::connect(server.http.addresses()[0]).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let silent = plain.try_clone().unwrap();
    let head = format!("GET /tables HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
    plain.write_all(head.as_bytes()).unwrap();
    let mut output = String::new();
    plain.read_to_string(&mut output).unwrap();
    let (head, body) = output.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 400 "), "{output}");
    assert_eq!(body, "this port speaks HTTPS: use a URL with https://\r\n");
    assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{output}");
    lines.has("127.0.0.1 ", "failed the TLS handshake: the client speaks HTTP without TLS");
    server.agent = trusting(&pem);
    server.get("/tables").ok(200);
    drop(silent);
    assert!(server.http.stop());
}

#[test]
fn an_expired_certificate_is_logged_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let [chain, key] = ["chain.pem", "key.pem"].map(|name| folder.path().join(name));
    for ((from, to), expected) in [
        ((1975, 2020), Some("expired on 2020-01-01: clients will reject it")),
        ((2051, 2060), Some("is not valid before 2051-01-01: clients will reject it")),
        ((2020, 2100), None),
    ] {
        let mut parameters = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        parameters.not_before = rcgen::date_time_ymd(from, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(to, 1, 1);
        let secret = rcgen::KeyPair::generate().unwrap();
        std::fs::write(&chain, parameters.self_signed(&secret).unwrap().pem()).unwrap();
        std::fs::write(&key, secret.serialize_pem()).unwrap();
        let builder = HttpServer::builder().shared_database("main", memory()).tls(&chain, &key);
        let lines = LogLines::default();
        let server = TestServer::of(lines.of(builder));
        match expected {
            Some(expected) => lines.has("the certificate ", expected),
            None => assert!(!lines.any("the certificate ")),
        }
        drop(server);
    }
}

/// A new certificate for `localhost`, written to these files; the certificate as PEM.
fn write_certificate(chain: &Path, key: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(chain, made.cert.pem()).unwrap();
    std::fs::write(key, made.signing_key.serialize_pem()).unwrap();
    made.cert.pem()
}

#[test]
fn a_renewed_certificate_needs_no_restart() {
    let folder = tempfile::tempdir().unwrap();
    let [chain, key] = ["chain.pem", "key.pem"].map(|name| folder.path().join(name));
    let first = write_certificate(&chain, &key);
    let builder = HttpServer::builder().shared_database("main", memory()).tls(&chain, &key);
    let lines = LogLines::default();
    let mut server = TestServer::of(lines.of(builder));
    server.base_url = format!("https://localhost:{}", server.http.addresses()[0].port());
    let health = format!("{}/health", server.base_url);
    let works = |pem: &str| trusting(pem).get(&health).call().is_ok();
    assert!(works(&first));

    let second = write_certificate(&chain, &key);
    while !works(&second) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!works(&first));

    // A key that does not belong to the certificate: the log says so, and the certificate stays.
    let other = rcgen::KeyPair::generate().unwrap();
    std::fs::write(&key, other.serialize_pem()).unwrap();
    while !lines.any("could not use ") {
        assert!(works(&second));
        std::thread::sleep(Duration::from_millis(50));
    }
    lines.has("could not use ", "key.pem for TLS: ");
    assert!(works(&second));
}
