//! Compares programs that speak Sqinn's protocol, with a minimal client: it sends prepared bytes, and
//! scans replies without keeping them.
//!
//! ```sh
//! cargo run --release -p bobak-sqinn --example compare -- 5 bobak-sqinn=PATH sqinn=PATH
//! ```
//!
//! Runs each workload the given number of times, with the programs interleaved, and prints medians and
//! minima.

use std::error::Error;
use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const ROWS: i32 = 1_000_000;
const SELECTS: i32 = 100_000;
const USERS: &str = "CREATE TABLE users(id INTEGER PRIMARY KEY NOT NULL, created INTEGER NOT NULL, \
    email TEXT NOT NULL, active INTEGER NOT NULL)";

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let times: usize = arguments.next().ok_or("how many times?")?.parse()?;
    let programs: Vec<(String, String)> = arguments
        .filter_map(|word| word.split_once('=').map(|(name, path)| (name.into(), path.into())))
        .collect();
    let folder = tempfile::tempdir()?;
    let mut results: Vec<Vec<Vec<Duration>>> = Vec::new();
    for _ in 0..times {
        for (number, (_, path)) in programs.iter().enumerate() {
            let file = folder.path().join(format!("{number}.db"));
            let took = run_workloads(path, &file.to_string_lossy())?;
            std::fs::remove_file(&file)?;
            results.resize(programs.len(), vec![Vec::new(); took.len()]);
            for (all, one) in results[number].iter_mut().zip(took) {
                all.push(one);
            }
        }
    }
    let works =
        ["start", "insert", "query", "point", "point hot", "write one", "blobs in", "blobs out"];
    print!("{:12}", "ms");
    programs.iter().for_each(|(name, _)| print!("{name:>20}"));
    println!();
    for (work, name) in works.iter().enumerate() {
        print!("{name:12}");
        for result in &mut results {
            result[work].sort();
            let [median, best] = [times / 2, 0].map(|n| result[work][n].as_secs_f64() * 1000.0);
            print!(" {median:9.1} {best:9.1}");
        }
        println!();
    }
    Ok(())
}

/// Runs all workloads on a new file.
fn run_workloads(program: &str, file: &str) -> Outcome<Vec<Duration>> {
    let mut took = Vec::new();
    let begin = Instant::now();
    let mut server = Server::start(program, file)?;
    server.exec("PRAGMA synchronous=OFF", 1, 0, &[])?;
    took.push(begin.elapsed());
    server.exec(USERS, 1, 0, &[])?;
    server.exec("CREATE TABLE blobs(id INTEGER PRIMARY KEY, b BLOB)", 1, 0, &[])?;

    let users = users();
    let begin = Instant::now();
    server.exec("BEGIN", 1, 0, &[])?;
    server.exec("INSERT INTO users(id,created,email,active) VALUES(?,?,?,?)", ROWS, 4, &users)?;
    server.exec("COMMIT", 1, 0, &[])?;
    took.push(begin.elapsed());

    let sql = "SELECT id,created,email,active FROM users ORDER BY id";
    let begin = Instant::now();
    let (rows, _) = server.query(sql, &[], &[1, 2, 4, 1])?;
    took.push(begin.elapsed());
    assert_eq!(rows, ROWS);

    took.push(server.select(ROWS)?);
    server.exec("BEGIN", 1, 0, &[])?;
    took.push(server.select(10_000)?);
    server.exec("COMMIT", 1, 0, &[])?;

    let sql = "UPDATE users SET active=? WHERE id=?";
    let begin = Instant::now();
    server.exec("BEGIN", 1, 0, &[])?;
    for number in 0..SELECTS {
        server.exec(sql, 1, 2, &[[int32(number), int32(number + 1)].concat()])?;
    }
    server.exec("COMMIT", 1, 0, &[])?;
    took.push(begin.elapsed());

    let blob = vec![7; 200_000];
    let blobs: Vec<_> = (0..1000).map(|number| [int32(number), bytes(5, &blob)].concat()).collect();
    let begin = Instant::now();
    server.exec("BEGIN", 1, 0, &[])?;
    server.exec("INSERT INTO blobs VALUES(?,?)", 1000, 2, &blobs)?;
    server.exec("COMMIT", 1, 0, &[])?;
    took.push(begin.elapsed());

    let begin = Instant::now();
    let (rows, size) = server.query("SELECT id,b FROM blobs", &[], &[1, 5])?;
    took.push(begin.elapsed());
    assert!(rows == 1000 && size > 200_000_000);
    server.end()?;
    Ok(took)
}

