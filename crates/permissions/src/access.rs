//! Who may come in: by a token, or as a user with a password.

use crate::caller::{Caller, Kind};
use crate::policy::{Account, Policy, Rights};
use crate::secret::{hash_token, is_password, same};
use bobak_core::{Error, ErrorKind, Result};
use bobak_wire::Credentials;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

/// The shortest token that somebody made up: 16 characters. A program guesses shorter ones.
const SHORTEST_TOKEN: usize = 16;
/// How often a file is looked at, at most.
const LOOK: Duration = Duration::from_secs(1);
/// The stamp of a file that is not there.
const GONE: (SystemTime, u64) = (SystemTime::UNIX_EPOCH, 0);

/// All who may come in, and what they may do. Cheap to clone: clones are the same.
#[derive(Clone, Default)]
pub struct Access(Arc<Shared>);

/// What callers and doors look at.
#[derive(Default)]
pub(crate) struct Shared {
    /// Hashes of tokens that may do everything.
    keys: RwLock<Vec<String>>,
    /// Users who are in no file.
    users: Mutex<Vec<Account>>,
    policy: RwLock<Arc<Policy>>,
    /// Raised with each policy.
    version: AtomicU64,
    file: Mutex<Option<File>>,
    begun: Option<Instant>,
    /// When the file was looked at last, in milliseconds since the beginning.
    looked: AtomicU64,
    /// One password is looked at at a time: each takes 19 MiB, and a good part of a processor.
    looking: Mutex<()>,
    log: Mutex<Option<Log>>,
}

type Log = Box<dyn Fn(&str) + Send + Sync>;

/// Where the policy is kept.
struct File {
    path: PathBuf,
    stamp: Option<(SystemTime, u64)>,
}

impl Access {
    /// Nobody, but who comes by a door that the operating system guards.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Users, tokens and roles from a text.
    ///
    /// # Errors
    /// `Config`.
    pub fn from_text(text: &str) -> Result<Self> {
        let access = Self::new();
        access.0.set(Policy::parse(text)?);
        Ok(access)
    }

    /// Users, tokens and roles from a file, which is read again when it has changed: within a
    /// second, at the next request, or by itself where somebody [watches](Access::watch).
    ///
    /// # Errors
    /// `Config`, `Io`.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let file = Mutex::new(Some(File { path, stamp: None }));
        let access =
            Self(Arc::new(Shared { file, begun: Some(Instant::now()), ..Shared::default() }));
        access.reload()?;
        Ok(access)
    }

    /// Lets in whoever shows this token of at least 16 characters, to do everything.
    ///
    /// # Errors
    /// `Config` for a shorter one.
    pub fn add_token(&self, token: &str) -> Result<()> {
        if token.chars().count() < SHORTEST_TOKEN {
            let message = format!("a token has at least {SHORTEST_TOKEN} characters");
            return Err(Error::new(ErrorKind::Config, message));
        }
        let mut keys = self.0.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.push(hash_token(token));
        Ok(())
    }

    /// Lets in a user, whose password has this hash, with roles of the policy. What is added so is
    /// not in the file, and stays when that is read again.
    ///
    /// # Errors
    /// `Config` where the hash is none, the name is there, or a role is not.
    pub fn add_user(&self, name: &str, hash: &str, roles: &[String]) -> Result<()> {
        self.0.add(Account::user(name, hash, roles)?)
    }

    /// Is told, in a line, when the file has changed, or can't be read any more.
    pub fn log(&self, log: impl Fn(&str) + Send + Sync + 'static) {
        *self.0.log.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(log));
    }

    /// Looks at the file every second from now on, whether anybody comes or not, so that a mistake
    /// in it is logged while who made it still sits there. It ends with the last clone of this.
    ///
    /// # Errors
    /// `Io` where there can be no thread.
    pub fn watch(&self) -> Result<()> {
        let shared = Arc::downgrade(&self.0);
        let watch = move || {
            while let Some(shared) = shared.upgrade() {
                shared.look();
                drop(shared);
                std::thread::sleep(LOOK);
            }
        };
        let thread = std::thread::Builder::new().name("rights".to_owned()).spawn(watch);
        thread.map(drop).map_err(|error| Error::io("watch the access file", error))
    }

    /// Reads the file again. Where that fails all stays as it was.
    ///
    /// # Errors
    /// `Config`, `Io`.
    pub fn reload(&self) -> Result<()> {
        self.0.reload(true)
    }

    /// Whether nobody may come in over a network.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let keys = self.0.keys.read().unwrap_or_else(PoisonError::into_inner);
        let policy = self.0.policy();
        keys.is_empty() && policy.user_accounts().is_empty() && policy.token_accounts().is_empty()
    }

    /// Lets somebody in. `trusted` is a door that the operating system guards: who comes by it
    /// without a word is the operator.
    ///
    /// # Errors
    /// `Denied`, in the same words whatever was wrong.
    pub fn check(&self, credentials: &Credentials, trusted: bool) -> Result<Caller> {
        self.0.look();
        let caller = match credentials {
            Credentials::None if trusted => Some(Caller::operator()),
            Credentials::None => {
                let message = "the server wants a token, or a user with a password";
                return Err(Error::new(ErrorKind::Denied, message));
            }
            Credentials::Token(token) => self.by_token(token),
            Credentials::User { name, password } => self.by_password(name, password),
        };
        // One whose time is over is told no more than one who was never there.
        let caller = caller.filter(Caller::is_current);
        caller.ok_or_else(|| {
            let message = "the token, the user or the password is wrong";
            Error::new(ErrorKind::Denied, message)
        })
    }

    fn by_token(&self, token: &str) -> Option<Caller> {
        let hash = hash_token(token);
        let keys = self.0.keys.read().unwrap_or_else(PoisonError::into_inner);
        // All are compared, so that the time tells nothing.
        if keys.iter().fold(false, |found, key| same(key, &hash) | found) {
            return Some(Caller::operator());
        }
        let policy = self.0.policy();
        let found = policy.token_accounts().iter().fold(None, |found, account| {
            if same(&account.hash, &hash) { Some(account) } else { found }
        });
        found.map(|account| Caller::guest(account, Kind::Token, &self.0))
    }

    fn by_password(&self, name: &str, password: &str) -> Option<Caller> {
        let policy = self.0.policy();
        let users = policy.user_accounts();
        let user = users.iter().find(|user| user.name == name);
        // A user that is not there takes as long as one that is.
        let account = user.or(users.first())?;
        let _one = self.0.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let right = is_password(password, &account.hash);
        user.filter(|_| right).map(|user| Caller::guest(user, Kind::User, &self.0))
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("policy", &self.0.policy()).finish_non_exhaustive()
    }
}

