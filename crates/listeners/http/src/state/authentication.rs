//! Authenticates requests, and gives each client the databases that it may see.

use crate::database::change_feed::ChangeFeed;
use crate::database::handle::DatabaseHandle;
use crate::peer::{Peer, PeerIdentity};
use crate::problem::Problem;
use crate::same_origin;
use crate::settings::{Settings, SqlAccess};
use crate::state::sessions::Sessions;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bobak::aio::Workers;
use bobak_core::statements::with_label;
use bobak_core::{Engine, Error, ErrorKind, Result};
use bobak_permissions::{Access, Caller, Credentials, ProtectedDatabase};
use bobak_serving::{LoginAttempt, LoginQueue, Principal, RateLimiter};
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, oneshot};

/// How long verified credentials are remembered. Verifying a password is slow on purpose, and each
/// request sends it.
const CREDENTIALS_TTL: Duration = Duration::from_secs(30);
/// The most credentials that are remembered.
const MAX_REMEMBERED: usize = 10_000;

/// An authenticated client.
pub(crate) struct Client {
    pub caller: Caller,
    /// The name, for the log and for quotas.
    pub name: Arc<str>,
    /// The databases that the client may see.
    pub databases: Vec<Arc<DatabaseHandle>>,
    /// Which SQL the client may send.
    pub sql: SqlAccess,
    /// The account whose permissions an administrator tries.
    pub acting_as: Option<Box<str>>,
}

/// All accounts, and the limits on guessing their credentials.
pub(crate) struct Authenticator {
    access: Access,
    /// The databases, to be restricted to what a client may do.
    protected: Vec<Arc<ProtectedDatabase>>,
    /// The same databases, unrestricted.
    databases: Vec<Arc<DatabaseHandle>>,
    /// Threads for single-row writes: those of one client and database run one at a time.
    writers: Workers,
    sql: SqlAccess,
    /// Signed-in browsers.
    pub sessions: Sessions,
    operator: Arc<Client>,
    /// Clients by the hash of their credentials. The hash keys are random, so that nobody can find
    /// credentials that collide.
    verified: Mutex<HashMap<u128, (Instant, Arc<Client>)>>,
    hash_keys: (RandomState, RandomState),
    /// Limits wrong tokens by address. It never delays a valid token.
    wrong_tokens: RateLimiter<Option<IpAddr>>,
    /// Passwords to verify, one at a time.
    logins: LoginQueue,
    login_permit: Arc<Semaphore>,
    /// Limits requests by client name and address.
    requests: Option<RateLimiter<(Arc<str>, Option<IpAddr>)>>,
}

impl Authenticator {
    /// # Errors
    /// `Io` if no thread can be started.
    pub fn new(
        access: Access,
        engines: &[(String, Arc<dyn Engine>)],
        settings: &Settings,
    ) -> Result<Self> {
        let writers = Workers::new(settings.max_workers)?;
        let caller = Caller::operator();
        let protected: Vec<_> = engines
            .iter()
            .map(|(name, engine)| ProtectedDatabase::new(name, Arc::clone(engine)))
            .collect();
        let database = |database: &Arc<ProtectedDatabase>| {
            let feed = ChangeFeed::new(database.engine());
            let engine = database.recording_engine_for(&caller);
            Arc::new(DatabaseHandle::new(Arc::clone(database), engine, feed, &writers))
        };
        let label = "operator: rows over HTTP";
        let databases: Vec<_> = with_label(label, || protected.iter().map(database).collect());
        let (name, sql) = (Arc::from(caller.name()), settings.sql);
        let operator = Client { caller, name, databases: databases.clone(), sql, acting_as: None };
        Ok(Self {
            access,
            protected,
            databases,
            writers,
            sql,
            sessions: Sessions::new(settings.session_lifetime),
            operator: Arc::new(operator),
            verified: Mutex::default(),
            hash_keys: (RandomState::new(), RandomState::new()),
            wrong_tokens: RateLimiter::new(settings.max_failed_logins, Duration::from_secs(60)),
            logins: LoginQueue::new(settings.max_failed_logins),
            login_permit: Arc::new(Semaphore::new(1)),
            requests: settings
                .rate_limit
                .map(|rate| RateLimiter::new(rate, Duration::from_secs(1))),
        })
    }

