//! A peer that speaks the server's side of the protocol from a script: it logs clients in, knows transactions, and responses
//! other requests as the test says.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request that has arrived.
#[derive(Clone, Debug)]
pub struct PeerRequest {
    /// 1 for SQL text, 3 for a call, 7 for rows of a bulk load, 14 for a step of a transaction.
    pub kind: u8,
    pub body: Vec<u8>,
    /// The text, and in a call all texts that it has; of a step of a transaction, its name.
    pub sql: String,
}

/// What the peer does with a request.
pub enum PeerAction {
    /// Sends these tokens as the whole response.
    Reply(Vec<u8>),
    /// Sends the begin of a response, and then nothing until an attention.
    Hang(Vec<u8>),
    /// Closes the connection.
    Close,
}

type Script = dyn Fn(&PeerRequest) -> PeerAction + Send + Sync;

/// The peer. It ends with the test's process.
pub struct Peer {
    port: u16,
    requests: Arc<Mutex<Vec<PeerRequest>>>,
}

impl Peer {
    /// Responds what the peer does not know itself by a script.
    pub fn start(script: impl Fn(&PeerRequest) -> PeerAction + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (script, requests): (Arc<Script>, Arc<Mutex<Vec<PeerRequest>>>) =
            (Arc::new(script), Arc::default());
        let noted = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (script, noted) = (Arc::clone(&script), Arc::clone(&noted));
                std::thread::spawn(move || serve(stream, &*script, &noted));
            }
        });
        Self { port, requests }
    }

    pub fn url(&self, settings: &str) -> String {
        format!("mssql://ada:secret@127.0.0.1:{}/shop?encrypt=disable&{settings}", self.port)
    }

    /// The requests that the script has replied.
    pub fn requests(&self) -> Vec<PeerRequest> {
        self.requests.lock().unwrap().clone()
    }
}

fn read_message(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut body = Vec::new();
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header).ok()?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let start = body.len();
        body.resize(start + length - 8, 0);
        stream.read_exact(&mut body[start..]).ok()?;
        if header[1] & 1 == 1 {
            return Some((header[0], body));
        }
    }
}

/// Packets of at most 100 bytes, so that values are cut in the middle.
fn send(stream: &mut TcpStream, tokens: &[u8], ends: bool) -> Option<()> {
    let count = tokens.len().div_ceil(92).max(1);
    for (at, part) in tokens.chunks(92).enumerate() {
        let status = u8::from(ends && at + 1 == count);
        let length = (part.len() as u16 + 8).to_be_bytes();
        let mut packet = vec![4, status, length[0], length[1], 0, 0, 1, 0];
        packet.extend_from_slice(part);
        stream.write_all(&packet).ok()?;
    }
    Some(())
}

fn serve(mut stream: TcpStream, script: &Script, noted: &Mutex<Vec<PeerRequest>>) -> Option<()> {
    loop {
        let (kind, body) = read_message(&mut stream)?;
        let response = match kind {
            // It does not encrypt.
            18 => vec![1, 0, 6, 0, 1, 255, 2],
            16 => login(&body),
            _ => {
                let request = PeerRequest { kind, sql: texts(kind, &body), body };
                match own(&request).map_or_else(
                    || {
                        noted.lock().unwrap().push(request.clone());
                        script(&request)
                    },
                    PeerAction::Reply,
                ) {
                    PeerAction::Reply(tokens) => tokens,
                    PeerAction::Hang(tokens) => {
                        send(&mut stream, &tokens, false)?;
                        while read_message(&mut stream)?.0 != 6 {}
                        done(0x20, 0)
                    }
                    PeerAction::Close => return None,
                }
            }
        };
        send(&mut stream, &response, true)?;
    }
}

fn login(body: &[u8]) -> Vec<u8> {
    let word = |at: usize| usize::from(u16::from_le_bytes([body[at], body[at + 1]]));
    let hidden = &body[word(44)..word(44) + word(46) * 2];
    let password: Vec<u8> = hidden.iter().map(|byte| (byte ^ 0xa5).rotate_left(4)).collect();
    if password != utf16("secret") {
        return [error(18_456, 14, "TdsLogin failed for user 'ada'."), done(2, 0)].concat();
    }
    let mut token = vec![0xad];
    let mut inner = vec![1, 0x74, 0, 0, 4, 4];
    inner.extend(utf16("peer"));
    inner.extend([16, 0, 0, 0]);
    token.extend((inner.len() as u16).to_le_bytes());
    [token, inner, done(0, 0)].concat()
}