impl Shared {
    /// The number of the policy, which was looked at within the last second.
    pub fn version(&self) -> u64 {
        self.look();
        self.version.load(Ordering::Acquire)
    }

    /// What a user or token may do; `None` where it is not there any more, or has another secret by
    /// now.
    pub fn rights_of(&self, kind: Kind, name: &str, hash: &str) -> Option<Rights> {
        let policy = self.policy();
        let accounts: &[Account] = match kind {
            Kind::User => policy.user_accounts(),
            Kind::Token => policy.token_accounts(),
        };
        let account =
            accounts.iter().find(|account| account.name == name && account.hash == hash)?;
        Some(policy.rights_of(account))
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, user: Account) -> Result<()> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = (*self.policy()).clone().with_user(user.clone())?;
        users.push(user);
        self.set(policy);
        Ok(())
    }

    fn set(&self, policy: Policy) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Reads the file again, if it has changed, and was not looked at a moment ago.
    fn look(&self) {
        let Some(begun) = self.begun else { return };
        let now = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let looked = self.looked.load(Ordering::Relaxed);
        let due = now.saturating_sub(looked) >= LOOK.as_millis() as u64;
        if !due || self.looked.swap(now, Ordering::Relaxed) != looked {
            return;
        }
        if let Err(error) = self.reload(false) {
            self.say(&format!("the rights stay as they were: {error}"));
        }
    }

    fn reload(&self, always: bool) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = &mut *file else { return Ok(()) };
        let shown = file.path.display();
        let io = |error| Error::io(&format!("read {shown}"), error);
        let stamp = match fs::metadata(&file.path) {
            Ok(found) => found.modified().ok().map(|time| (time, found.len())),
            Err(_) => Some(GONE),
        };
        if !always && stamp == file.stamp {
            return Ok(());
        }
        let first = file.stamp.is_none();
        // Also where it can't be read: it is said once.
        file.stamp = stamp;
        let text = fs::read_to_string(&file.path).map_err(io)?;
        let policy = Policy::parse(&text).map_err(|error| {
            Error::new(ErrorKind::Config, format!("{shown}: {}", error.message()))
        })?;
        let users = self.users.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.set(users.into_iter().try_fold(policy, Policy::with_user)?);
        if !first {
            self.say(&format!("{shown} was read again"));
        }
        Ok(())
    }

    fn say(&self, line: &str) {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = &*log {
            log(line);
        }
    }
}