    /// Authenticates a request and counts it against the client's rate limit.
    ///
    /// # Errors
    /// 401 if credentials are missing or wrong, with the same message whatever was wrong; 403 if another site's page uses
    /// a session; 429 after too many wrong credentials, or too many requests.
    pub async fn authenticate(&self, parts: &Parts, peer: &Peer) -> Result<Arc<Client>, Problem> {
        let client = match parts.headers.get(AUTHORIZATION) {
            Some(credentials) => self.by_credentials(credentials, peer.address).await?,
            None => match self.by_session(parts)? {
                Some(client) => client,
                None if peer.is_trusted => Arc::clone(&self.operator),
                None => self.anonymous().ok_or_else(|| unauthenticated(&parts.headers))?,
            },
        };
        let (name, is_operator) = (Arc::clone(&client.name), client.caller.is_operator());
        peer.set_identity(Some(PeerIdentity { name, is_operator }));
        if let Some(requests) = &self.requests {
            let key = (Arc::clone(&client.name), network(peer.address));
            requests.acquire(key).map_err(too_many_requests)?;
        }
        Ok(client)
    }

    /// The client of the session that the request's cookie names, if there is one.
    fn by_session(&self, parts: &Parts) -> Result<Option<Arc<Client>>, Problem> {
        let Some(session) = self.sessions.of(&parts.headers) else { return Ok(None) };
        same_origin::check(parts)?;
        let key = self.hash(&session.hash);
        let client = self.remembered(key);
        Ok(Some(client.unwrap_or_else(|| self.remember(key, session.caller, session.sql))))
    }

    /// The client without credentials, if the server is public.
    fn anonymous(&self) -> Option<Arc<Client>> {
        let caller = self.access.anonymous()?;
        let key = self.hash(caller.name());
        Some(self.remembered(key).unwrap_or_else(|| self.remember(key, caller, self.sql)))
    }

    async fn by_credentials(
        &self,
        header: &HeaderValue,
        address: Option<IpAddr>,
    ) -> Result<Arc<Client>, Problem> {
        let key = self.hash(header);
        if let Some(client) = self.remembered(key) {
            return Ok(client);
        }
        let credentials = parse_credentials(header);
        let credentials = credentials.ok_or_else(|| unauthenticated(&HeaderMap::new()))?;
        let caller = self.verify(credentials, address).await?;
        Ok(self.remember(key, caller, self.sql))
    }

