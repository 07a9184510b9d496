//! A driver whose responses a test makes, and which notes the requests.

use bobak_oracle::driver::{
    BindKind, EachCells, OracleBind, OracleCell, OracleColumn, OracleConnect, OracleDone,
    OracleDriver, OracleFailure, OraclePlace,
};
use bobak_oracle::{Oracle, OracleBuilder};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a test makes of a statement.
pub enum Response {
    /// It returned these keys, one of each execution; `None` for an execution without a row.
    Keys(Vec<Option<i64>>),
    /// The rows of a query.
    Rows(Vec<OracleColumn>, Vec<Vec<OracleCell>>),
    Failed(OracleFailure),
}

/// A statement that was sent; the values as Rust shows them.
pub struct Call<'c> {
    pub sql: &'c str,
    pub rows: Vec<String>,
    pub limit: Option<Duration>,
}

type Respond = dyn Fn(&Call<'_>) -> Option<Response> + Send + Sync;

/// The server of a test. What the test does not response is done, on each row.
#[derive(Clone)]
pub struct Script {
    respond: Arc<Respond>,
    log: Arc<Mutex<Vec<String>>>,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Script")
    }
}

impl Script {
    pub fn new(respond: impl Fn(&Call<'_>) -> Option<Response> + Send + Sync + 'static) -> Self {
        Self { respond: Arc::new(respond), log: Arc::default() }
    }

    pub fn settings() -> OracleBuilder {
        Oracle::builder("nowhere", "shop")
            .login("ada", "secret-word")
            .busy_timeout(Duration::from_millis(50))
    }

    pub fn engine(&self) -> Oracle {
        Self::settings().connect_through(Arc::new(self.clone())).unwrap()
    }

    /// The requests since the last time: each statement's first words and how many rows it had.
    pub fn requested(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    fn ask(&self, call: &Call<'_>) -> Option<Response> {
        let words: Vec<&str> = call.sql.split(' ').take(3).collect();
        self.log.lock().unwrap().push(format!("{} × {}", words.join(" "), call.rows.len()));
        (self.respond)(call)
    }

    fn simple(&self, sql: &str, limit: Option<Duration>) -> Result<(), OracleFailure> {
        match self.ask(&Call { sql, rows: Vec::new(), limit }) {
            Some(Response::Failed(failure)) => Err(failure),
            _ => Ok(()),
        }
    }
}

impl OracleConnect for Script {
    fn connect(&self, place: &OraclePlace) -> Result<Box<dyn OracleDriver>, OracleFailure> {
        assert_eq!(place.password, "secret-word");
        self.simple("CONNECT", Some(place.timeout))?;
        Ok(Box::new(self.clone()))
    }
}

impl OracleDriver for Script {
    fn execute(
        &mut self,
        sql: &str,
        rows: &[Vec<OracleBind<'_>>],
        returned: Option<BindKind>,
        limit: Option<Duration>,
    ) -> Result<OracleDone, OracleFailure> {
        let shown: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
        let count = rows.len() as u64;
        match self.ask(&Call { sql, rows: shown, limit }) {
            Some(Response::Failed(failure)) => Err(failure),
            Some(Response::Keys(keys)) => {
                let cell = |key: Option<i64>| {
                    key.map(|key| OracleCell::Number(key.to_string())).into_iter().collect()
                };
                Ok(OracleDone { count, returned: keys.into_iter().map(cell).collect() })
            }
            Some(Response::Rows(..)) => panic!("{sql} is no query"),
            None => {
                let executions = returned.map_or(0, |_| count);
                let cells = (1..=executions).map(|key| vec![OracleCell::Number(key.to_string())]);
                Ok(OracleDone { count, returned: cells.collect() })
            }
        }
    }

    fn query(
        &mut self,
        sql: &str,
        binds: &[OracleBind<'_>],
        limit: Option<Duration>,
        each: &mut EachCells<'_>,
    ) -> Result<Vec<OracleColumn>, OracleFailure> {
        let characters = vec![vec![OracleCell::Text("AL32UTF8".to_owned())]];
        let response = self.ask(&Call { sql, rows: vec![format!("{binds:?}")], limit });
        let (columns, rows) = match response {
            Some(Response::Failed(failure)) => return Err(failure),
            Some(Response::Rows(columns, rows)) => (columns, rows),
            _ if sql.contains("NLS_CHARACTERSET") => (vec![text_column("VALUE")], characters),
            _ => (Vec::new(), Vec::new()),
        };
        for row in &rows {
            if !each(&columns, row) {
                break;
            }
        }
        Ok(columns)
    }

    fn commit(&mut self, limit: Option<Duration>) -> Result<(), OracleFailure> {
        self.simple("COMMIT", limit)
    }

    fn rollback(&mut self, limit: Option<Duration>) -> Result<(), OracleFailure> {
        self.simple("ROLLBACK", limit)
    }

    fn ping(&mut self, limit: Option<Duration>) -> Result<(), OracleFailure> {
        self.simple("PING", limit)
    }
}

pub fn text_column(name: &str) -> OracleColumn {
    OracleColumn { name: name.to_owned(), kind: bobak_oracle::driver::CellKind::Text }
}

/// An error of the server's.
pub fn server(number: u32, message: &str) -> Option<Response> {
    let message = format!("ORA-{number:05}: {message}");
    Some(Response::Failed(OracleFailure::Server(number, message)))
}

/// The connection is gone.
pub fn lost() -> Option<Response> {
    let message = "the database or network closed the connection";
    Some(Response::Failed(OracleFailure::Lost(message.to_owned())))
}
