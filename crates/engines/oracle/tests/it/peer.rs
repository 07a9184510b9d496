//! A driver whose server is H2 in its Oracle mode: `tests/java`, a program in Java that all tests share.

use bobak_oracle::driver::{
    BindKind, CellKind, EachCells, OracleBind, OracleCell, OracleColumn, OracleConnect, OracleDone,
    OracleDriver, OracleFailure, OraclePlace, OracleValue,
};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// The program, compiled and started.
struct Peer {
    port: u16,
    // Its input: the program ends when it is closed.
    _child: Child,
}

/// Where the jar of H2 is; without it, the tests on H2 do nothing.
pub fn jar() -> Option<PathBuf> {
    std::env::var_os("BOBAK_TEST_H2").map(PathBuf::from)
}

/// Compiles programs of `tests/java`; returns the folder of their classes.
pub fn compiled(name: &str, jar: &Path, sources: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
    let classes = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("oracle-{name}"));
    let status = Command::new("javac")
        .arg("-cp")
        .arg(jar)
        .arg("-d")
        .arg(&classes)
        .args(sources.iter().map(|source| folder.join(source)))
        .status();
    assert!(status.unwrap().success(), "javac");
    classes
}

fn start(jar: &Path) -> Peer {
    let classes = compiled("h2", jar, &["Peer.java", "H2Dialect.java"]);
    let path = std::env::join_paths([classes.as_path(), jar]).unwrap();
    let mut child = Command::new("java")
        .args(["-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"])
        .arg(path)
        .arg("Peer")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    Peer { port: line.trim().parse().unwrap(), _child: child }
}

/// Connects to databases of H2, by their service name.
#[derive(Debug)]
pub struct H2;

impl OracleConnect for H2 {
    fn connect(&self, place: &OraclePlace) -> Result<Box<dyn OracleDriver>, OracleFailure> {
        static PEER: OnceLock<Peer> = OnceLock::new();
        let peer = PEER.get_or_init(|| start(&jar().unwrap()));
        let lost = |error: io::Error| OracleFailure::Unreachable(error.to_string());
        let stream = TcpStream::connect(("127.0.0.1", peer.port)).map_err(lost)?;
        stream.set_nodelay(true).map_err(lost)?;
        let mut driver = H2Driver { stream, out: Vec::new() };
        driver.begin(0, None);
        driver.text(&place.service);
        driver.send()?;
        Ok(Box::new(driver))
    }
}

#[derive(Debug)]
struct H2Driver {
    stream: TcpStream,
    out: Vec<u8>,
}

type Response = BufReader<TcpStream>;

fn lost(error: io::Error) -> OracleFailure {
    OracleFailure::Lost(error.to_string())
}

impl H2Driver {
    fn begin(&mut self, operation: u8, limit: Option<Duration>) {
        self.out.clear();
        self.out.push(operation);
        let millis = limit.map_or(0, |limit| limit.as_millis().max(1));
        self.int(i32::try_from(millis).unwrap_or(i32::MAX));
    }

    fn int(&mut self, integer: i32) {
        self.out.extend_from_slice(&integer.to_be_bytes());
    }

    fn length(&mut self, length: usize) {
        self.int(i32::try_from(length).unwrap());
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.out.extend_from_slice(bytes);
    }