    /// The client whose credentials were verified a short time ago and are still valid.
    fn remembered(&self, key: u128) -> Option<Arc<Client>> {
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, client) = verified.get(&key)?;
        if since.elapsed() < CREDENTIALS_TTL && client.caller.is_current() {
            return Some(Arc::clone(client));
        }
        verified.remove(&key);
        None
    }

    fn remember(&self, key: u128, caller: Caller, sql: SqlAccess) -> Arc<Client> {
        let (name, databases) = (Arc::from(caller.name()), self.databases_of(&caller));
        let client = Arc::new(Client { caller, name, databases, sql, acting_as: None });
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if verified.len() >= MAX_REMEMBERED {
            verified.retain(|_, (since, _)| since.elapsed() < CREDENTIALS_TTL);
        }
        if verified.len() < MAX_REMEMBERED {
            verified.insert(key, (Instant::now(), Arc::clone(&client)));
        }
        client
    }

    /// Verifies a token, or a name and a password.
    ///
    /// # Errors
    /// 401 if they are wrong; 429 after too many wrong ones.
    pub async fn verify(
        &self,
        credentials: Credentials,
        address: Option<IpAddr>,
    ) -> Result<Caller, Problem> {
        match &credentials {
            Credentials::User { name, .. } => {
                let login = self.logins.admit(address, name).map_err(delayed)?;
                self.verify_password(credentials, login).await
            }
            // Verifying a token is fast, so a valid one succeeds however many wrong ones are sent.
            _ => self.access.authenticate(&credentials, false).map_err(|error| {
                match self.wrong_tokens.acquire(network(address)) {
                    Ok(()) => rejected(error),
                    Err(wait) => too_many_requests(wait),
                }
            }),
        }
    }

    /// Uses up the code of a sign-in link.
    ///
    /// # Errors
    /// 401 for a code that is not valid, or not any more; 429 after too many wrong ones.
    pub fn redeem(&self, code: &str, peer: &Peer) -> Result<Caller, Problem> {
        self.access.redeem_sign_in_code(code).map_err(|error| {
            match self.wrong_tokens.acquire(network(peer.address)) {
                Ok(()) => Problem::with_status(StatusCode::UNAUTHORIZED, error),
                Err(wait) => too_many_requests(wait),
            }
        })
    }

    /// Verifies a password on a thread of its own, one at a time: hashing takes long, and the worker
    /// threads are for authenticated clients.
    async fn verify_password(
        &self,
        credentials: Credentials,
        login: LoginAttempt,
    ) -> Result<Caller, Problem> {
        let ended = || Error::new(ErrorKind::Engine, "the login thread ended");
        let permit = Arc::clone(&self.login_permit).acquire_owned().await.map_err(|_| ended())?;
        let (access, (sender, receiver)) = (self.access.clone(), oneshot::channel());
        let thread = std::thread::Builder::new().name("bobak login".to_owned()).spawn(move || {
            let _permit = permit;
            // The client may have disconnected meanwhile.
            let _ = sender.send(access.authenticate(&credentials, false));
        });
        thread.map_err(|error| Error::io("verify a password", error))?;
        receiver.await.map_err(|_| ended())?.map_err(|error| {
            self.logins.record_wrong_password(&login);
            rejected(error)
        })
    }

    /// The databases that a caller has a permission on, through engines that check the caller's
    /// permissions.
    fn databases_of(&self, caller: &Caller) -> Vec<Arc<DatabaseHandle>> {
        if caller.is_operator() {
            return self.databases.clone();
        }
        let all = self.protected.iter().zip(&self.databases);
        let visible = all.filter(|(protected, _)| caller.can_see(protected.name()));
        let restrict = |(protected, database): (&Arc<ProtectedDatabase>, &Arc<DatabaseHandle>)| {
            let feed = database.feed.for_caller(protected, caller);
            Arc::new(database.restricted(protected.engine_for(caller), feed, &self.writers))
        };
        // Rows that several requests write together come from here.
        let label = format!("{}: rows over HTTP", caller.name());
        with_label(label, || visible.map(restrict).collect())
    }

    /// The client with all permissions.
    pub fn operator(&self) -> Arc<Client> {
        Arc::clone(&self.operator)
    }

    /// The accounts.
    pub const fn access(&self) -> &Access {
        &self.access
    }

    /// The client as another account, for an administrator who tries what that may do: `user NAME`, `token NAME` or
    /// `public`. It may only read.
    ///
    /// # Errors
    /// 403 unless the client is an administrator; 404 for an account that does not exist.
    pub fn acting_as(&self, client: &Client, account: &str) -> Result<Arc<Client>, Problem> {
        if !client.caller.is_administrator() {
            let message =
                "permission denied: only an administrator may try the permissions of others";
            return Err(Error::new(ErrorKind::Denied, message).into());
        }
        let caller = match account.split_once(' ') {
            Some(("user", name)) => self.access.as_user(name),
            Some(("token", name)) => self.access.as_token(name),
            None if account == "public" => self.access.anonymous(),
            _ => None,
        };
        let caller = caller.ok_or_else(|| {
            Problem::new(
                StatusCode::NOT_FOUND,
                ErrorKind::NotFound,
                format!("there is no {account}"),
            )
        })?;
        let sql = if self.sql == SqlAccess::None { self.sql } else { SqlAccess::Read };
        let (name, databases) = (Arc::from(caller.name()), self.databases_of(&caller));
        Ok(Arc::new(Client { caller, name, databases, sql, acting_as: Some(account.into()) }))
    }

    /// The name of the default database, for paths that name none.
    pub fn default_database(&self) -> &str {
        self.databases.first().map_or("", |database| &database.name)
    }

    /// All databases, unrestricted.
    pub fn databases(&self) -> &[Arc<DatabaseHandle>] {
        &self.databases
    }

    fn hash(&self, credentials: &(impl Hash + ?Sized)) -> u128 {
        let (high, low) = &self.hash_keys;
        u128::from(high.hash_one(credentials)) << 64 | u128::from(low.hash_one(credentials))
    }
}

