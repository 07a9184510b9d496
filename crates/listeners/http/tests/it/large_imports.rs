//! An import is read as it arrives: its length does not matter. The server is a child process, so that its memory is
//! measured alone.

use crate::client::make;
use bobak_http::HttpServer;
use bobak_sqlite::Sqlite;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// The environment variable with the child's folder.
const FOLDER: &str = "BOBAK_IMPORT_FOLDER";
/// The gigabytes to import, to try more by hand: `BOBAK_IMPORT_GIGABYTES=5 cargo test -p bobak-http large_import`.
const GIGABYTES: &str = "BOBAK_IMPORT_GIGABYTES";
/// The most memory that an import takes, whatever its length.
const MOST: usize = 60 << 20;

/// Not a test: the code of the child process.
#[test]
fn child_server() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let engine = Sqlite::open(folder.join("test.db")).unwrap();
    make(&engine);
    let builder = HttpServer::builder().database("main", engine).unix(folder.join("socket"));
    let server = builder.start().unwrap();
    println!("\nready");
    // Until the parent is done.
    let _ = std::io::stdin().read_line(&mut String::new());
    server.stop();
}

/// The bytes of anonymous memory that the server occupies.
fn resident(child: &Child) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Sends a chunk of a chunked body.
fn send(stream: &mut UnixStream, bytes: &[u8]) -> std::io::Result<()> {
    write!(stream, "{:x}\r\n", bytes.len())?;
    stream.write_all(bytes)?;
    stream.write_all(b"\r\n")
}

#[test]
fn a_large_import_is_streamed() {
    let length = std::env::var(GIGABYTES)
        .map_or(192 << 20, |text| text.parse::<usize>().expect("a number of gigabytes") << 30);
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "large_imports::child_server", "--nocapture"])
        .env(FOLDER, folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "ready"), "the server has started");
    let mut stream = UnixStream::connect(folder.path().join("socket")).unwrap();
    let head = "POST /tables/seat/import HTTP/1.1\r\nhost: x\r\ncontent-type: text/csv\r\n\
                transfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    send(&mut stream, b"row,number,holder\n").unwrap();
    let before = resident(&child);
    let holder = "x".repeat(40_000);
    let (mut rows, mut sent, mut most) = (0_usize, 0, 0);
    while sent < length {
        let mut chunk = String::new();
        while chunk.len() < 1 << 20 {
            rows += 1;
            chunk.push_str(&format!("a,{rows},{holder}\n"));
        }
        if send(&mut stream, chunk.as_bytes()).is_err() {
            // The response says why.
            break;
        }
        sent += chunk.len();
        most = most.max(resident(&child));
    }
    let _ = stream.write_all(b"0\r\n\r\n");
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    most = most.max(resident(&child)).saturating_sub(before);
    let _ = child.stdin.take().map(|mut input| input.write_all(b"\n"));
    child.wait().unwrap();
    assert!(
        response.starts_with("HTTP/1.1 200") && response.contains(&format!("\"rows\":{rows}")),
        "{response}"
    );
    println!("{} MiB imported with at most {} KiB of memory", sent >> 20, most >> 10);
    assert!(most < MOST, "{most} bytes of memory for an import of {sent} bytes");
}
