//! Answers in fewer bytes: gzip and zstd, for clients that say they read them.

use crate::answer::{Answer, Body};
use crate::etag::with_coding;
use crate::problem::Problem;
use crate::work;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, ETAG, HeaderMap, HeaderValue, VARY};
use std::io::{self, Write};

/// Bodies below this size stay as they are: the head is most of them.
const SMALLEST: usize = 1 << 10;
/// The quick levels: a server has other work.
const GZIP: u32 = 4;
const ZSTD: i32 = 1;
/// The most that is compressed where the request is: it takes less time than to wake a worker.
const AT_ONCE: usize = 8 << 10;

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Plain,
    Gzip,
    Zstd,
}

/// What writes through a coding.
pub(crate) enum Coded<W: Write> {
    Plain(W),
    Gzip(Box<GzEncoder<W>>),
    Zstd(zstd::Encoder<'static, W>),
}

impl Coding {
    /// The best one that the client reads.
    pub fn wanted(headers: &HeaderMap) -> Self {
        let (mut gzip, mut zstd) = (false, false);
        let values = headers.get_all(ACCEPT_ENCODING).iter();
        for choice in values.filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(','))
        {
            let (name, quality) = choice.split_once(';').unwrap_or((choice, ""));
            let quality = quality.trim().strip_prefix("q=").unwrap_or("1");
            let read = quality.parse::<f32>().is_ok_and(|quality| quality > 0.0);
            match name.trim() {
                "gzip" => gzip = read,
                "zstd" => zstd = read,
                _ => {}
            }
        }
        match (zstd, gzip) {
            (true, _) => Self::Zstd,
            (false, true) => Self::Gzip,
            (false, false) => Self::Plain,
        }
    }

    const fn name(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
        }
    }

    /// Says in an answer's head how its body is written, and that it depends on the client.
    pub fn name_in(self, headers: &mut HeaderMap) {
        if let Some(name) = self.name() {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
        }
        self.tag_in(headers);
    }

    /// Says in the head of an answer that spares a body of so many bytes what it would say with it.
    pub fn spared_in(self, headers: &mut HeaderMap, bytes: usize) {
        if bytes >= SMALLEST {
            self.tag_in(headers);
        }
    }

    fn tag_in(self, headers: &mut HeaderMap) {
        headers.append(VARY, HeaderValue::from_name(ACCEPT_ENCODING));
        let Some(name) = self.name() else { return };
        let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok());
        if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&with_coding(tag, name)).ok()) {
            headers.insert(ETAG, tag);
        }
    }
}

impl<W: Write> Coded<W> {
    /// # Errors
    /// Where there is no memory for it.
    pub fn new(inner: W, coding: Coding) -> io::Result<Self> {
        Ok(match coding {
            Coding::Plain => Self::Plain(inner),
            Coding::Gzip => Self::Gzip(Box::new(GzEncoder::new(inner, Compression::new(GZIP)))),
            Coding::Zstd => Self::Zstd(zstd::Encoder::new(inner, ZSTD)?),
        })
    }

    /// Ends the coding, and gives what is behind it back.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(inner) => Ok(inner),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Coded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(inner) => inner.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(inner) => inner.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}

/// Compresses an answer whose body is there as a whole, where that is worth it.
pub(crate) async fn shrink(mut answer: Answer, coding: Coding) -> Answer {
    let Body::Whole(body) = answer.body_mut() else { return answer };
    let Some(bytes) = body.clone().filter(|bytes| bytes.len() >= SMALLEST) else { return answer };
    if coding == Coding::Plain {
        coding.name_in(answer.headers_mut());
        return answer;
    }
    let long = bytes.len() > AT_ONCE;
    let compress = move || -> Result<Vec<u8>, Problem> {
        let coded = Coded::new(Vec::with_capacity(bytes.len() / 4), coding);
        let written =
            coded.and_then(|mut coded| coded.write_all(&bytes).and_then(|()| coded.finish()));
        written.map_err(|error| bobak_core::Error::io("compress an answer", error).into())
    };
    let compressed = if long { work::run(compress).await } else { compress() };
    if let Ok(compressed) = compressed {
        *answer.body_mut() = Body::Whole(Some(compressed.into()));
        coding.name_in(answer.headers_mut());
    }
    answer
}
