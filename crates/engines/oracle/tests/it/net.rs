//! The driver itself, as far as it goes without a server.

use bobak_core::ErrorKind;
use bobak_oracle::Oracle;
use std::io::{Read, Write};
use std::net::TcpListener;

fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn kind(port: u16, settings: &str) -> ErrorKind {
    let url = format!("oracle://ada:secret-word@127.0.0.1:{port}/shop?{settings}");
    let error = Oracle::open(&url).unwrap_err();
    assert!(error.message().contains(&format!("127.0.0.1:{port}/shop")), "{error}");
    assert!(!error.to_string().contains("secret-word"), "{error}");
    error.kind()
}

#[test]
fn a_closed_port_is_unreachable_and_a_silent_one_times_out() {
    let (closed, port) = listener();
    drop(closed);
    assert_eq!(kind(port, ""), ErrorKind::Unreachable);
    assert_eq!(kind(port, "tls=on"), ErrorKind::Unreachable);
    let (_silent, port) = listener();
    assert_eq!(kind(port, "connect_timeout=200"), ErrorKind::Timeout);
}

/// A listener of Oracle's that rejects each connection, with this number.
fn rejecting(number: u32) -> u16 {
    let (listener, port) = listener();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // The packet with the connect descriptor.
            let mut head = [0; 8];
            stream.read_exact(&mut head).unwrap();
            let length = usize::from(u16::from_be_bytes([head[0], head[1]]));
            stream.read_exact(&mut vec![0; length - head.len()]).unwrap();
            let text = format!(
                "(DESCRIPTION=(TMP=)(VSNNUM=318767104)(ERR={number})(ERROR_STACK=(ERROR=(CODE={number})(EMFI=4))))"
            );
            // Length, checksum, type 4, flags, checksum; two reasons; the text and its length.
            let mut packet = vec![0, 0, 0, 0, 4, 0, 0, 0, 0x22, 0];
            packet.extend_from_slice(&u16::try_from(text.len()).unwrap().to_be_bytes());
            packet.extend_from_slice(text.as_bytes());
            let length = u16::try_from(packet.len()).unwrap();
            packet[..2].copy_from_slice(&length.to_be_bytes());
            stream.write_all(&packet).unwrap();
        }
    });
    port
}

#[test]
fn a_listener_says_why_it_rejects_a_connection() {
    assert_eq!(kind(rejecting(12_514), ""), ErrorKind::Config, "no such service");
    assert_eq!(kind(rejecting(12_518), ""), ErrorKind::Unreachable, "no process for it");
}

#[test]
fn another_server_is_none_of_oracle() {
    let (listener, port) = listener();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let kind = kind(port, "connect_timeout=1000");
    assert!(matches!(kind, ErrorKind::Unreachable | ErrorKind::Timeout), "{kind:?}");
}