    fn binds(&mut self, binds: &[OracleBind<'_>]) {
        self.length(binds.len());
        for (kind, value) in binds {
            self.out.push(match kind {
                BindKind::Number => 0,
                BindKind::Double => 1,
                BindKind::Text => 2,
                BindKind::Bytes => 3,
                BindKind::Moment => 4,
                BindKind::Span => 5,
            });
            let tag = match value {
                OracleValue::Null => 0,
                OracleValue::Int(_) => 1,
                OracleValue::Amount(_) => 2,
                OracleValue::Float(_) => 3,
                OracleValue::Text(_) => 4,
                OracleValue::Bytes(_) => 5,
            };
            self.out.push(tag);
            match value {
                OracleValue::Null => {}
                OracleValue::Int(integer) | OracleValue::Amount(integer) => {
                    self.out.extend_from_slice(&integer.to_be_bytes());
                }
                OracleValue::Float(float) => self.out.extend_from_slice(&float.to_be_bytes()),
                OracleValue::Text(text) => self.text(text),
                OracleValue::Bytes(bytes) => self.bytes(bytes),
            }
        }
    }

    /// Sends the request, and reads whether it was done.
    fn send(&mut self) -> Result<Response, OracleFailure> {
        self.stream.write_all(&self.out).map_err(lost)?;
        let mut response = BufReader::new(self.stream.try_clone().map_err(lost)?);
        match byte(&mut response)? {
            0 => Ok(response),
            1 => {
                let code = u32::try_from(integer(&mut response)?).unwrap_or(0);
                let message = String::from_utf8_lossy(&blob(&mut response)?).into_owned();
                Err(OracleFailure::Server(code, message))
            }
            _ => Err(OracleFailure::TimedOut),
        }
    }
}

fn read<const N: usize>(response: &mut Response) -> Result<[u8; N], OracleFailure> {
    let mut bytes = [0; N];
    response.read_exact(&mut bytes).map_err(lost)?;
    Ok(bytes)
}

fn byte(response: &mut Response) -> Result<u8, OracleFailure> {
    read::<1>(response).map(|[byte]| byte)
}

fn integer(response: &mut Response) -> Result<i32, OracleFailure> {
    read(response).map(i32::from_be_bytes)
}

fn long(response: &mut Response) -> Result<i64, OracleFailure> {
    read(response).map(i64::from_be_bytes)
}

fn blob(response: &mut Response) -> Result<Vec<u8>, OracleFailure> {
    let mut bytes = vec![0; usize::try_from(integer(response)?).unwrap()];
    response.read_exact(&mut bytes).map_err(lost)?;
    Ok(bytes)
}

fn text(response: &mut Response) -> Result<String, OracleFailure> {
    Ok(String::from_utf8(blob(response)?).unwrap())
}

fn cell(response: &mut Response) -> Result<OracleCell, OracleFailure> {
    Ok(match byte(response)? {
        0 => OracleCell::Null,
        1 => OracleCell::Number(text(response)?),
        2 => OracleCell::Float(read(response).map(f64::from_be_bytes)?),
        3 => OracleCell::Text(text(response)?),
        4 => OracleCell::Bytes(blob(response)?),
        5 => OracleCell::Moment(long(response)?, u32::try_from(integer(response)?).unwrap()),
        _ => OracleCell::Span(long(response)?),
    })
}

fn column(response: &mut Response) -> Result<OracleColumn, OracleFailure> {
    let name = text(response)?;
    let kind = byte(response)?;
    let (precision, scale) = (integer(response)?, integer(response)?);
    let kind = match kind {
        0 => {
            CellKind::Number(u8::try_from(precision).unwrap_or(0), i8::try_from(scale).unwrap_or(0))
        }
        1 => CellKind::Float,
        2 => CellKind::Text,
        3 => CellKind::Raw(u32::try_from(precision).unwrap()),
        // DATE has no part of a second.
        4 if scale == 0 => CellKind::Date,
        4 => CellKind::Moment,
        _ => CellKind::Span,
    };
    Ok(OracleColumn { name, kind })
}

impl OracleDriver for H2Driver {
    fn execute(
        &mut self,
        sql: &str,
        rows: &[Vec<OracleBind<'_>>],
        returned: Option<BindKind>,
        limit: Option<Duration>,
    ) -> Result<OracleDone, OracleFailure> {
        self.begin(1, limit);
        self.text(sql);
        self.out.push(returned.is_some().into());
        self.length(rows.len());
        rows.iter().for_each(|row| self.binds(row));
        let mut response = self.send()?;
        let count = u64::try_from(long(&mut response)?).unwrap();
        let mut done = OracleDone { count, returned: Vec::new() };
        for _ in 0..integer(&mut response)? {
            let found = integer(&mut response)?;
            let cells = (0..found).map(|_| cell(&mut response)).collect::<Result<_, _>>()?;
            done.returned.push(cells);
        }
        Ok(done)
    }

    fn query(
        &mut self,
        sql: &str,
        binds: &[OracleBind<'_>],
        limit: Option<Duration>,
        each: &mut EachCells<'_>,
    ) -> Result<Vec<OracleColumn>, OracleFailure> {
        self.begin(2, limit);
        self.text(sql);
        self.binds(binds);
        let mut response = self.send()?;
        let columns = (0..integer(&mut response)?).map(|_| column(&mut response));
        let columns: Vec<OracleColumn> = columns.collect::<Result<_, _>>()?;
        let mut goes_on = true;
        loop {
            match byte(&mut response)? {
                0 => return Ok(columns),
                1 => {}
                _ => {
                    return Err(OracleFailure::Server(
                        600,
                        "the query failed on the way".to_owned(),
                    ));
                }
            }
            let cells = (0..columns.len()).map(|_| cell(&mut response));
            let cells: Vec<OracleCell> = cells.collect::<Result<_, _>>()?;
            goes_on = goes_on && each(&columns, &cells);
        }
    }

    fn commit(&mut self, limit: Option<Duration>) -> Result<(), OracleFailure> {
        self.begin(3, limit);
        self.send().map(drop)
    }

    fn rollback(&mut self, limit: Option<Duration>) -> Result<(), OracleFailure> {
        self.begin(4, limit);
        self.send().map(drop)
    }

    fn ping(&mut self, limit: Option<Duration>) -> Result<(), OracleFailure> {
        self.begin(5, limit);
        self.send().map(drop)
    }
}