/// What every session asks for.
fn own(request: &PeerRequest) -> Option<Vec<u8>> {
    let sql = &request.sql;
    let change = |kind: u8, new: &[u8], old: &[u8]| {
        let mut token = vec![0xe3, (3 + new.len() + old.len()) as u8, 0, kind, new.len() as u8];
        token.extend_from_slice(new);
        token.push(old.len() as u8);
        token.extend_from_slice(old);
        [token, done(0, 0)].concat()
    };
    match request.kind {
        14 if sql == "BEGIN" => Some(change(8, &[7; 8], &[])),
        14 if sql == "ROLLBACK" => Some(change(10, &[], &[7; 8])),
        14 if sql == "SAVE" => Some(done(0, 0)),
        1 if sql.starts_with("SET XACT_ABORT") => Some(done(0, 0)),
        3 if sql.contains("SCHEMA_NAME()") && !sql.contains("sys.") => {
            Some(result(&[("", NVARCHAR)], &[vec![text("dbo")]]))
        }
        _ => None,
    }
}

/// The end of a transaction, as the server reports it after COMMIT.
pub fn committed() -> Vec<u8> {
    [vec![0xe3, 11, 0, 9, 0, 8, 7, 7, 7, 7, 7, 7, 7, 7], done(0, 0)].concat()
}

/// The same after an error that has ended the transaction.
pub fn rolled_back() -> Vec<u8> {
    vec![0xe3, 11, 0, 10, 0, 8, 7, 7, 7, 7, 7, 7, 7, 7]
}

fn texts(kind: u8, body: &[u8]) -> String {
    if kind == 14 {
        let step = match body[22] {
            5 => "BEGIN",
            7 => "COMMIT",
            // Of all, or to a savepoint.
            8 if body[24] == 0 => "ROLLBACK",
            _ => "SAVE",
        };
        return step.to_owned();
    }
    let bytes = if kind == 7 { &[] } else { body.get(22..).unwrap_or_default() };
    // A call's head and its parameters have an even length before the text, or not: try both.
    let start = if kind == 3 { 6 + 10 } else { 0 };
    let (pairs, _) = bytes.get(start..).unwrap_or_default().as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    String::from_utf16_lossy(&units)
}

pub fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

pub fn done(status: u16, rows: u64) -> Vec<u8> {
    let mut token = vec![0xfd];
    token.extend(status.to_le_bytes());
    token.extend([0; 2]);
    token.extend(rows.to_le_bytes());
    token
}

pub fn error(number: i32, severity: u8, message: &str) -> Vec<u8> {
    let mut inner = number.to_le_bytes().to_vec();
    inner.extend([1, severity]);
    inner.extend((message.encode_utf16().count() as u16).to_le_bytes());
    inner.extend(utf16(message));
    inner.extend([0, 0, 1, 0, 0, 0]);
    let mut token = vec![0xaa];
    token.extend((inner.len() as u16).to_le_bytes());
    token.extend(inner);
    token
}

pub const NVARCHAR: &[u8] = &[0xe7, 200, 0, 9, 4, 0xd0, 0, 52];
pub const BIGINT: &[u8] = &[0x26, 8];

/// A value of NVARCHAR.
pub fn text(text: &str) -> Vec<u8> {
    let bytes = utf16(text);
    [(bytes.len() as u16).to_le_bytes().to_vec(), bytes].concat()
}

/// A value of BIGINT.
pub fn integer(integer: i64) -> Vec<u8> {
    [vec![8], integer.to_le_bytes().to_vec()].concat()
}

pub fn columns(columns: &[(&str, &[u8])]) -> Vec<u8> {
    let mut token = vec![0x81];
    token.extend((columns.len() as u16).to_le_bytes());
    for (name, ty) in columns {
        token.extend([0, 0, 0, 0, 9, 0]);
        token.extend_from_slice(ty);
        token.push(name.encode_utf16().count() as u8);
        token.extend(utf16(name));
    }
    token
}

/// A result: its columns, and rows of encoded values.
pub fn result(described: &[(&str, &[u8])], rows: &[Vec<Vec<u8>>]) -> Vec<u8> {
    let rows_of = |row: &Vec<Vec<u8>>| [vec![0xd1], row.concat()].concat();
    let tokens: Vec<u8> = rows.iter().flat_map(rows_of).collect();
    [columns(described), tokens, done(0x10, rows.len() as u64)].concat()
}
