//! A file behind the HTTP listener, in a process of its own: the same program, as `serve`. It is compared with the same
//! engine in this process, on one thread.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use bobak::Db;
use bobak::types::Timestamp;
use serde::Deserialize;

use super::contender::BobakContender;
use super::engine::BobakEngine;
use super::person::Person;
use super::remote::{Server, TOKEN, required_program, start};
use crate::contender::{Contender, Engine, Failure, TaskResult};
use crate::http::Load;
use crate::workload::{CheckedFields, Expectation, Row, Rows, Task};

/// The file that is served.
static FILE: BobakEngine = BobakEngine::file("", "journal_mode=wal&synchronous=normal");

/// The HTTP listener.
pub static HTTP: HttpEngine = HttpEngine;

/// The same engine without a listener.
pub static IN_PROCESS: InProcess = InProcess;

const TASKS: [Task; 3] = [Task::ByOneConnections, Task::DirectConnections, Task::Import];

/// See [`HTTP`].
pub struct HttpEngine;

/// See [`IN_PROCESS`].
pub struct InProcess;

struct HttpContender {
    /// What fills the file, and reads it when the clock has stopped.
    here: BobakContender,
    address: SocketAddr,
    /// Opened before the clock starts.
    load: Option<Load>,
    /// The rows to insert, as JSON; for an import, the whole request.
    texts: Vec<String>,
    import: String,
    _server: Server,
}

/// What is checked of a row that was sent.
#[derive(Deserialize)]
struct SentRow<'a> {
    id: i64,
    #[serde(borrow)]
    first_name: Cow<'a, str>,
    amount: f64,
    #[serde(borrow)]
    last_change: Cow<'a, str>,
}

/// The server's reply to an import.
#[derive(Deserialize)]
struct ImportReply {
    inserted: usize,
}

impl Engine for HttpEngine {
    fn name(&self) -> &'static str {
        "http"
    }

    fn tasks(&self) -> &'static [Task] {
        &TASKS
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        Some(&IN_PROCESS)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        let url = FILE.url(folder)?;
        let db = Db::builder().record::<Person>().open(&url)?;
        db.create_missing_tables()?;
        let tokens = folder.join("tokens");
        std::fs::write(&tokens, TOKEN)?;
        let listeners: [&OsStr; 4] =
            ["--http".as_ref(), "127.0.0.1:0".as_ref(), "--token-file".as_ref(), tokens.as_ref()];
        let (server, place) = start(&required_program()?, &url, &listeners)?;
        let address = place.strip_prefix("http://").and_then(|address| address.parse().ok());
        let address =
            address.ok_or_else(|| Failure::new(format!("the server listens at {place:?}")))?;
        let here = BobakContender::new(db, "main", &[]);
        let (texts, import) = (Vec::new(), String::new());
        Ok(Box::new(HttpContender { here, address, load: None, texts, import, _server: server }))
    }
}

impl Contender for HttpContender {
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        self.here.fill(rows)
    }

    fn load(&mut self, rows: &[Row]) -> Result<(), Failure> {
        self.texts = rows.iter().map(json).collect::<Result<_, _>>()?;
        let body: usize = self.texts.iter().map(|text| text.len() + 1).sum();
        self.import = head("POST", "import", "application/x-ndjson", body);
        for text in &self.texts {
            self.import.push_str(text);
            self.import.push('\n');
        }
        self.load = Some(Load::connect(self.address, Task::ByOneConnections.threads())?);
        Ok(())
    }

    fn run(&mut self, task: Task, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
        let load = self.load.as_mut().ok_or_else(|| Failure::new("no rows were loaded"))?;
        match task {
            Task::ByOneConnections => get_each(load, expected),
            Task::DirectConnections => insert_each(load, &self.texts),
            Task::Import => import(load, std::mem::take(&mut self.import)),
            _ => Err(Failure::new("over HTTP nothing else is measured")),
        }
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        self.here.dump()
    }
}