impl Client {
    /// The database with this name.
    ///
    /// # Errors
    /// 404 if it does not exist or the client may not see it.
    pub fn database(&self, name: &str) -> Result<&Arc<DatabaseHandle>, Problem> {
        self.databases.iter().find(|database| database.name == name).ok_or_else(Problem::not_found)
    }
}

/// The address that limits count: of an IPv6 address its network of 64 bits, all of which one client
/// may use.
fn network(address: Option<IpAddr>) -> Option<IpAddr> {
    Principal::from_address(address).address()
}

/// Parses `Bearer TOKEN`, or `Basic` with name and password.
fn parse_credentials(header: &HeaderValue) -> Option<Credentials> {
    let (scheme, rest) = header.to_str().ok()?.split_once(' ')?;
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
fn too_many_requests(wait: Duration) -> Problem {
    let message = "too many requests: retry later";
    let seconds = HeaderValue::from(wait.as_secs() + 1);
    Problem::new(StatusCode::TOO_MANY_REQUESTS, ErrorKind::Busy, message)
        .header(RETRY_AFTER, seconds)
}

/// The problem for a password that the login queue does not admit.
fn delayed((error, wait): (Error, Option<Duration>)) -> Problem {
    wait.map_or_else(|| Problem::from(error), too_many_requests)
}

/// The command that makes credentials, for everybody who has none, or wrong ones.
const REMEDY: &str = "`bobak token` and `bobak user` make credentials for --access-file; `bobak serve` on a terminal, and \
                      `bobak studio`, show a sign-in link for browsers";

fn unauthenticated(headers: &HeaderMap) -> Problem {
    let message = "authentication required: send a bearer token, or a user name and password";
    let error = Error::new(ErrorKind::Denied, format!("{message}; {REMEDY}"));
    // The studio asks by itself. A challenge would make the browser ask, too.
    if headers.contains_key("bobak-studio") {
        return Problem::with_status(StatusCode::UNAUTHORIZED, error).logged_as(message);
    }
    unauthorized(error).logged_as(message)
}

/// The problem for wrong credentials.
fn rejected(error: Error) -> Problem {
    let message = format!("{}; {REMEDY}", error.message());
    unauthorized(Error::new(error.kind(), message)).logged_as(error.message())
}

fn unauthorized(error: Error) -> Problem {
    // One header for each scheme, because some browsers read only one scheme from each.
    let schemes = ["Basic realm=\"bobak\", charset=\"UTF-8\"", "Bearer realm=\"bobak\""];
    let problem = Problem::with_status(StatusCode::UNAUTHORIZED, error);
    schemes.into_iter().fold(problem, |problem, scheme| {
        problem.header(WWW_AUTHENTICATE, HeaderValue::from_static(scheme))
    })
}
