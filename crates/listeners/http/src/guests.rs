//! Who asks, and what they may see: the one place that knows of rights.

use crate::feed::Feed;
use crate::model::Base;
use crate::problem::Problem;
use crate::settings::{Settings, SqlAccess};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bobak::aio::Workers;
use bobak_core::{Engine, Error, ErrorKind, Result};
use bobak_permissions::{Access, Caller, Credentials, Protected};
use bobak_serving::{LoginAttempt, LoginQueue, Principal, RateLimiter};
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, oneshot};

/// How long credentials that were right need not be looked at again: a password takes much work.
const REMEMBERED: Duration = Duration::from_secs(30);
/// The most of them that are remembered.
const MOST: usize = 10_000;

/// Somebody who was let in.
pub(crate) struct Guest {
    caller: Caller,
    /// For the log, and for limits.
    pub name: String,
    pub bases: Vec<Arc<Base>>,
    pub sql: SqlAccess,
}

/// All who may come in.
pub(crate) struct Guests {
    access: Access,
    /// The databases, for callers to be put before.
    databases: Vec<Arc<Protected>>,
    /// The same as the operator sees them.
    bases: Vec<Arc<Base>>,
    /// The threads of single writes, one at a time for each guest's database.
    writers: Workers,
    sql: SqlAccess,
    operator: Arc<Guest>,
    /// By the hash of what they showed, under keys that nobody knows.
    known: Mutex<HashMap<u128, (Instant, Arc<Guest>)>>,
    keys: (RandomState, RandomState),
    /// Of wrong tokens, by address. A right one is let in all the same.
    strangers: RateLimiter<Option<IpAddr>>,
    /// Passwords that wait, and one permit to look at one.
    logins: LoginQueue,
    turn: Arc<Semaphore>,
    /// Of requests, by name and address.
    requests: Option<RateLimiter<(String, Option<IpAddr>)>>,
}

impl Guests {
    /// # Errors
    /// `Io` where no thread can be started.
    pub fn new(
        access: Access,
        databases: &[(String, Arc<dyn Engine>)],
        settings: &Settings,
    ) -> Result<Self> {
        let sql = settings.sql;
        let writers = Workers::new(settings.workers)?;
        let caller = Caller::operator();
        let databases: Vec<_> = databases
            .iter()
            .map(|(name, engine)| Protected::new(name, Arc::clone(engine)))
            .collect();
        let base = |database: &Arc<Protected>| {
            let feed = Feed::new(database.engine());
            Arc::new(Base::new(database.name(), database.engine_for(&caller), feed, &writers))
        };
        let bases: Vec<_> = databases.iter().map(base).collect();
        let name = caller.name().to_owned();
        let operator = Guest { caller, name, bases: bases.clone(), sql };
        let keys = (RandomState::new(), RandomState::new());
        Ok(Self {
            access,
            databases,
            bases,
            writers,
            sql,
            operator: Arc::new(operator),
            known: Mutex::default(),
            keys,
            strangers: RateLimiter::new(settings.refusals, Duration::from_secs(60)),
            logins: LoginQueue::new(settings.refusals),
            turn: Arc::new(Semaphore::new(1)),
            requests: settings.rate.map(|rate| RateLimiter::new(rate, Duration::from_secs(1))),
        })
    }

