//! Connections over TLS.

use crate::client::{TOKEN, TestServer, memory};
use crate::log::LogLines;
use bobak_http::HttpServer;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// A server with a new self-signed certificate, the certificate as PEM, and the log.
fn server() -> (TestServer, String, LogLines) {
    let folder = tempfile::tempdir().unwrap();
    let inserted = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let [chain, key] = ["chain.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&chain, inserted.cert.pem()).unwrap();
    std::fs::write(&key, inserted.signing_key.serialize_pem()).unwrap();
    let builder = HttpServer::builder().shared_database("main", memory()).tls(&chain, &key);
    let lines = LogLines::default();
    let mut server = TestServer::of(lines.of(builder));
    server.base_url = format!("https://localhost:{}", server.http.addresses()[0].port());
    (server, inserted.cert.pem(), lines)
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
    let mut output = Vec::new();
    // The server may send a TLS alert before it closes the connection.
    let _ = plain.read_to_end(&mut output);
    assert!(!String::from_utf8_lossy(&output).contains("person"), "{output:?}");
    lines.has("127.0.0.1 ", "TLS handshake");
    server.agent = trusting(&pem);
    server.get("/tables").ok(200);
    drop(silent);
    assert!(server.http.stop());
}
