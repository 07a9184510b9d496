//! Authentication by token, or by user name and password.

use super::caller::{AccountKind, Caller};
use super::sign_in::SignInCodes;
use crate::policy::{Account, CallerPermissions, Policy};
use crate::secret::{hash_token, is_equal, verify_password};
use bobak_core::{Error, ErrorKind, Result};
use bobak_wire::Credentials;
use std::fs;
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

/// The fewest characters of a token that a person chose: shorter ones can be guessed by a program.
const MIN_TOKEN_LENGTH: usize = 16;
/// How often the access file is checked for changes, at most.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The stamp of a file that does not exist.
const MISSING: (SystemTime, u64) = (SystemTime::UNIX_EPOCH, 0);

/// The users, tokens and roles of a server. Cheap to clone: clones share the same state.
#[derive(Clone, Default)]
pub struct Access(Arc<AccessState>);

/// The state that callers and listeners share.
#[derive(Default)]
pub(crate) struct AccessState {
    /// Hashes of tokens with all permissions.
    operator_tokens: RwLock<Vec<String>>,
    /// Users that are not in the file.
    added_users: Mutex<Vec<Account>>,
    policy: RwLock<Arc<Policy>>,
    /// Incremented with each policy.
    version: AtomicU64,
    file: Mutex<Option<PolicyFile>>,
    started: Option<Instant>,
    /// When the file was last checked, in milliseconds since `started`.
    last_check: AtomicU64,
    /// Held while a password is verified. Each takes 19 MiB and a good part of a CPU, so one at a
    /// time.
    verifying: Mutex<()>,
    log: Mutex<Option<LogSink>>,
    sign_in_codes: Mutex<SignInCodes>,
    on_sign_in: Mutex<Option<SignInHook>>,
    /// Whether clients without credentials may read.
    public_read: AtomicBool,
}

type SignInHook = Arc<dyn Fn(&Access) + Send + Sync>;
type LogSink = Box<dyn Fn(&str) + Send + Sync>;

/// The access file.
struct PolicyFile {
    path: PathBuf,
    /// Modification time and size when it was last read; `None` before.
    stamp: Option<(SystemTime, u64)>,
    /// Whether a missing file is an empty one.
    is_optional: bool,
}

impl Access {
    /// Access for the operator only, over transports that the operating system protects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads users, tokens and roles from a text.
    ///
    /// # Errors
    /// `Config`, with the line number.
    pub fn from_text(text: &str) -> Result<Self> {
        let access = Self::new();
        access.0.set(Policy::parse(text)?);
        Ok(access)
    }