    /// The guest of a request's head; `None` where it must be looked at by [`admit`](Self::admit).
    ///
    /// # Errors
    /// 401 where nobody said who they are, and `trusted` is not set.
    pub fn known(&self, headers: &HeaderMap, trusted: bool) -> Result<Option<Arc<Guest>>, Problem> {
        let Some(shown) = headers.get(AUTHORIZATION) else {
            return if trusted { Ok(Some(Arc::clone(&self.operator))) } else { Err(stranger()) };
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let hash = self.hash(shown);
        match known.get(&hash) {
            Some((since, guest)) if since.elapsed() < REMEMBERED && guest.caller.is_current() => {
                Ok(Some(Arc::clone(guest)))
            }
            Some(_) => {
                known.remove(&hash);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// Looks at what somebody shows.
    ///
    /// # Errors
    /// 401 where it is wrong, in the same words whatever was wrong; 429 where it was so too often.
    pub async fn admit(
        self: &Arc<Self>,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
    ) -> Result<Arc<Guest>, Problem> {
        let shown = headers.get(AUTHORIZATION).ok_or_else(stranger)?;
        let credentials = read(shown).ok_or_else(stranger)?;
        let caller = match &credentials {
            Credentials::User { name, .. } => {
                let login = self.logins.admit(peer, name).map_err(held_up)?;
                self.by_password(credentials, login).await?
            }
            // Quickly done, so that a right one is never kept out by others' wrong ones.
            _ => self.access.check(&credentials, false).map_err(|error| {
                match self.strangers.acquire(network(peer)) {
                    Ok(()) => refused(StatusCode::UNAUTHORIZED, error),
                    Err(wait) => too_often(wait),
                }
            })?,
        };
        let (name, bases) = (caller.name().to_owned(), self.bases_of(&caller));
        let guest = Arc::new(Guest { caller, name, bases, sql: self.sql });
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|_, (since, _)| since.elapsed() < REMEMBERED);
        }
        if known.len() < MOST {
            known.insert(self.hash(shown), (Instant::now(), Arc::clone(&guest)));
        }
        Ok(guest)
    }

    /// Looks at a password: one at a time, on a thread of its own, since it takes long, and workers
    /// are for those who are in.
    async fn by_password(
        &self,
        credentials: Credentials,
        login: LoginAttempt,
    ) -> Result<Caller, Problem> {
        let ended = || Error::new(ErrorKind::Engine, "the thread of a log-in ended");
        let turn = Arc::clone(&self.turn).acquire_owned().await.map_err(|_| ended())?;
        let (access, (told, hears)) = (self.access.clone(), oneshot::channel());
        let thread = std::thread::Builder::new().name("bobak log-in".to_owned()).spawn(move || {
            let _turn = turn;
            // Who has gone meanwhile hears nothing.
            let _ = told.send(access.check(&credentials, false));
        });
        thread.map_err(|error| Error::io("look at a password", error))?;
        let checked = hears.await.map_err(|_| ended())?;
        checked.map_err(|error| {
            self.logins.record_wrong_password(&login);
            refused(StatusCode::UNAUTHORIZED, error)
        })
    }

    /// What a caller sees: databases that it has a right on, their engines with its rights before
    /// them.
    fn bases_of(&self, caller: &Caller) -> Vec<Arc<Base>> {
        if caller.is_operator() {
            return self.bases.clone();
        }
        let all = self.databases.iter().zip(&self.bases);
        let seen = all.filter(|(database, _)| caller.sees(database.name()));
        let base = |(database, base): (&Arc<Protected>, &Arc<Base>)| {
            let feed = base.feed.for_caller(database, caller);
            Arc::new(base.seen_through(database.engine_for(caller), feed, &self.writers))
        };
        seen.map(base).collect()
    }

    /// Counts a request.
    ///
    /// # Errors
    /// 429 where there were too many.
    pub fn count(&self, guest: &Guest, peer: Option<IpAddr>) -> Result<(), Problem> {
        match &self.requests {
            None => Ok(()),
            Some(requests) => {
                requests.acquire((guest.name.clone(), network(peer))).map_err(too_often)
            }
        }
    }

    /// The name of the database that paths mean which name none, whoever asks.
    pub fn first(&self) -> &str {
        self.bases.first().map_or("", |base| &base.name)
    }

    /// All databases, whoever may see them: to be flushed at the end.
    pub fn bases(&self) -> &[Arc<Base>] {
        &self.bases
    }

    fn hash(&self, shown: &HeaderValue) -> u128 {
        let (high, low) = (self.keys.0.hash_one(shown), self.keys.1.hash_one(shown));
        u128::from(high) << 64 | u128::from(low)
    }
}

impl Guest {
    /// Whether it may do everything.
    pub fn is_operator(&self) -> bool {
        self.caller.is_operator()
    }

    /// The database with this name.
    ///
    /// # Errors
    /// 404.
    pub fn base(&self, name: &str) -> Result<&Arc<Base>, Problem> {
        self.bases.iter().find(|base| base.name == name).ok_or_else(Problem::not_found)
    }
}

/// What an address is counted as: whoever has one of version 6 has its whole network.
fn network(peer: Option<IpAddr>) -> Option<IpAddr> {
    Principal::from_address(peer).address()
}

/// Reads `Bearer TOKEN` or `Basic` with name and password.
fn read(shown: &HeaderValue) -> Option<Credentials> {
    let (scheme, rest) = shown.to_str().ok()?.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(Credentials::Token(rest.to_owned()));
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(BASE64.decode(rest).ok()?).ok()?;
    let (name, password) = text.split_once(':')?;
    Some(Credentials::User { name: name.to_owned(), password: password.to_owned() })
}

#[cold]
fn too_often(wait: Duration) -> Problem {
    let message = "too many requests: wait, and ask again";
    let seconds = HeaderValue::from(wait.as_secs() + 1);
    Problem::new(StatusCode::TOO_MANY_REQUESTS, ErrorKind::Busy, message)
        .header(RETRY_AFTER, seconds)
}

/// What somebody is told whose password is not looked at.
fn held_up((error, wait): (Error, Option<Duration>)) -> Problem {
    wait.map_or_else(|| Problem::from(error), too_often)
}

fn stranger() -> Problem {
    let message = "a token, or a user with a password, is wanted";
    refused(StatusCode::UNAUTHORIZED, Error::new(ErrorKind::Denied, message))
}

fn refused(status: StatusCode, error: Error) -> Problem {
    // A line for each, since browsers take a line for one scheme.
    let schemes = ["Basic realm=\"bobak\", charset=\"UTF-8\"", "Bearer realm=\"bobak\""];
    schemes.into_iter().fold(Problem::with(status, error), |problem, scheme| {
        problem.header(WWW_AUTHENTICATE, HeaderValue::from_static(scheme))
    })
}
