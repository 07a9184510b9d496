//! A database whose changes are undone.

use crate::rollback_session::RollbackSession;
use bobak::engine::{Capabilities, Engine, Estimate, Session, TransactionControl};
use bobak::schema::TableSchema;
use bobak::{Db, DbBuilder, Error, ErrorKind, Result};
use self_cell::self_cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::ThreadId;

/// Opens a database whose changes are rolled back when it is dropped, for one test: everything happens in one
/// transaction of the engine, which is never committed. Transactions of the program become savepoints of it.
///
/// The tables must exist before. Tests on one SQLite, memory or kv database run one after the other, because only
/// one transaction writes at a time; on servers they run at once.
///
/// ```
/// use bobak::prelude::*;
/// #[derive(Record)]
/// struct Account { id: i64, #[record(unique)] email: String }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let url = format!("sqlite:{}", folder.path().join("test.db").display());
/// let builder = || Db::builder().record::<Account>();
/// builder().open(&url)?.create_missing_tables()?;
///
/// let db = bobak_testing::rolled_back(builder(), &url)?;
/// db.table()?.insert(&Account { id: 0, email: "ada@example.org".into() })?;
/// drop(db);
///
/// assert_eq!(builder().open(&url)?.table::<Account>()?.count(Query::all())?, 0);
/// # Ok::<(), Error>(())
/// ```
///
/// What cannot be undone, or needs a commit, does not work: deferred foreign keys are not checked, changes are not
/// recorded for readers of the change log, and on MariaDB and MySQL tables cannot be created or changed. Numbers of generated
/// keys are not given back by servers.
///
/// # Errors
/// As [`DbBuilder::open`]; `Busy` if another test holds the database for longer than its busy timeout; `Unsupported` for a
/// Bobak server.
pub fn rolled_back(builder: DbBuilder, url: &str) -> Result<Db> {
    builder.open_engine(RollbackEngine::new(bobak::engine::open(url)?)?)
}

/// The engine behind [`rolled_back`], for engines that are open already.
pub struct RollbackEngine {
    transaction: OpenTransaction,
    /// The thread that uses the session, to detect calls from inside its callbacks.
    user: Mutex<Option<ThreadId>>,
}

/// What the one session is doing.
pub(crate) struct HeldSession<'e> {
    pub session: Box<dyn Session + 'e>,
    /// The number of the program's session that has a transaction open, and its thread.
    pub owner: Option<(u64, ThreadId)>,
    /// The number that the next session gets.
    pub next: u64,
}

self_cell!(
    struct OpenTransaction {
        owner: Arc<dyn Engine>,
        #[not_covariant]
        dependent: LockedSession,
    }
);

type LockedSession<'e> = Mutex<HeldSession<'e>>;

impl RollbackEngine {
    /// Begins the transaction.
    ///
    /// # Errors
    /// Those of the engine; `Busy` if another writer does not finish in time.
    pub fn new(engine: Arc<dyn Engine>) -> Result<Self> {
        if engine.capabilities().served {
            let message = "a Bobak server ends a transaction that is open for long: test with its engine's URL";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let transaction = OpenTransaction::try_new(engine, |engine| {
            let session = engine.session()?;
            session.control(TransactionControl::Begin)?;
            Ok::<_, Error>(Mutex::new(HeldSession { session, owner: None, next: 0 }))
        })?;
        Ok(Self { transaction, user: Mutex::new(None) })
    }

    fn user(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.user.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends the session to one call.
    ///
    /// # Errors
    /// `Misuse` inside a callback of another call; those of `run`.
    pub(crate) fn with<R>(&self, run: impl FnOnce(&mut HeldSession<'_>) -> Result<R>) -> Result<R> {
        self.transaction.with_dependent(|_, session| {
            let current = std::thread::current().id();
            let mut held = match session.try_lock() {
                Ok(held) => held,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if *self.user() == Some(current) => {
                    let message =
                        "a call from inside a callback of another call: collect the rows first";
                    return Err(Error::new(ErrorKind::Misuse, message));
                }
                Err(TryLockError::WouldBlock) => {
                    session.lock().unwrap_or_else(PoisonError::into_inner)
                }
            };
            *self.user() = Some(current);
            let result = run(&mut held);
            *self.user() = None;
            result
        })
    }

    /// The engine that has the transaction.
    pub(crate) fn inner(&self) -> &dyn Engine {
        &**self.transaction.borrow_owner()
    }
}

impl Engine for RollbackEngine {
    fn name(&self) -> &'static str {
        self.inner().name()
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let number = self.with(|held| {
            held.next += 1;
            Ok(held.next)
        })?;
        Ok(Box::new(RollbackSession::new(self, number)))
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.inner().capabilities();
        // One session, one call at a time.
        capabilities.concurrent_readers = false;
        capabilities.concurrent_writers = false;
        capabilities.nonblocking_get = false;
        capabilities
    }

    fn estimate(&self, table: &TableSchema) -> Estimate {
        self.inner().estimate(table)
    }
}
