//! A request that was let in, on its way to the file of its noun.

use crate::guests::Guest;
use crate::json::Numbers;
use crate::memory::{Memory, Taken};
use crate::model::{Base, Table};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::server::Shared;
use crate::upload::Upload;
use crate::visitor::Visitor;
use bobak_core::ErrorKind;
use bytes::{Bytes, BytesMut};
use hyper::StatusCode;
use hyper::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName};
use hyper::http::request::Parts;
use std::cmp::Reverse;
use std::sync::Arc;

/// A request, who makes it, and of which database.
pub(crate) struct Call {
    pub shared: Arc<Shared>,
    pub visitor: Arc<Visitor>,
    pub guest: Arc<Guest>,
    pub base: Arc<Base>,
    pub head: Parts,
    pub parameters: Parameters,
    body: Upload,
    /// The table that it is about, as it was found.
    table: Option<Arc<Table>>,
    /// The body, where all of it was wanted at once: kept in case the request begins again.
    whole: Option<Bytes>,
    /// The memory that it has.
    taken: Taken,
}

impl Call {
    /// # Errors
    /// 400 for parameters that can't be read.
    pub fn new(
        shared: &Arc<Shared>,
        visitor: &Arc<Visitor>,
        guest: Arc<Guest>,
        base: Arc<Base>,
        head: Parts,
        body: Upload,
    ) -> Result<Self, Problem> {
        let parameters = Parameters::read(head.uri.query())?;
        let (shared, visitor) = (Arc::clone(shared), Arc::clone(visitor));
        let (table, whole, taken) = (None, None, Taken::default());
        Ok(Self { shared, visitor, guest, base, head, parameters, body, table, whole, taken })
    }

    /// Makes ready to begin again where a table is not any more as it was found; whether it is so.
    /// A body that was read bit by bit is gone: then there is no second time.
    ///
    /// # Errors
    /// 404 where the table is not there any more; the engine's.
    pub async fn renew(&mut self) -> Result<bool, Problem> {
        let Some(before) = self.table.take() else { return Ok(false) };
        let name = before.schema.name();
        let model = self.base.model().await?;
        let now = model.table(name).ok_or_else(|| Problem::no_table(name))?;
        if Arc::ptr_eq(&before, now) || self.whole.is_none() && self.body.is_touched() {
            return Ok(false);
        }
        self.parameters = Parameters::read(self.head.uri.query())?;
        Ok(true)
    }

    /// The table with this name.
    ///
    /// # Errors
    /// 404 where there is none that may be seen.
    pub async fn table(&mut self, name: &str) -> Result<Arc<Table>, Problem> {
        let table = self.base.table(name).await?;
        self.table = Some(Arc::clone(&table));
        Ok(table)
    }

    pub const fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// How numbers are to be written: `numbers=exact` or `numbers=text`.
    ///
    /// # Errors
    /// 400 for another word.
    pub fn numbers(&mut self) -> Result<Numbers, Problem> {
        let words = [("exact", Numbers::Exact), ("text", Numbers::Text)];
        Ok(self.parameters.choice("numbers", &words)?.unwrap_or_default())
    }

    /// The whole body, which is to be of one of these media types.
    ///
    /// # Errors
    /// 415 for another type, 413 where it is too long, 408 where it does not come, 503 where the
    /// caller's bodies have as much memory as may be.
    pub async fn body(&mut self, media: &[&str]) -> Result<Bytes, Problem> {
        self.check_media(media)?;
        if let Some(whole) = &self.whole {
            return Ok(whole.clone());
        }
        let most = self.shared.settings.body;
        if self.body.least() > most as u64 {
            return Err(too_long(most));
        }
        let mut whole = Bytes::new();
        let mut more = BytesMut::new();
        while let Some(part) = self.next_part().await? {
            if whole.len() + more.len() + part.len() > most {
                return Err(too_long(most));
            }
            let bytes = whole.len() + more.len() + part.len();
            if !Memory::is_little(bytes) {
                let principal = self.visitor.principal();
                self.shared.bodies.grow(&mut self.taken, &principal, bytes)?;
            }
            if whole.is_empty() && more.is_empty() {
                whole = part;
                continue;
            }
            if more.is_empty() {
                more.extend_from_slice(&std::mem::take(&mut whole));
            }
            more.extend_from_slice(&part);
        }
        let whole = if more.is_empty() { whole } else { more.freeze() };
        self.whole = Some(whole.clone());
        Ok(whole)
    }

