//! What a client may make the server keep in memory. The server is a child process: its memory is
//! then nobody else's.

use crate::client::make;
use bobak_core::Engine;
use bobak_http::HttpServer;
use bobak_sqlite::Sqlite;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// How the child is told where to listen.
const FOLDER: &str = "BOBAK_MEMORY_FOLDER";
/// 24 MB of rows.
const ROWS: usize = 240;
const ROW: usize = 100_000;
/// What requests that are answered bit by bit may cost.
const LITTLE: usize = 10 << 20;

/// Not a test by itself: what the child does.
#[test]
fn server_of_its_own() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let engine = Sqlite::open(folder.join("test.db")).unwrap();
    make(&engine);
    let rows = format!(
        "INSERT INTO seat (row, number, guest) WITH RECURSIVE n(i) AS \
         (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) \
         SELECT 'a', i, printf('%.*c', {ROW}, 'x') FROM n"
    );
    engine.session().unwrap().execute(&rows, &[]).unwrap();
    let builder = HttpServer::builder().database("main", engine).unix(folder.join("socket"));
    let server = builder.start().unwrap();
    println!("\nready");
    // RecoveryTarget the parent has seen enough.
    let _ = std::io::stdin().read_line(&mut String::new());
    server.stop();
}

struct Server {
    child: Child,
    /// Open for as long as the child may say something.
    _output: ChildStdout,
    folder: TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "memory::server_of_its_own", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut said = BufReader::new(&mut output).lines().map_while(Result::ok);
        assert!(said.any(|line| line == "ready"), "the server is there");
        Self { child, _output: output, folder }
    }

    /// Sends a request, as often as is said and all at once.
    fn ask(&self, path: &str, times: usize) -> UnixStream {
        let mut stream = UnixStream::connect(self.folder.path().join("socket")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let close = ["", "connection: close\r\n"];
        for at in 1..=times {
            let close = close[usize::from(at == times)];
            let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\n{close}\r\n");
            stream.write_all(head.as_bytes()).unwrap();
        }
        stream
    }

    /// The bytes of its own that it has.
    fn resident(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
    }

    /// The most that it has at any time of the next second.
    fn most(&self) -> usize {
        let look = |_| {
            std::thread::sleep(Duration::from_millis(50));
            self.resident()
        };
        (0..20).map(look).max().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.stdin.take().map(|mut input| input.write_all(b"\n"));
        let _ = self.child.wait();
    }
}

#[test]
fn what_nobody_reads_is_not_kept() {
    let server = Server::start();
    let export = "/tables/seat/export?columns=guest";
    // What a first request takes is not what is meant.
    let mut rest = Vec::new();
    server.ask("/tables/seat/rows?limit=20", 1).read_to_end(&mut rest).unwrap();
    assert!(rest.len() > 20 * ROW);
    rest.clear();
    let before = server.resident();
    let mut lazy = server.ask(export, 1);
    lazy.read_exact(&mut [0]).unwrap();
    let taken = server.most().saturating_sub(before);
    assert!(taken < LITTLE, "{taken} bytes for an export that nobody reads");
    lazy.read_to_end(&mut rest).unwrap();
    assert!(rest.len() > ROWS * ROW && rest.ends_with(b"0\r\n\r\n"), "it is whole all the same");
    // An answer at a time, and not the next before somebody reads: 40 MB in all.
    let mut lists = server.ask("/tables/seat/rows?limit=20&columns=guest", 20);
    lists.read_exact(&mut [0]).unwrap();
    let taken = server.most().saturating_sub(before);
    assert!(taken < 2 * LITTLE, "{taken} bytes for lists that nobody reads");
    rest.clear();
    lists.read_to_end(&mut rest).unwrap();
    assert!(rest.len() > 20 * 20 * ROW, "{} bytes of them", rest.len());
}