    /// Reads users, tokens and roles from a file. It is read again after a change: within a second at
    /// the next request, or without one if it is [watched](Access::watch).
    ///
    /// # Errors
    /// `Config`, with the line number; `Io`.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        Self::with_file(path.as_ref(), false)
    }

    /// As [`from_file`](Self::from_file), with a file that need not exist: [`edit`](Self::edit) creates it.
    ///
    /// # Errors
    /// As [`from_file`](Self::from_file).
    pub fn from_optional_file(path: impl AsRef<Path>) -> Result<Self> {
        Self::with_file(path.as_ref(), true)
    }

    fn with_file(path: &Path, is_optional: bool) -> Result<Self> {
        let path = path.to_owned();
        let file = Mutex::new(Some(PolicyFile { path, stamp: None, is_optional }));
        let started = Some(Instant::now());
        let access = Self(Arc::new(AccessState { file, started, ..AccessState::default() }));
        access.reload()?;
        Ok(access)
    }

    /// Accepts this token, of at least 16 characters, with all permissions.
    ///
    /// # Errors
    /// `Config` for a shorter one.
    pub fn add_token(&self, token: &str) -> Result<()> {
        if token.chars().count() < MIN_TOKEN_LENGTH {
            let message = format!("a token needs at least {MIN_TOKEN_LENGTH} characters");
            return Err(Error::new(ErrorKind::Config, message));
        }
        let mut tokens = self.0.operator_tokens.write().unwrap_or_else(PoisonError::into_inner);
        tokens.push(hash_token(token));
        Ok(())
    }

    /// Adds a user with this password hash and roles of the policy. The user is not in the file, and
    /// stays when that is read again.
    ///
    /// # Errors
    /// `Config` if the hash is not one of a password, the name exists, or a role does not.
    pub fn add_user(&self, name: &str, hash: &str, roles: &[String]) -> Result<()> {
        self.0.add(Account::user(name, hash, roles)?)
    }

    /// Calls `log` with a line when the file has changed, or cannot be read any more.
    pub fn log(&self, log: impl Fn(&str) + Send + Sync + 'static) {
        *self.0.log.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(log));
    }

    /// Checks the file for changes every second from now on, even without requests: so a mistake in
    /// it is logged while its author is still there. Ends with the last clone.
    ///
    /// # Errors
    /// `Io` if no thread can be started.
    pub fn watch(&self) -> Result<()> {
        let state = Arc::downgrade(&self.0);
        let watch = move || {
            while let Some(state) = state.upgrade() {
                state.reload_if_due();
                drop(state);
                std::thread::sleep(CHECK_INTERVAL);
            }
        };
        let thread = std::thread::Builder::new().name("bobak access".to_owned()).spawn(watch);
        thread.map(drop).map_err(|error| Error::io("watch the access file", error))
    }

    /// Reads the file again. If that fails, everything stays as it was.
    ///
    /// # Errors
    /// `Config`, with the line number; `Io`.
    pub fn reload(&self) -> Result<()> {
        self.0.reload(true)
    }

    /// Whether roles, users and tokens are kept in a file, which [`edit`](Self::edit) changes.
    #[must_use]
    pub fn has_file(&self) -> bool {
        self.file().is_some()
    }

    /// The path of the access file.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let file = self.0.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.as_ref().map(|file| file.path.clone())
    }

    pub(super) fn policy(&self) -> Arc<Policy> {
        self.0.policy()
    }

    pub(super) const fn state(&self) -> &Arc<AccessState> {
        &self.0
    }

    /// Creates a code with which one client signs in as the operator, once: a browser that opens the link which the
    /// server showed when it started. The code is valid until it is used or the process ends.
    ///
    /// # Errors
    /// `Engine` if the system provides no random bytes.
    pub fn new_sign_in_code(&self) -> Result<String> {
        self.0.sign_in_codes.lock().unwrap_or_else(PoisonError::into_inner).create()
    }

    /// Calls `hook` after a sign-in code was used, for example to show another one.
    pub fn on_sign_in(&self, hook: impl Fn(&Self) + Send + Sync + 'static) {
        *self.0.on_sign_in.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(hook));
    }

    /// Authenticates by a sign-in code, which is used up.
    ///
    /// # Errors
    /// `Denied` for a code that was used before, or that is not one of this process; the message says what to do.
    pub fn redeem_sign_in_code(&self, code: &str) -> Result<Caller> {
        let codes = self.0.sign_in_codes.lock();
        let caller = codes.unwrap_or_else(PoisonError::into_inner).redeem(code)?;
        let hook = self.0.on_sign_in.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(hook) = hook {
            hook(self);
        }
        Ok(caller)
    }

    /// Lets clients without credentials read all tables, or what the role `public` grants, if there is one. They never
    /// write, whatever that role grants.
    pub fn allow_public_read(&self) {
        self.0.public_read.store(true, Ordering::Release);
        self.0.version.fetch_add(1, Ordering::Release);
    }

    /// The client without credentials; `None` unless [`allow_public_read`](Self::allow_public_read) was called.
    #[must_use]
    pub fn anonymous(&self) -> Option<Caller> {
        let is_public = self.0.public_read.load(Ordering::Acquire);
        is_public.then(|| Caller::anonymous(&self.0))
    }

    /// Whether there is no user, no token, no sign-in code and no public access, so that nobody can connect over a network.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let codes = self.0.sign_in_codes.lock().unwrap_or_else(PoisonError::into_inner);
        if self.0.public_read.load(Ordering::Acquire) || !codes.is_empty() {
            return false;
        }
        drop(codes);
        let tokens = self.0.operator_tokens.read().unwrap_or_else(PoisonError::into_inner);
        let policy = self.0.policy();
        tokens.is_empty() && policy.user_accounts().is_empty() && policy.token_accounts().is_empty()
    }

    /// Authenticates a client. `trusted` is a transport that the operating system protects; clients
    /// without credentials are the operator there.
    ///
    /// # Errors
    /// `Denied` for missing credentials, and with one message for a wrong token, a wrong password, an
    /// unknown user and an expired account, so that a client cannot find out which users exist.
    pub fn authenticate(&self, credentials: &Credentials, trusted: bool) -> Result<Caller> {
        self.0.reload_if_due();
        let caller = match credentials {
            Credentials::None if trusted => Some(Caller::operator()),
            Credentials::None => return Err(authentication_required()),
            Credentials::Token(token) => self.by_token(token),
            Credentials::User { name, password } => self.by_password(name, password),
        };
        caller.filter(Caller::is_current).ok_or_else(|| {
            let message = "authentication failed: wrong token, user name or password";
            Error::new(ErrorKind::Denied, message)
        })
    }

    fn by_token(&self, token: &str) -> Option<Caller> {
        let hash = hash_token(token);
        let tokens = self.0.operator_tokens.read().unwrap_or_else(PoisonError::into_inner);
        // Compares all of them, so that the time reveals nothing.
        if tokens.iter().fold(false, |found, token| is_equal(token, &hash) | found) {
            return Some(Caller::operator());
        }
        let policy = self.0.policy();
        let found = policy.token_accounts().iter().fold(None, |found, account| {
            if is_equal(&account.hash, &hash) { Some(account) } else { found }
        });
        found.map(|account| Caller::from_account(account, AccountKind::Token, &self.0))
    }

    fn by_password(&self, name: &str, password: &str) -> Option<Caller> {
        let policy = self.0.policy();
        let users = policy.user_accounts();
        let user = users.iter().find(|user| user.name == name);
        // An unknown user takes as long as a known one: some password is verified in any case.
        let account = user.or(users.first())?;
        let _guard = self.0.verifying.lock().unwrap_or_else(PoisonError::into_inner);
        let is_right = verify_password(password, &account.hash);
        let user = user.filter(|_| is_right);
        user.map(|user| Caller::from_account(user, AccountKind::User, &self.0))
    }
}

