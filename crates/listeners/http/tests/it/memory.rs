//! How much memory a client can make the server use. The server is a child process, so that its memory
//! is measured alone.

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

/// The environment variable with the child's folder.
const FOLDER: &str = "BOBAK_MEMORY_FOLDER";
/// 24 MB of rows.
const ROWS: usize = 240;
const ROW: usize = 100_000;
/// The most bytes that a streamed response may use.
const LITTLE: usize = 10 << 20;

/// Not a test: the code of the child process.
#[test]
fn child_server() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let engine = Sqlite::open(folder.join("test.db")).unwrap();
    make(&engine);
    let rows = format!(
        "INSERT INTO seat (row, number, holder) WITH RECURSIVE n(i) AS \
         (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) \
         SELECT 'a', i, printf('%.*c', {ROW}, 'x') FROM n"
    );
    engine.session().unwrap().execute(&rows, &[]).unwrap();
    let builder = HttpServer::builder().database("main", engine).unix(folder.join("socket"));
    let server = builder.start().unwrap();
    println!("\nready");
    // Until the parent is done.
    let _ = std::io::stdin().read_line(&mut String::new());
    server.stop();
}

struct Server {
    child: Child,
    /// Kept open, because the child may still print something.
    _output: ChildStdout,
    folder: TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "memory::child_server", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut lines = BufReader::new(&mut output).lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "ready"), "the server has started");
        Self { child, _output: output, folder }
    }

    /// Sends a request several times at once, without reading responses.
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

    /// The bytes of anonymous memory that the server occupies.
    fn resident(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
    }

    /// The maximum over the next second.
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
fn unread_responses_are_not_buffered() {
    let server = Server::start();
    let export = "/tables/seat/export?columns=holder";
    // The first request allocates buffers that are not measured.
    let mut rest = Vec::new();
    server.ask("/tables/seat/rows?limit=20", 1).read_to_end(&mut rest).unwrap();
    assert!(rest.len() > 20 * ROW);
    rest.clear();
    let before = server.resident();
    let mut lazy = server.ask(export, 1);
    lazy.read_exact(&mut [0]).unwrap();
    let taken = server.most().saturating_sub(before);
    assert!(taken < LITTLE, "{taken} bytes for an unread export");
    lazy.read_to_end(&mut rest).unwrap();
    assert!(rest.len() > ROWS * ROW && rest.ends_with(b"0\r\n\r\n"), "the export is complete");
    // One response at a time, and no further one before the client reads: 40 MB in all.
    let mut lists = server.ask("/tables/seat/rows?limit=20&columns=holder", 20);
    lists.read_exact(&mut [0]).unwrap();
    let taken = server.most().saturating_sub(before);
    assert!(taken < 2 * LITTLE, "{taken} bytes for unread lists");
    rest.clear();
    lists.read_to_end(&mut rest).unwrap();
    assert!(rest.len() > 20 * 20 * ROW, "{} bytes of them", rest.len());
}
