//! Behind PgBouncer, which gives each transaction any of its connections: nothing may depend on the connection's state.

use crate::failures::{kind, server};
use crate::{conformance, model};
use bobak_core::{Engine, ErrorKind, Result};
use bobak_servers::{Options, PgBouncer};
use bobak_testkit::Fixture;
use std::sync::atomic::{AtomicU64, Ordering};

/// What docs/postgres.md says for PgBouncer.
const SETTINGS: &str = "prepared=off";
/// So many stores can be made: more than there are cases.
const STORES: usize = 1_000;

/// A server, and a proxy in front of it.
struct Proxied {
    // Before the server: it ends first.
    proxy: PgBouncer,
    server: bobak_servers::Postgres,
    made: AtomicU64,
}

impl Proxied {
    /// None if no test server is named.
    fn start() -> Option<Self> {
        // Through the proxy, lock timeouts are the server's own.
        let options =
            Options::new().setting("max_connections", "300").setting("lock_timeout", "300");
        let server = server(&options)?;
        let users: Vec<String> = (0..STORES).map(|number| format!("t{number}")).collect();
        let proxy = PgBouncer::start(&server, &users).unwrap();
        Some(Self { proxy, server, made: AtomicU64::new(0) })
    }

    /// A store in a schema of its own: that of its user, since the proxy does not pass on the setting.
    fn store(&self) -> Result<Fixture> {
        let name = format!("t{}", self.made.fetch_add(1, Ordering::Relaxed));
        let sql =
            "CREATE ROLE t0 LOGIN SUPERUSER; CREATE SCHEMA t0; ALTER ROLE t0 SET search_path = t0";
        self.server.run(&sql.replace("t0", &name)).unwrap();
        let url = format!("postgres://{name}@127.0.0.1:{}/bobak?{SETTINGS}", self.proxy.port());
        Fixture::persistent(move || {
            let engine = bobak_postgres::Postgres::open(&url)?;
            Ok(Box::new(engine) as Box<dyn Engine>)
        })
    }
}

#[test]
fn pgbouncer_passes_the_conformance_suite() {
    let Some(proxied) = Proxied::start() else { return };
    conformance::run(&|| proxied.store());
}

#[test]
fn pgbouncer_behaves_like_the_memory_engine() {
    let Some(proxied) = Proxied::start() else { return };
    model::run(301, &model::memory, &|| proxied.store());
}

#[test]
fn settings_that_a_proxy_rejects_are_named() {
    let Some(proxied) = Proxied::start() else { return };
    let open = |settings: &str| {
        let url = format!("{}?{settings}", proxied.proxy.url());
        bobak_postgres::Postgres::open(&url)
    };
    for (settings, remedy) in [("", "prepared=off"), ("prepared=off&schema=public", "ALTER ROLE")] {
        let error = open(settings).map(drop).unwrap_err();
        assert!(error.to_string().contains(remedy), "{error}");
        assert_eq!(kind(Err::<(), _>(error)), Some(ErrorKind::Config));
    }
    assert_eq!(kind(open("prepared=off")), None);
}