/// The error for a client that sent no credentials.
fn authentication_required() -> Error {
    let message = "authentication required: send a token, or a user name and password";
    Error::new(ErrorKind::Denied, message)
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("policy", &self.0.policy()).finish_non_exhaustive()
    }
}

impl AccessState {
    /// The version of the policy, which is at most a second old.
    pub fn version(&self) -> u64 {
        self.reload_if_due();
        self.version.load(Ordering::Acquire)
    }

    /// The permissions of a user or token; `None` if it does not exist any more, or has another
    /// password or token.
    pub fn permissions_of(
        &self,
        kind: AccountKind,
        name: &str,
        hash: &str,
    ) -> Option<CallerPermissions> {
        let policy = self.policy();
        let accounts: &[Account] = match kind {
            AccountKind::User => policy.user_accounts(),
            AccountKind::Token => policy.token_accounts(),
            AccountKind::Anonymous => return Some(policy.public_permissions(name)),
        };
        let account =
            accounts.iter().find(|account| account.name == name && account.hash == hash)?;
        Some(policy.permissions_of(account))
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, user: Account) -> Result<()> {
        let mut users = self.added_users.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = (*self.policy()).clone().with_user(user.clone())?;
        users.push(user);
        self.set(policy);
        Ok(())
    }

    fn set(&self, policy: Policy) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Reads the file again if it has changed, unless it was checked a moment ago.
    fn reload_if_due(&self) {
        let Some(started) = self.started else { return };
        let now = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let last = self.last_check.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(last) >= CHECK_INTERVAL.as_millis() as u64;
        // One thread checks; the others use the permissions that are known.
        if !is_due || self.last_check.swap(now, Ordering::Relaxed) != last {
            return;
        }
        if let Err(error) = self.reload(false) {
            self.log(&format!("the access file is invalid, permissions are unchanged: {error}"));
        }
    }

    fn reload(&self, always: bool) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = &mut *file else { return Ok(()) };
        let path = file.path.display();
        let io = |error| Error::io(&format!("read {path}"), error);
        let stamp = match fs::metadata(&file.path) {
            Ok(metadata) => metadata.modified().ok().map(|time| (time, metadata.len())),
            Err(_) => Some(MISSING),
        };
        if !always && stamp == file.stamp {
            return Ok(());
        }
        let is_first = file.stamp.is_none();
        // Noted before reading, so that an error is logged once and not every second.
        file.stamp = stamp;
        let text = match fs::read_to_string(&file.path) {
            Err(error) if file.is_optional && error.kind() == NotFound => String::new(),
            text => text.map_err(io)?,
        };
        let policy = Policy::parse(&text).map_err(|error| {
            Error::new(ErrorKind::Config, format!("{path}: {}", error.message()))
        })?;
        let users = self.added_users.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.set(users.into_iter().try_fold(policy, Policy::with_user)?);
        if !is_first {
            self.log(&format!("{path} was reloaded"));
        }
        Ok(())
    }

    fn log(&self, line: &str) {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = &*log {
            log(line);
        }
    }
}
