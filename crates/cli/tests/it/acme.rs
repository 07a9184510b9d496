//! `bobak serve --acme`: certificates of an authority, here Pebble, with which Let's Encrypt tests clients.

use crate::program::Program;
use crate::serve::Server;
use bobak_servers::Pebble;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const NAME: &str = "db.example.org";

/// Whether the environment asks for tests without servers.
fn without_servers() -> bool {
    let without = std::env::var_os("BOBAK_NO_SERVERS").is_some();
    if without {
        println!("skipped: BOBAK_NO_SERVERS is set");
    }
    without
}

/// A port on which nobody listens at this moment.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it has an address").port()
}

/// An authority, and the arguments of a server that orders a certificate for a name from it.
fn authority(program: &Program, port: u16, name: &str) -> (Pebble, Vec<String>) {
    let pebble = Pebble::start(port).expect("Pebble starts");
    program.file("root.pem", pebble.pem());
    program.file("tokens", "0123456789abcdef\n");
    let arguments = format!(
        "app.db --http 127.0.0.1:{port} --token-file tokens --acme {name} --acme-contact admin@example.org \
         --acme-directory {} --acme-root root.pem",
        pebble.directory()
    );
    (pebble, arguments.split(' ').map(str::to_owned).collect())
}

/// Starts a server whose log goes to a file.
fn serve(program: &Program, arguments: &[String], log: &str) -> Server {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let log = File::create(program.path(log)).expect("is created");
    Server::start_telling(program, &arguments, log.into())
}

/// Waits until the log has a line with this text; the log.
fn await_log(program: &Program, log: &str, text: &str) -> String {
    loop {
        let lines = fs::read_to_string(program.path(log)).expect("is read");
        if lines.contains(text) {
            return lines;
        }
        assert!(text.contains("could not") || !lines.contains("could not"), "{lines}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Keeps the certificates that servers send. Their signatures are checked; the authority's own certificate is not known.
#[derive(Debug, Default)]
struct SeenCertificates(Mutex<Vec<u8>>);

impl ServerCertVerifier for SeenCertificates {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let parsed = rustls::server::ParsedCertificate::try_from(certificate)?;
        rustls::client::verify_server_name(&parsed, name)?;
        *self.0.lock().expect("no test panicked") = certificate.to_vec();
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &algorithms())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &algorithms())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        algorithms().supported_schemes()
    }
}

fn algorithms() -> WebPkiSupportedAlgorithms {
    rustls::crypto::ring::default_provider().signature_verification_algorithms
}

/// Asks the server for its health over TLS; its certificate, or why there is no connection.
fn certificate_of(port: u16) -> std::io::Result<Vec<u8>> {
    let seen = Arc::new(SeenCertificates::default());
    let config =
        ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .expect("TLS 1.2 and 1.3 are there")
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&seen) as _)
            .with_no_client_auth();
    let name = ServerName::try_from(NAME).expect("is a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("is made");
    let mut stream = StreamOwned::new(connection, TcpStream::connect(("127.0.0.1", port))?);
    write!(stream, "GET /health HTTP/1.1\r\nhost: {NAME}\r\nconnection: close\r\n\r\n")?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    Ok(seen.0.lock().expect("no test panicked").clone())
}

#[test]
fn a_certificate_is_ordered_and_kept() {
    if without_servers() {
        return;
    }
    let (program, port) = (Program::new(), free_port());
    let (_pebble, mut arguments) = authority(&program, port, NAME);
    let server = serve(&program, &arguments, "first.log");
    assert!(server.place.starts_with("https://"), "{}", server.place);
    await_log(&program, "first.log", "the certificate for db.example.org was ordered");
    let first = loop {
        // The files are looked at once a second.
        match certificate_of(port) {
            Ok(certificate) => break certificate,
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let mode = |name: &str| fs::metadata(program.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("acme"), 0o700);
    assert_eq!([mode("acme/certificate.pem"), mode("acme/account.json")], [0o600; 2]);
    drop(server);

    // The next start uses it, from the first connection on.
    let server = serve(&program, &arguments, "second.log");
    assert_eq!(certificate_of(port).unwrap(), first);
    drop(server);
    assert_eq!(fs::read_to_string(program.path("second.log")).unwrap(), "");

    // Another name needs another certificate, which has both.
    arguments.extend(["--acme".to_owned(), "www.example.org".to_owned()]);
    let _server = serve(&program, &arguments, "third.log");
    await_log(
        &program,
        "third.log",
        "the certificate for db.example.org, www.example.org was ordered",
    );
    while certificate_of(port).unwrap() == first {
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_rejected_order_is_explained_and_the_server_runs() {
    if without_servers() {
        return;
    }
    let (program, port) = (Program::new(), free_port());
    let (_pebble, arguments) = authority(&program, port, Pebble::rejected_name());
    let _server = serve(&program, &arguments, "log");
    let log = await_log(&program, "log", "could not be ordered");
    let line = log.lines().find(|line| line.contains("could not be ordered")).unwrap();
    assert!(
        line.contains(
            "the certificate for rejected.example could not be ordered from https://localhost:"
        ),
        "{log}"
    );
    assert!(line.contains("rejected.example is a forbidden domain"), "{log}");
    assert!(line.ends_with("the next try is in 2 min"), "{log}");
    assert!(certificate_of(port).is_err());

    let (program, port) = (Program::new(), free_port());
    let (pebble, arguments) = authority(&program, port, NAME);
    drop(pebble);
    let _server = serve(&program, &arguments, "log");
    let log = await_log(&program, "log", "could not be ordered");
    assert!(log.contains("/dir: client error (Connect): "), "{log}");
}

#[test]
fn flags_that_contradict_are_rejected() {
    let program = Program::new();
    let both = ["serve", "app.db", "--acme", NAME, "--tls-cert", "a.pem", "--tls-key", "b.pem"];
    program.fails(2, "cannot be used with", &both);
    program.fails(2, "--acme <NAME>", &["serve", "app.db", "--acme-contact", "admin@example.org"]);
}