/// The parameters of each run: one user.
fn users() -> Vec<Vec<u8>> {
    let user = |number: i32| {
        let created = 1_700_000_000_000 + i64::from(number) * 60_000;
        let email = format!("user{number:08}@example.com\0");
        let created = [&[2], created.to_be_bytes().as_slice()].concat();
        [int32(number), created, bytes(4, email.as_bytes()), int32(1)].concat()
    };
    (1..=ROWS).map(user).collect()
}

fn int32(number: i32) -> Vec<u8> {
    [&[1], number.to_be_bytes().as_slice()].concat()
}

fn bytes(tag: u8, bytes: &[u8]) -> Vec<u8> {
    [&[tag], (bytes.len() as i32).to_be_bytes().as_slice(), bytes].concat()
}

/// A measured program.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    request: Vec<u8>,
    response: Vec<u8>,
}

impl Server {
    fn start(program: &str, file: &str) -> Outcome<Self> {
        let mut child = Command::new(program)
            .args(["run", "-db", file])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::with_capacity(256 * 1024, child.stdout.take().ok_or("no output")?);
        Ok(Self { child, input, output, request: Vec::new(), response: Vec::new() })
    }

    /// Sends the runs in frames of one mebibyte, as Sqinn's own client does.
    fn exec(&mut self, sql: &str, runs: i32, each: i32, parameters: &[Vec<u8>]) -> Outcome {
        self.begin(1, sql);
        self.request.extend(runs.to_be_bytes());
        self.request.extend(each.to_be_bytes());
        for run in parameters {
            self.request.extend(run);
            if self.request.len() > 1024 * 1024 {
                self.send()?;
            }
        }
        self.send()?;
        self.frame()?;
        if self.response == [1] { Ok(()) } else { Err(format!("{:?}", self.response).into()) }
    }

    /// Returns the number of rows and of their bytes.
    fn query(
        &mut self,
        sql: &str,
        parameters: &[Vec<u8>],
        columns: &[u8],
    ) -> Outcome<(i32, usize)> {
        self.begin(2, sql);
        self.request.extend((parameters.len() as i32).to_be_bytes());
        parameters.iter().for_each(|parameter| self.request.extend(parameter));
        self.request.extend((columns.len() as i32).to_be_bytes());
        self.request.extend(columns);
        self.send()?;
        let (mut rows, mut size) = (0, 0);
        loop {
            self.frame()?;
            let mut at = 0;
            size += self.response.len();
            while at < self.response.len() {
                if self.response[at] == 0 {
                    return Ok((rows, size));
                }
                rows += 1;
                at += 1;
                for _ in columns {
                    at += match self.response[at] {
                        0 => 1,
                        1 => 5,
                        2 | 3 => 9,
                        _ => {
                            let length = self.response[at + 1..at + 5].try_into()?;
                            5 + i32::from_be_bytes(length) as usize
                        }
                    };
                }
            }
        }
    }

    /// Selects users one by one, among the first ones.
    fn select(&mut self, among: i32) -> Outcome<Duration> {
        let sql = "SELECT id,created,email,active FROM users WHERE id=?";
        let begin = Instant::now();
        for number in 0..SELECTS {
            let key = (number.wrapping_mul(7919) & i32::MAX) % among + 1;
            let (rows, _) = self.query(sql, &[int32(key)], &[1, 2, 4, 1])?;
            assert_eq!(rows, 1);
        }
        Ok(begin.elapsed())
    }

    fn end(mut self) -> Outcome {
        self.request.extend([0, 0, 0, 0, 9]);
        self.send()?;
        self.frame()?;
        self.child.wait()?;
        Ok(())
    }

    fn begin(&mut self, code: u8, sql: &str) {
        self.request.extend([0, 0, 0, 0, code]);
        self.request.extend((sql.len() as i32 + 1).to_be_bytes());
        self.request.extend(sql.as_bytes());
        self.request.push(0);
    }

    fn send(&mut self) -> Outcome {
        let length = self.request.len() as i32 - 4;
        if length > 0 {
            self.request[..4].copy_from_slice(&length.to_be_bytes());
            self.input.write_all(&self.request)?;
        }
        self.request.truncate(4);
        Ok(())
    }

    fn frame(&mut self) -> Outcome {
        self.request.clear();
        let mut length = [0; 4];
        self.output.read_exact(&mut length)?;
        self.response.resize(i32::from_be_bytes(length) as usize, 0);
        self.output.read_exact(&mut self.response)?;
        Ok(())
    }
}
