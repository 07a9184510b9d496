//! A request that was let in, on its way to the file of its noun.

use crate::guests::Guest;
use crate::json::Numbers;
use crate::model::{Base, Table};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::server::Shared;
use crate::upload::Upload;
use bobak_core::ErrorKind;
use bytes::{Bytes, BytesMut};
use hyper::StatusCode;
use hyper::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName};
use hyper::http::request::Parts;
use std::sync::Arc;

/// A request, who makes it, and of which database.
pub(crate) struct Call {
    pub shared: Arc<Shared>,
    pub guest: Arc<Guest>,
    pub base: Arc<Base>,
    pub head: Parts,
    pub parameters: Parameters,
    body: Upload,
}

impl Call {
    /// # Errors
    /// 400 for parameters that can't be read.
    pub fn new(
        shared: &Arc<Shared>,
        guest: Arc<Guest>,
        base: Arc<Base>,
        head: Parts,
        body: Upload,
    ) -> Result<Self, Problem> {
        let parameters = Parameters::read(head.uri.query())?;
        Ok(Self { shared: Arc::clone(shared), guest, base, head, parameters, body })
    }

    /// The table with this name.
    ///
    /// # Errors
    /// 404 where there is none that may be seen.
    pub async fn table(&self, name: &str) -> Result<Arc<Table>, Problem> {
        self.base.table(name).await
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
    /// 415 for another type, 413 where it is too long, 408 where it does not come.
    pub async fn body(&mut self, media: &[&str]) -> Result<Bytes, Problem> {
        self.check_media(media)?;
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
            if whole.is_empty() && more.is_empty() {
                whole = part;
                continue;
            }
            if more.is_empty() {
                more.extend_from_slice(&std::mem::take(&mut whole));
            }
            more.extend_from_slice(&part);
        }
        Ok(if more.is_empty() { whole } else { more.freeze() })
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

    /// Which of these media types the client wants: the first of its list that is among them, or
    /// the first of ours where it does not mind.
    ///
    /// # Errors
    /// 406 where it wants none of them.
    pub fn accepts<V: Copy>(&self, ours: &[(&str, V)]) -> Result<V, Problem> {
        let all = self.head.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let mut wanted = all.flat_map(|value| value.split(',')).peekable();
        let first = ours.first().map(|(_, value)| *value);
        if wanted.peek().is_none() {
            return first.ok_or_else(not_acceptable);
        }
        for media in wanted {
            let media = media.split(';').next().unwrap_or_default().trim();
            let range = media.strip_suffix('*').unwrap_or(media);
            let fits = |name: &str| {
                media == "*/*" || name == media || range.ends_with('/') && name.starts_with(range)
            };
            if let Some((_, value)) = ours.iter().find(|(name, _)| fits(name)) {
                return Ok(*value);
            }
        }
        Err(not_acceptable())
    }

    /// Whether the client prefers an answer without the row: `Prefer: return=minimal`.
    pub fn wants_minimal(&self) -> bool {
        let prefer = self.head.headers.get_all("prefer").iter();
        prefer
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.split([',', ';']).any(|choice| choice.trim() == "return=minimal"))
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
