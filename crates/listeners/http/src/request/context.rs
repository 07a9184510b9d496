//! An authenticated request, as the resources see it.

use crate::database::handle::DatabaseHandle;
use crate::database::table::CachedTable;
use crate::json::NumberFormat;
use crate::memory_budget::{MemoryBudget, MemoryReservation};
use crate::peer::Peer;
use crate::problem::Problem;
use crate::request::body::RequestBody;
use crate::request::media_type::media_type_of;
use crate::request::parameters::QueryParameters;
use crate::state::authentication::Client;
use crate::state::shared::ServerState;
use bobak_core::{Error, ErrorKind};
use bobak_permissions::Access;
use bobak_serving::Permit;
use bytes::{Bytes, BytesMut};
use hyper::StatusCode;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use hyper::http::request::Parts;
use std::sync::Arc;

/// A request with its client and database.
pub(crate) struct RequestContext {
    pub state: Arc<ServerState>,
    pub peer: Arc<Peer>,
    pub client: Arc<Client>,
    pub database: Arc<DatabaseHandle>,
    /// Method, URI and headers.
    pub parts: Parts,
    pub parameters: QueryParameters,
    body: RequestBody,
    /// The request's table, as it was cached.
    table: Option<Arc<CachedTable>>,
    /// The body once it was read completely, in case the request is restarted.
    full_body: Option<Bytes>,
    /// The memory that `full_body` occupies.
    reservation: MemoryReservation,
}

impl RequestContext {
    /// # Errors
    /// 400 for invalid parameters.
    pub fn new(
        state: &Arc<ServerState>,
        peer: &Arc<Peer>,
        client: Arc<Client>,
        database: Arc<DatabaseHandle>,
        parts: Parts,
        body: RequestBody,
    ) -> Result<Self, Problem> {
        Ok(Self {
            state: Arc::clone(state),
            peer: Arc::clone(peer),
            client,
            database,
            parameters: QueryParameters::parse(parts.uri.query())?,
            parts,
            body,
            table: None,
            full_body: None,
            reservation: MemoryReservation::default(),
        })
    }

    /// Prepares to process the request once more with the current schema. Returns `false` if that is useless because the
    /// table has not changed, or impossible because a part of the body is consumed.
    ///
    /// # Errors
    /// 404 if the table no longer exists; the engine's errors.
    pub async fn restart(&mut self) -> Result<bool, Problem> {
        let Some(before) = self.table.take() else { return Ok(false) };
        let name = before.schema.name();
        let catalog = self.database.schema.catalog().await?;
        let now = catalog.table(name).ok_or_else(|| Problem::no_table(name))?;
        if Arc::ptr_eq(&before, now) || self.full_body.is_none() && self.body.was_read() {
            return Ok(false);
        }
        self.parameters = QueryParameters::parse(self.parts.uri.query())?;
        Ok(true)
    }

    /// The table with this name.
    ///
    /// # Errors
    /// 404 if it does not exist or the client may not see it.
    pub async fn table(&mut self, name: &str) -> Result<Arc<CachedTable>, Problem> {
        let table = self.database.schema.table(name).await?;
        self.table = Some(Arc::clone(&table));
        Ok(table)
    }

    /// # Errors
    /// 403 for a client without all permissions on everything.
    pub fn check_administrator(&self) -> Result<(), Problem> {
        if self.client.caller.is_administrator() {
            return Ok(());
        }
        let message = "permission denied: only an administrator may do this, with the role `admin` or by the sign-in link";
        Err(Error::new(ErrorKind::Denied, message).into())
    }

    /// The accounts, for an administrator.
    ///
    /// # Errors
    /// As [`check_administrator`](Self::check_administrator).
    pub fn administered_access(&self) -> Result<Access, Problem> {
        self.check_administrator()?;
        Ok(self.state.authenticator.access().clone())
    }

    /// A permit for an import, an export or a batch.
    ///
    /// # Errors
    /// 503 if the client's quota is used up, or that of all clients.
    pub fn stream_permit(&self) -> Result<Permit, Problem> {
        let permit = self.state.streams.acquire(&self.peer.principal());
        permit.map_err(|scope| scope.quota_error("imports, exports and batches at a time").into())
    }

