//! A whole conversation in Sqinn's protocol, on a database in memory.

use crate::Target;
use bobak_sqinn::{Database, Log, serve};
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Frames as they come, for a database that can't be opened: all of the reading, and no SQL. Or requests put together
/// from statements that end, on a database in memory.
pub(crate) const SQINN: Target = Target {
    name: "sqinn",
    about: "a whole conversation in Sqinn's protocol",
    longest: 32 << 10,
    factor: 400,
    run: |input| {
        let Some(([way, piece], rest)) = input.split_first_chunk::<2>() else { return };
        let raw = way & 1 == 0;
        let bytes = if raw { rest.to_vec() } else { requests(rest) };
        let whole = converse(&bytes, usize::MAX, raw);
        let cut = converse(&bytes, 1 + usize::from(*piece), raw);
        assert_eq!(whole, cut, "replies depend on how requests are split");
    },
    seeds: || {
        let frames: [&[u8]; 4] = [
            b"\x01\0\0\0\x0cSELECT 1, 2\0\0\0\0\x02\0\0\0\x02\x01\0\0\0\x07\x04\0\0\0\x03a\0\0\x00\x05\0\0\0\0",
            b"\x02\0\0\0\x02a\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x09\0\0\0\x03\x01\x04\x05",
            b"\x01\0\0\0\x02a\0\0\0\0\x01\0\0\0\x01\x03\x3f\xf0\0\0\0\0\0\0",
            b"\x09",
        ];
        let framed = |frame: &&[u8]| [&(frame.len() as u32).to_be_bytes(), *frame].concat();
        let whole: Vec<u8> = frames.iter().flat_map(framed).collect();
        let raw = [&[0, 3], whole.as_slice()].concat();
        let cut: Vec<u8> = frames.concat();
        let cut = cut.chunks(5).flat_map(|part| framed(&part)).collect::<Vec<u8>>();
        let put_together = (0..64).map(|byte: u8| byte.wrapping_mul(37)).collect::<Vec<u8>>();
        vec![raw, [&[0, 1], cut.as_slice()].concat(), [&[1, 4], put_together.as_slice()].concat()]
    },
};

/// Statements that end, and touch nothing but the database.
const STATEMENTS: [&str; 12] = [
    "CREATE TABLE IF NOT EXISTS t(a, b)",
    "INSERT INTO t VALUES(?,?)",
    "SELECT a, b FROM t WHERE a >= ?1 ORDER BY rowid LIMIT 50",
    "UPDATE t SET b = ?2 WHERE a = ?1",
    "DELETE FROM t WHERE a = ?",
    "SELECT ?, ?, ?",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SELEC",
    "",
    "SELECT a || ? FROM t LIMIT 9",
];

/// Requests whose statements, numbers and values come from bytes.
fn requests(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut next = || {
        let (first, rest) = bytes.split_first()?;
        bytes = rest;
        Some(*first)
    };
    while let Some(code) = next() {
        let statement = usize::from(next().unwrap_or_default()) % STATEMENTS.len();
        let sql = STATEMENTS.get(statement).copied().unwrap_or_default();
        let mut frame = vec![1 + (code & 1)];
        put(&mut frame, &[sql.as_bytes(), b"\0"].concat());
        let runs = if code & 1 == 0 { i32::from(next().unwrap_or_default() % 4) } else { 1 };
        let each = i32::from(next().unwrap_or_default() % 5) - i32::from(code == 255);
        if code & 1 == 0 {
            frame.extend(runs.to_be_bytes());
        }
        frame.extend(each.to_be_bytes());
        for _ in 0..runs * each.max(0) {
            let tag = next().unwrap_or_default() % 7;
            frame.push(tag);
            match tag {
                1 => frame.extend(i32::from(next().unwrap_or_default()).to_be_bytes()),
                2 | 3 => frame.extend((u64::from(next().unwrap_or_default()) << 52).to_be_bytes()),
                4 | 5 => {
                    let length = usize::from(next().unwrap_or_default());
                    put(&mut frame, &vec![b'x'; length * 8]);
                }
                _ => {}
            }
        }
        if code & 1 == 1 {
            frame.extend(3_i32.to_be_bytes());
            frame.extend([1 + next().unwrap_or_default() % 6, 4, 5]);
        }
        let cut = frame.len().min(1 + usize::from(next().unwrap_or(255)) * 8);
        let (first, second) = frame.split_at(cut);
        put(&mut out, first);
        if !second.is_empty() {
            put(&mut out, second);
        }
    }
    out
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u32).to_be_bytes());
    out.extend(bytes);
}

/// The replies, and how the conversation ends.
fn converse(bytes: &[u8], piece: usize, raw: bool) -> (Vec<u8>, String) {
    let replies = Sink::default();
    let database =
        if raw { Err("there is none".to_owned()) } else { Database::open(OsStr::new(":memory:")) };
    let ended = serve(Pieces { bytes, piece }, replies.clone(), database, &Log::default());
    let replies = replies.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (replies, format!("{ended:?}"))
}

/// A reader that returns a few bytes at a time.
struct Pieces<'a> {
    bytes: &'a [u8],
    piece: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let most = room.len().min(self.piece);
        self.bytes.read(room.get_mut(..most).unwrap_or_default())
    }
}

#[derive(Clone, Debug, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
