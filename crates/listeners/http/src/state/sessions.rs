//! The sessions of browsers: who signed in, and until when.
//!
//! A session is a random id in a cookie. The server keeps only a hash of it, in memory: sessions end with the process, and
//! nothing that can be stolen is on disk. A sign-in always makes a new id, so that nobody can make a browser use an id that
//! they know (session fixation).

use crate::settings::SqlAccess;
use bobak_core::Result;
use bobak_permissions::{Caller, hash_token, new_token};
use hyper::header::{COOKIE, HOST, HeaderMap, HeaderValue};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most sessions; the oldest one ends for one more.
const MAX_SESSIONS: usize = 10_000;

/// All sessions, by the hash of their id.
pub(crate) struct Sessions {
    all: Mutex<HashMap<String, BrowserSession>>,
    lifetime: Duration,
}

/// A signed-in browser.
#[derive(Clone)]
pub(crate) struct BrowserSession {
    /// The hash of its id.
    pub hash: String,
    pub caller: Caller,
    /// Which SQL it may send.
    pub sql: SqlAccess,
    began: Instant,
}

impl Sessions {
    pub fn new(lifetime: Duration) -> Self {
        Self { all: Mutex::default(), lifetime }
    }

    /// Begins a session, and returns its id.
    ///
    /// # Errors
    /// `Engine` if the system provides no random bytes.
    pub fn begin(&self, caller: Caller, sql: SqlAccess) -> Result<String> {
        let (id, hash) = new_token()?;
        let began = Instant::now();
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, session| session.began.elapsed() < self.lifetime);
        if all.len() >= MAX_SESSIONS {
            let oldest = all.values().min_by_key(|session| session.began);
            if let Some(hash) = oldest.map(|session| session.hash.clone()) {
                all.remove(&hash);
            }
        }
        all.insert(hash.clone(), BrowserSession { hash, caller, sql, began });
        Ok(id)
    }

    /// The session that a request's cookie names, if it has not ended and its client is still valid.
    pub fn of(&self, headers: &HeaderMap) -> Option<BrowserSession> {
        let hash = hash_token(id_in(headers)?);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let session = all.get(&hash)?.clone();
        if session.began.elapsed() < self.lifetime && session.caller.is_current() {
            return Some(session);
        }
        all.remove(&hash);
        None
    }

    /// The number of sessions.
    pub fn count(&self) -> usize {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, session| session.began.elapsed() < self.lifetime);
        all.len()
    }

    /// Ends the session that a request's cookie names.
    pub fn end(&self, headers: &HeaderMap) {
        if let Some(id) = id_in(headers) {
            self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash_token(id));
        }
    }

    /// The cookie that makes a browser use the session with this id, and no other site: scripts can't read it. An empty id
    /// removes it.
    pub fn cookie(&self, headers: &HeaderMap, id: &str, is_secure: bool) -> String {
        let prefix = if is_secure { SECURE_PREFIX } else { "" };
        let name = cookie_name(headers);
        let age = if id.is_empty() { 0 } else { self.lifetime.as_secs() };
        let secure = if is_secure { "; Secure" } else { "" };
        format!("{prefix}{name}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}")
    }
}

/// Browsers take a cookie whose name begins so from a server with TLS only, and never from another host of the domain: no
/// other site can replace the session. Without TLS, as on this machine, they would reject it.
const SECURE_PREFIX: &str = "__Host-";

/// The id of the session in a request's cookies.
fn id_in(headers: &HeaderMap) -> Option<&str> {
    // Most requests have no cookie, and need no name.
    headers.get(COOKIE)?;
    let name = cookie_name(headers);
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|all| all.split(';')).filter_map(|one| one.split_once('='));
    let (mut secure, mut plain) = (None, None);
    for (other, id) in pairs {
        let other = other.trim();
        if other == name {
            plain = plain.or(Some(id.trim()));
        } else if other.strip_prefix(SECURE_PREFIX) == Some(&name) {
            secure = secure.or(Some(id.trim()));
        }
    }
    secure.or(plain)
}

/// The name of the cookie. Browsers do not keep the cookies of a host's ports apart, so the name does: otherwise two
/// servers on one machine would sign each other's clients out.
fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).map_or("", |host| HeaderValue::to_str(host).unwrap_or_default());
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    match port.parse::<u16>() {
        Ok(port) => format!("bobak-session-{port}"),
        Err(_) => "bobak-session".to_owned(),
    }
}
