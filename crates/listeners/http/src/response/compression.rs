//! Response compression: gzip and zstd, for clients that accept them.

use crate::problem::Problem;
use crate::response::builder::{Body, ResponseBuilder};
use crate::response::etag::with_compression_suffix;
use crate::workers::blocking;
use flate2::write::GzEncoder;
use hyper::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, CONTENT_ENCODING, ETAG, HeaderMap, HeaderValue, VARY,
};
use std::io::{self, Write};

/// Shorter bodies are sent as they are: most of such a response is headers.
const MIN_LENGTH: usize = 1 << 10;
/// Fast levels, because the CPU has other work.
const GZIP_LEVEL: u32 = 4;
const ZSTD_LEVEL: i32 = 1;
/// Longer bodies are compressed on a worker thread. Up to this length, waking one would take longer
/// than the compression.
const MAX_INLINE_LENGTH: usize = 8 << 10;

/// The compression of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentCoding {
    Identity,
    Gzip,
    Zstd,
}

/// A writer that compresses.
pub(crate) enum CompressionWriter<W: Write> {
    Identity(W),
    Gzip(Box<GzEncoder<W>>),
    Zstd(zstd::Encoder<'static, W>),
}

impl ContentCoding {
    /// The best compression that the client accepts.
    pub fn accepted(headers: &HeaderMap) -> Self {
        let (mut gzip, mut zstd) = (false, false);
        let values = headers.get_all(ACCEPT_ENCODING).iter();
        for choice in values.filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(','))
        {
            let (name, quality) = choice.split_once(';').unwrap_or((choice, ""));
            let quality = quality.trim().strip_prefix("q=").unwrap_or("1");
            let accepted = quality.parse::<f32>().is_ok_and(|quality| quality > 0.0);
            match name.trim() {
                "gzip" => gzip = accepted,
                "zstd" => zstd = accepted,
                _ => {}
            }
        }
        match (zstd, gzip) {
            (true, _) => Self::Zstd,
            (false, true) => Self::Gzip,
            (false, false) => Self::Identity,
        }
    }

    const fn name(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
        }
    }

    /// Sets `Content-Encoding`, `Vary` and the entity tag of a body that is compressed this way.
    pub fn set_headers(self, headers: &mut HeaderMap) {
        if let Some(name) = self.name() {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
        }
        self.set_cache_headers(headers);
    }

    /// Sets the headers of a 304 response, which must equal those of the full response (RFC 9110,
    /// section 15.4.5). `length` is the length of the omitted body.
    pub fn set_not_modified_headers(self, headers: &mut HeaderMap, length: usize) {
        if length >= MIN_LENGTH {
            self.set_cache_headers(headers);
        }
    }

    fn set_cache_headers(self, headers: &mut HeaderMap) {
        headers.append(VARY, HeaderValue::from_name(ACCEPT_ENCODING));
        let Some(name) = self.name() else { return };
        let etag = headers.get(ETAG).and_then(|etag| etag.to_str().ok());
        let etag = etag.map(|etag| HeaderValue::from_str(&with_compression_suffix(etag, name)));
        if let Some(Ok(etag)) = etag {
            headers.insert(ETAG, etag);
        }
    }
}

impl<W: Write> CompressionWriter<W> {
    /// # Errors
    /// If the encoder can't allocate its memory.
    pub fn new(inner: W, compression: ContentCoding) -> io::Result<Self> {
        Ok(match compression {
            ContentCoding::Identity => Self::Identity(inner),
            ContentCoding::Gzip => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                Self::Gzip(Box::new(GzEncoder::new(inner, level)))
            }
            ContentCoding::Zstd => Self::Zstd(zstd::Encoder::new(inner, ZSTD_LEVEL)?),
        })
    }

    /// Writes the end of the compressed data and returns the inner writer.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::Identity(inner) => Ok(inner),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for CompressionWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Identity(inner) => inner.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Identity(inner) => inner.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}

/// Compresses a response whose body is complete, if it is long enough. A value that can be read in ranges stays as it is:
/// the ranges are of its own bytes.
pub(crate) async fn compress(
    mut response: ResponseBuilder,
    compression: ContentCoding,
) -> ResponseBuilder {
    if response.headers_mut().contains_key(ACCEPT_RANGES) {
        return response;
    }
    let Body::Full(body) = response.body_mut() else { return response };
    let Some(bytes) = body.clone().filter(|bytes| bytes.len() >= MIN_LENGTH) else {
        return response;
    };
    if compression == ContentCoding::Identity {
        compression.set_headers(response.headers_mut());
        return response;
    }
    let is_long = bytes.len() > MAX_INLINE_LENGTH;
    let compress = move || -> Result<Vec<u8>, Problem> {
        let writer = CompressionWriter::new(Vec::with_capacity(bytes.len() / 4), compression);
        let compressed =
            writer.and_then(|mut writer| writer.write_all(&bytes).and_then(|()| writer.finish()));
        compressed.map_err(|error| bobak_core::Error::io("compress a response", error).into())
    };
    let compressed = if is_long { blocking::run(compress).await } else { compress() };
    // If compression fails, the plain body is sent.
    if let Ok(compressed) = compressed {
        *response.body_mut() = Body::Full(Some(compressed.into()));
        compression.set_headers(response.headers_mut());
    }
    response
}