    /// The body's next part, `None` at its end.
    ///
    /// # Errors
    /// 408 where it does not come in time, 400 where the client breaks off.
    pub async fn next_part(&mut self) -> Result<Option<Bytes>, Problem> {
        let patience = self.shared.settings.body_timeout;
        loop {
            let late = |_| {
                let message = "the body did not come in time";
                Problem::new(StatusCode::REQUEST_TIMEOUT, ErrorKind::Timeout, message)
            };
            match tokio::time::timeout(patience, self.body.next()).await.map_err(late)? {
                None => return Ok(None),
                Some(Err(error)) => {
                    return Err(Problem::bad_request(format!("the body was broken off: {error}")));
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) if !bytes.is_empty() => return Ok(Some(bytes)),
                    // Trailers, or nothing.
                    _ => {}
                },
            }
        }
    }

    /// Refuses a body of another media type, or one that is compressed.
    ///
    /// # Errors
    /// 415.
    pub fn check_media(&self, media: &[&str]) -> Result<(), Problem> {
        let refuse = |message: String| {
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorKind::Unsupported, message)
        };
        if let Some(coding) = self.head.headers.get(CONTENT_ENCODING)
            && coding != "identity"
        {
            return Err(refuse("a body is to be sent as it is, without a coding".to_owned()));
        }
        let given = media_of(&self.head.headers, &CONTENT_TYPE);
        if media.iter().any(|known| given.eq_ignore_ascii_case(known)) {
            return Ok(());
        }
        Err(refuse(format!("the content type is to be {}", media.join(" or "))))
    }

    /// Which of these media types the client wants most: by the quality that it gives them, then as
    /// it names them, then as we do.
    ///
    /// # Errors
    /// 406 where it wants none of them.
    pub fn accepts<V: Copy>(&self, ours: &[(&str, V)]) -> Result<V, Problem> {
        let all = self.head.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let ranges: Vec<Range<'_>> =
            all.flat_map(|value| value.split(',')).map(Range::read).collect();
        if ranges.is_empty() {
            return ours.first().map(|(_, value)| *value).ok_or_else(not_acceptable);
        }
        let wanted = |(name, value): &(&str, V)| {
            // The range that says most holds, whatever wider ones say.
            let fits = ranges.iter().enumerate().filter(|(_, range)| range.fits(name));
            let (place, range) =
                fits.max_by_key(|(place, range)| (range.exactness(), Reverse(*place)))?;
            (range.quality > 0).then_some((Reverse(range.quality), place, *value))
        };
        let best =
            ours.iter().filter_map(wanted).min_by_key(|(quality, place, _)| (*quality, *place));
        best.map(|(_, _, value)| value).ok_or_else(not_acceptable)
    }

    /// Whether the client prefers an answer without the row: `Prefer: return=minimal`.
    pub fn wants_minimal(&self) -> bool {
        let prefer = self.head.headers.get_all("prefer").iter();
        prefer
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.split([',', ';']).any(|choice| choice.trim() == "return=minimal"))
    }
}

/// What a client accepts: a media type, all of a kind (`text/*`), or any.
struct Range<'h> {
    media: &'h str,
    /// In thousandths.
    quality: u32,
}

impl<'h> Range<'h> {
    fn read(text: &'h str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let quality = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        let quality = quality.and_then(|quality| quality.parse::<f32>().ok()).unwrap_or(1.0);
        // Beyond the range of a quality it is the nearest.
        Self { media, quality: (quality.clamp(0.0, 1.0) * 1_000.0) as u32 }
    }

    fn fits(&self, name: &str) -> bool {
        let kind = self.media.strip_suffix('*').filter(|kind| kind.ends_with('/'));
        self.media == "*/*"
            || self.media.eq_ignore_ascii_case(name)
            || kind.is_some_and(|kind| name.starts_with(kind))
    }

    fn exactness(&self) -> usize {
        if self.media == "*/*" { 0 } else { 1 + usize::from(!self.media.ends_with('*')) }
    }
}

/// A header's media type, without its parameters.
pub(crate) fn media_of<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h str {
    let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

fn too_long(most: usize) -> Problem {
    Problem::too_large(format!("the body is longer than {most} bytes"))
}

fn not_acceptable() -> Problem {
    let message = "none of the media types that are wanted can be had here";
    Problem::new(StatusCode::NOT_ACCEPTABLE, ErrorKind::Unsupported, message)
}