    pub const fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// Takes the number of changes of a page, which `of` names in the error.
    ///
    /// # Errors
    /// 400 for 0 and for more than the server's largest page.
    pub fn page_limit(&mut self, of: &str) -> Result<u64, Problem> {
        let limit = self.parameters.number("limit")?;
        let settings = &self.state.settings;
        let (limit, max) = (limit.unwrap_or(settings.page_size), settings.max_page_size);
        if limit == 0 || limit > max {
            let message = format!("the limit of {of} must be between 1 and {max}");
            return Err(Problem::bad_request(message));
        }
        Ok(limit)
    }

    /// Takes the parameter `numbers`: `exact` or `text`.
    ///
    /// # Errors
    /// 400 for another value.
    pub fn number_format(&mut self) -> Result<NumberFormat, Problem> {
        let choices = [("exact", NumberFormat::Exact), ("text", NumberFormat::Text)];
        Ok(self.parameters.choice("numbers", &choices)?.unwrap_or_default())
    }

    /// Reads the complete body, which must have one of these media types.
    ///
    /// # Errors
    /// 415 for another type, 413 if it is too long, 408 if it does not arrive in time, 503 if the
    /// memory quota for request bodies is used up.
    pub async fn body(&mut self, media_types: &[&str]) -> Result<Bytes, Problem> {
        self.check_media_type(media_types)?;
        if let Some(body) = &self.full_body {
            return Ok(body.clone());
        }
        let limit = self.state.settings.max_body;
        if self.body.min_length() > limit as u64 {
            return Err(body_too_long(limit));
        }
        // Most bodies arrive as one chunk, which needs no copy.
        let (mut first, mut joined) = (Bytes::new(), BytesMut::new());
        while let Some(chunk) = self.next_chunk().await? {
            let length = first.len() + joined.len() + chunk.len();
            if length > limit {
                return Err(body_too_long(limit));
            }
            if !MemoryBudget::is_small(length) {
                let principal = self.peer.principal();
                self.state.request_memory.grow(&mut self.reservation, &principal, length)?;
            }
            if first.is_empty() && joined.is_empty() {
                first = chunk;
                continue;
            }
            joined.extend_from_slice(&std::mem::take(&mut first));
            joined.extend_from_slice(&chunk);
        }
        let body = if joined.is_empty() { first } else { joined.freeze() };
        self.full_body = Some(body.clone());
        Ok(body)
    }

    /// The body's next chunk, never empty; `None` at the end.
    ///
    /// # Errors
    /// 408 if it does not arrive in time, 400 if the client aborts the request.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>, Problem> {
        let timeout = self.state.settings.body_timeout;
        loop {
            let timed_out = |_| {
                let message = "the request body did not arrive in time";
                Problem::new(StatusCode::REQUEST_TIMEOUT, ErrorKind::Timeout, message)
            };
            match tokio::time::timeout(timeout, self.body.next()).await.map_err(timed_out)? {
                None => return Ok(None),
                Some(Err(error)) => {
                    return Err(Problem::bad_request(format!(
                        "the request body was aborted: {error}"
                    )));
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) if !bytes.is_empty() => return Ok(Some(bytes)),
                    // Trailers, or an empty chunk.
                    _ => {}
                },
            }
        }
    }

    /// Checks that the body has one of these media types and is not compressed.
    ///
    /// # Errors
    /// 415.
    pub fn check_media_type(&self, media_types: &[&str]) -> Result<(), Problem> {
        let unsupported = |message: String| {
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorKind::Unsupported, message)
        };
        if let Some(encoding) = self.parts.headers.get(CONTENT_ENCODING)
            && encoding != "identity"
        {
            let message = "compressed request bodies are not supported";
            return Err(unsupported(message.to_owned()));
        }
        let given = media_type_of(&self.parts.headers, &CONTENT_TYPE);
        if media_types.iter().any(|supported| given.eq_ignore_ascii_case(supported)) {
            return Ok(());
        }
        Err(unsupported(format!("the content type must be {}", media_types.join(" or "))))
    }

    /// Whether the client prefers a response without the row: `Prefer: return=minimal` (RFC 7240).
    pub fn prefers_minimal(&self) -> bool {
        let prefer = self.parts.headers.get_all("prefer").iter();
        prefer
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.split([',', ';']).any(|choice| choice.trim() == "return=minimal"))
    }
}

fn body_too_long(limit: usize) -> Problem {
    Problem::too_large(format!("the body is longer than {limit} bytes"))
}
