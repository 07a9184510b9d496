//! Builds requests, parses replies, and runs sessions in this process.

use bobak_sqinn::{Database, Log, ProtocolError, serve};
use std::io::{self, Read, Write};
use std::sync::mpsc::{Sender, channel};

/// A value with its type tag.
#[derive(Clone, Debug, PartialEq)]
pub enum V {
    Null,
    Int32(i32),
    Int64(i64),
    Double(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

pub fn text(text: &str) -> V {
    V::Text(text.into())
}

impl V {
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Null => vec![0],
            Self::Int32(n) => [&[1][..], &n.to_be_bytes()].concat(),
            Self::Int64(n) => [&[2][..], &n.to_be_bytes()].concat(),
            Self::Double(n) => [&[3][..], &n.to_be_bytes()].concat(),
            Self::Text(bytes) => [&[4][..], &string(bytes)].concat(),
            Self::Blob(bytes) => [&[5][..], &int(bytes.len() as i32), bytes].concat(),
        }
    }
}

pub fn int(number: i32) -> [u8; 4] {
    number.to_be_bytes()
}

/// A string without its type tag.
pub fn string(bytes: &[u8]) -> Vec<u8> {
    [&int(bytes.len() as i32 + 1), bytes, &[0]].concat()
}

pub fn frame(payload: &[u8]) -> Vec<u8> {
    [&int(payload.len() as i32), payload].concat()
}

/// The pieces of an EXEC request. A frame may end after each.
pub fn exec_pieces(sql: &str, runs: &[Vec<V>]) -> Vec<Vec<u8>> {
    let each = runs.first().map_or(0, Vec::len) as i32;
    let head = [vec![1], string(sql.as_bytes()), int(runs.len() as i32).into(), int(each).into()];
    head.into_iter().chain(runs.iter().flatten().map(V::bytes)).collect()
}

/// An EXEC request with these runs, in one frame.
pub fn exec(sql: &str, runs: &[Vec<V>]) -> Vec<u8> {
    frame(&exec_pieces(sql, runs).concat())
}

/// An EXEC request of one run without parameters.
pub fn run(sql: &str) -> Vec<u8> {
    exec(sql, &[vec![]])
}

pub fn query_pieces(sql: &str, parameters: &[V], columns: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = vec![vec![2], string(sql.as_bytes()), int(parameters.len() as i32).into()];
    pieces.extend(parameters.iter().map(V::bytes));
    pieces.push(int(columns.len() as i32).into());
    pieces.extend(columns.iter().map(|column| vec![*column]));
    pieces
}

/// A QUERY request in one frame.
pub fn query(sql: &str, parameters: &[V], columns: &[u8]) -> Vec<u8> {
    frame(&query_pieces(sql, parameters, columns).concat())
}

pub fn quit() -> Vec<u8> {
    frame(&[9])
}

/// A reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub rows: Vec<Vec<V>>,
    pub error: Option<String>,
}

/// Reads replies.
pub struct Replies<R> {
    source: R,
    payload: Vec<u8>,
    at: usize,
    /// The lengths of the frames read so far.
    pub frames: Vec<usize>,
}

impl<R: Read> Replies<R> {
    pub fn new(source: R) -> Self {
        Self { source, payload: Vec::new(), at: 0, frames: Vec::new() }
    }

    pub fn exec(&mut self) -> io::Result<Reply> {
        let error = self.outcome()?;
        Ok(Reply { rows: Vec::new(), error })
    }

    pub fn query(&mut self, columns: usize) -> io::Result<Reply> {
        let mut rows = Vec::new();
        while self.byte()? == 1 {
            rows.push((0..columns).map(|_| self.value()).collect::<io::Result<_>>()?);
        }
        let error = self.outcome()?;
        Ok(Reply { rows, error })
    }

    fn outcome(&mut self) -> io::Result<Option<String>> {
        if self.byte()? == 1 {
            return Ok(None);
        }
        match self.text()? {
            V::Text(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            _ => unreachable!(),
        }
    }

    fn value(&mut self) -> io::Result<V> {
        Ok(match self.byte()? {
            0 => V::Null,
            1 => V::Int32(i32::from_be_bytes(self.array()?)),
            2 => V::Int64(i64::from_be_bytes(self.array()?)),
            3 => V::Double(f64::from_be_bytes(self.array()?)),
            4 => self.text()?,
            5 => {
                let length = i32::from_be_bytes(self.array()?) as usize;
                V::Blob(self.take(length)?.to_vec())
            }
            tag => panic!("a value with the tag {tag}"),
        })
    }

    fn text(&mut self) -> io::Result<V> {
        let length = i32::from_be_bytes(self.array()?) as usize;
        let (nul, text) = self.take(length)?.split_last().expect("a string has its NUL");
        assert_eq!(*nul, 0);
        Ok(V::Text(text.to_vec()))
    }

    fn byte(&mut self) -> io::Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        Ok(self.take(N)?.try_into().unwrap())
    }

    /// The next bytes, which must be in one frame.
    fn take(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.at == self.payload.len() && count > 0 {
            let mut head = [0; 4];
            self.source.read_exact(&mut head)?;
            self.payload = vec![0; i32::from_be_bytes(head) as usize];
            self.source.read_exact(&mut self.payload)?;
            self.frames.push(self.payload.len());
            self.at = 0;
        }
        let start = self.at;
        self.at += count;
        assert!(self.at <= self.payload.len(), "a value is cut by its frame");
        Ok(&self.payload[start..self.at])
    }
}

/// Serves these bytes in this process, on a new database in memory. Returns the replies, and how the
/// session ended.
pub fn run_session(requests: &[u8]) -> (Vec<u8>, Result<(), ProtocolError>) {
    let (sender, replies) = channel();
    let database = Database::open(":memory:".as_ref());
    let ended = serve(requests, ChannelWriter(sender), database, &Log::default());
    (replies.into_iter().flatten().collect(), ended)
}

struct ChannelWriter(Sender<Vec<u8>>);

impl Write for ChannelWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A pseudo-random number generator with a fixed seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }

    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }

    pub fn value(&mut self) -> V {
        let bytes = |random: &mut Self| {
            let length = *random.pick(&[0, 1, 2, 5, 30, 100, 5_000, 40_000]);
            (0..length).map(|_| random.below(256) as u8).collect::<Vec<u8>>()
        };
        match self.below(8) {
            0 => V::Null,
            1 => V::Int32(*self.pick(&[0, 1, -1, i32::MAX, i32::MIN])),
            2 => V::Int32(self.below(100) as i32),
            3 => V::Int64(*self.pick(&[0, -1, i64::MAX, i64::MIN, 1 << 40])),
            4 => V::Double(*self.pick(&[0.0, -0.0, 1.5, 1e300, f64::INFINITY, -2.5])),
            5 => text(self.pick::<&str>(&["", "a", "12", "1e3x", "Namé", "a\0b", " 7 ", "x'00'"])),
            6 => V::Text(bytes(self)),
            _ => V::Blob(bytes(self)),
        }
    }
}