fn get_each(load: &mut Load, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
    let before = "GET /tables/person/rows/";
    let after = format!(" HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
    let write = |number: usize, output: &mut Vec<u8>| {
        output.extend_from_slice(before.as_bytes());
        let key = expected.keys.get(number).copied().unwrap_or_default();
        output.extend_from_slice(key.to_string().as_bytes());
        output.extend_from_slice(after.as_bytes());
    };
    load.run(expected.keys.len(), write, |number, response| {
        response.expect(200)?;
        let sent: SentRow<'_> = serde_json::from_slice(response.body)
            .map_err(|error| Failure::new(format!("no row was sent: {error}")).at_row(number))?;
        let last_change = sent.last_change.parse().map_or(i64::MIN, Timestamp::as_microsecond);
        #[expect(clippy::cast_possible_truncation, reason = "amounts of the benchmark are small")]
        let amount = (sent.amount * 10_000.0).round() as i64;
        expected.check(
            number,
            CheckedFields { id: sent.id, first_name: &sent.first_name, amount, last_change },
        )
    })?;
    Ok(TaskResult::Count(expected.keys.len()))
}

fn insert_each(load: &mut Load, texts: &[String]) -> Result<TaskResult, Failure> {
    let mut keys = vec![0; texts.len()];
    let write = |number: usize, output: &mut Vec<u8>| {
        let text = texts.get(number).map_or("", String::as_str);
        output.extend_from_slice(head("POST", "rows", "application/json", text.len()).as_bytes());
        output.extend_from_slice(text.as_bytes());
    };
    load.run(texts.len(), write, |number, response| {
        response.expect(204)?;
        let key = response.location.rsplit_once('/').and_then(|(_, key)| key.parse().ok());
        match (keys.get_mut(number), key) {
            (Some(slot), Some(key)) => *slot = key,
            _ => return Err(Failure::new("it was given no key").at_row(number)),
        }
        Ok(())
    })?;
    Ok(TaskResult::Keys(keys))
}

/// The answer has no keys: those of an empty table ascend from 1.
fn import(load: &mut Load, request: String) -> Result<TaskResult, Failure> {
    let (mut request, mut keys) = (request.into_bytes(), 0);
    load.run(
        1,
        |_, output| *output = std::mem::take(&mut request),
        |_, response| {
            response.expect(200)?;
            let imported: ImportReply = serde_json::from_slice(response.body)
                .map_err(|error| Failure::new(format!("nothing was counted: {error}")))?;
            keys = i64::try_from(imported.inserted).unwrap_or(i64::MAX);
            Ok(())
        },
    )?;
    Ok(TaskResult::Keys((1..=keys).collect()))
}

fn head(method: &str, what: &str, media: &str, body: usize) -> String {
    format!(
        "{method} /tables/person/{what} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {TOKEN}\r\n\
         prefer: return=minimal\r\ncontent-type: {media}\r\ncontent-length: {body}\r\n\r\n"
    )
}

/// A row as a client sends it: without key and stamps, which are given.
fn json(row: &Row) -> Result<String, Failure> {
    let Person { first_name, last_name, amount, birth_date, .. } = Person::from_row(row)?;
    let mut text = String::new();
    // Names of the benchmark hold nothing that JSON escapes.
    write!(
        text,
        r#"{{"first_name":"{first_name}","last_name":"{last_name}","amount":{amount},"birth_date":"{birth_date}"}}"#
    )
    .map_err(|error| Failure::new(error.to_string()))?;
    Ok(text)
}

struct InProcessContender(Box<dyn Contender>);

impl Engine for InProcess {
    fn name(&self) -> &'static str {
        "http in process"
    }

    fn tasks(&self) -> &'static [Task] {
        &TASKS
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        Ok(Box::new(InProcessContender(FILE.open(folder)?)))
    }
}

impl Contender for InProcessContender {
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        self.0.fill(rows)
    }

    fn load(&mut self, rows: &[Row]) -> Result<(), Failure> {
        self.0.load(rows)
    }

    fn run(&mut self, task: Task, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
        let here = match task {
            Task::ByOneConnections => Task::ByOne,
            Task::DirectConnections => Task::Direct,
            _ => Task::Batch,
        };
        self.0.run(here, expected)
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        self.0.dump()
    }
}
