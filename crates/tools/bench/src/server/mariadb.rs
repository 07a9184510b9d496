//! MariaDB's raw contender: the usual driver, with its bulk execution for batches, which then return no keys: LOAD DATA
//! from memory was no faster, VALUES of many rows slower.

use std::hint::black_box;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, TxOpts, Value};

use super::{Home, ServerKind};
use crate::contender::{Contender, Engine, Failure, TaskResult};
use crate::workload::{CheckedFields, Expectation, ROWS_PER_COMMIT, Row, Rows, Task, now};

/// The raw contender of MariaDB.
pub static MARIADB: RawMariaDb = RawMariaDb;

const TASKS: [Task; 6] =
    [Task::Direct, Task::Batch, Task::Trans, Task::BatchTrans, Task::ByOne, Task::AllDirect];

/// With the types that Bobak gives the columns.
const CREATE: &str = "CREATE TABLE person (\
    id BIGINT AUTO_INCREMENT PRIMARY KEY, \
    first_name VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL, \
    last_name VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL, \
    amount DECIMAL(19,4) NOT NULL, \
    birth_date DATETIME(6) NOT NULL, \
    last_change DATETIME(6) NOT NULL, \
    created_at DATETIME(6) NOT NULL) ENGINE = InnoDB";
const INSERT: &str = "INSERT INTO person \
    (first_name, last_name, amount, birth_date, last_change, created_at) \
    VALUES (?, ?, ?, ?, ?, ?)";
const GET: &str = "SELECT id, first_name, last_name, amount, birth_date, last_change, created_at \
    FROM person WHERE id = ?";
const ALL: &str = "SELECT id, first_name, last_name, amount, birth_date, last_change, created_at \
    FROM person ORDER BY id";

/// See [`MARIADB`].
pub struct RawMariaDb;

struct RawContender {
    connection: Conn,
    rows: Vec<Row>,
    /// After the connection: it goes last.
    _home: Home,
}

/// Runs one statement on a connection of its own.
pub fn execute(url: &str, sql: &str) -> Result<(), Failure> {
    Ok(connect(url)?.query_drop(sql)?)
}

fn connect(url: &str) -> Result<Conn, Failure> {
    let opts = Opts::from_url(url).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Conn::new(opts)?)
}

impl From<mysql::Error> for Failure {
    fn from(error: mysql::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl Engine for RawMariaDb {
    fn name(&self) -> &'static str {
        "raw mariadb"
    }

    fn tasks(&self) -> &'static [Task] {
        &TASKS
    }

    fn syncs_each_row(&self, task: Task) -> bool {
        task == Task::Direct
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        Some(&MARIADB)
    }

    fn hold(&self) -> Option<Result<crate::contender::KeepAlive, Failure>> {
        Some(ServerKind::MariaDb.hold())
    }

    fn open(&self, _: &Path) -> Result<Box<dyn Contender>, Failure> {
        let home = Home::new(ServerKind::MariaDb)?;
        let mut connection = connect(&home.plain_url())?;
        connection.query_drop(CREATE)?;
        Ok(Box::new(RawContender { connection, rows: Vec::new(), _home: home }))
    }
}

impl Contender for RawContender {
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        in_bulk(&mut self.connection, rows)?;
        Ok(self.connection.query("SELECT id FROM person ORDER BY id")?)
    }

    fn load(&mut self, rows: &[Row]) -> Result<(), Failure> {
        self.rows = rows.to_vec();
        Ok(())
    }

    fn run(&mut self, task: Task, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
        let Self { connection, rows, .. } = self;
        match task {
            Task::Direct => insert_each(connection, rows).map(TaskResult::Keys),
            Task::Trans => {
                let mut transaction = connection.start_transaction(TxOpts::default())?;
                let keys = insert_each(&mut transaction, rows)?;
                transaction.commit()?;
                Ok(TaskResult::Keys(keys))
            }
            Task::Batch => {
                rows.chunks(ROWS_PER_COMMIT).try_for_each(|part| in_bulk(connection, part))?;
                Ok(TaskResult::Count(rows.len()))
            }
            Task::BatchTrans => {
                in_bulk(connection, rows)?;
                Ok(TaskResult::Count(rows.len()))
            }
            Task::ByOne => get_each(connection, expected),
            Task::AllDirect => Ok(TaskResult::Rows(Box::new(read_all(connection)?))),
            _ => Err(Failure::new("the raw contender does not support this")),
        }
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        Ok(Box::new(read_all(&mut self.connection)?))
    }
}

fn insert_each(connection: &mut impl Queryable, rows: &[Row]) -> Result<Vec<i64>, Failure> {
    let insert = connection.prep(format!("{INSERT} RETURNING id"))?;
    let mut keys = Vec::with_capacity(rows.len());
    for row in rows {
        let key: Option<i64> = connection.exec_first(&insert, parameters(row))?;
        keys.push(key.ok_or_else(|| Failure::new("it was given no key"))?);
    }
    Ok(keys)
}

fn in_bulk(connection: &mut Conn, rows: &[Row]) -> Result<(), Failure> {
    let mut transaction = connection.start_transaction(TxOpts::default())?;
    transaction.exec_batch(INSERT, rows.iter().map(parameters))?;
    Ok(transaction.commit()?)
}

fn get_each(connection: &mut Conn, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
    let get = connection.prep(GET)?;
    for (index, key) in expected.keys.iter().enumerate() {
        let row: Option<mysql::Row> = connection.exec_first(&get, (*key,))?;
        let row = row.ok_or_else(|| Failure::new(format!("no row has the key {key}")))?;
        let row = black_box(owned(row)?);
        let Row { id, ref first_name, amount, last_change, .. } = row;
        expected.check(index, CheckedFields { id, first_name, amount, last_change })?;
    }
    Ok(TaskResult::Count(expected.keys.len()))
}

fn read_all(connection: &mut Conn) -> Result<Vec<Row>, Failure> {
    let all = connection.prep(ALL)?;
    connection.exec_iter(&all, ())?.map(|row| owned(row?)).collect()
}

/// In the binary form; money goes as text in any form.
fn parameters(row: &Row) -> Vec<Value> {
    let stamp = moment(now());
    vec![
        row.first_name.as_bytes().into(),
        row.last_name.as_bytes().into(),
        money(row.amount).into_bytes().into(),
        moment(row.birth_date),
        stamp.clone(),
        stamp,
    ]
}

fn owned(row: mysql::Row) -> Result<Row, Failure> {
    let mut values = row.unwrap().into_iter();
    let mut next = || values.next().unwrap_or(Value::NULL);
    Ok(Row {
        id: integer(&next())?,
        first_name: text(next())?,
        last_name: text(next())?,
        amount: scaled(&next())?,
        birth_date: micros(&next())?,
        last_change: micros(&next())?,
        created_at: micros(&next())?,
    })
}

fn wrong(value: &Value) -> Failure {
    Failure::new(format!("{} is not of the column's type", value.as_sql(true)))
}

fn integer(value: &Value) -> Result<i64, Failure> {
    match value {
        Value::Int(integer) => Ok(*integer),
        other => Err(wrong(other)),
    }
}

fn text(value: Value) -> Result<String, Failure> {
    match value {
        Value::Bytes(bytes) => {
            String::from_utf8(bytes).map_err(|error| Failure::new(error.to_string()))
        }
        other => Err(wrong(&other)),
    }
}

/// An amount times 10,000, as its number in text: `-1.5000`.
fn money(scaled: i64) -> String {
    let (sign, amount) = (if scaled < 0 { "-" } else { "" }, scaled.unsigned_abs());
    format!("{sign}{}.{:04}", amount / 10_000, amount % 10_000)
}

fn scaled(value: &Value) -> Result<i64, Failure> {
    let digits = match value {
        // Four decimals always: without the point it is the number.
        Value::Bytes(bytes) => bytes.iter().filter(|byte| **byte != b'.').copied().collect(),
        _ => Vec::new(),
    };
    let text = std::str::from_utf8(&digits).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| wrong(value))
}

fn moment(micros: i64) -> Value {
    let Ok(instant) = Timestamp::from_microsecond(micros) else { return Value::NULL };
    let time = Offset::UTC.to_datetime(instant);
    let small = |number: i8| number.unsigned_abs();
    Value::Date(
        time.year().unsigned_abs(),
        small(time.month()),
        small(time.day()),
        small(time.hour()),
        small(time.minute()),
        small(time.second()),
        u32::try_from(time.subsec_nanosecond() / 1_000).unwrap_or(0),
    )
}

fn micros(value: &Value) -> Result<i64, Failure> {
    let &Value::Date(year, month, day, hour, minute, second, micro) = value else {
        return Err(wrong(value));
    };
    let date = |nanos: u32| {
        let small = |number: u8| i8::try_from(number).unwrap_or(-1);
        let nanos = i32::try_from(nanos).ok()?;
        let year = i16::try_from(year).ok()?;
        let (month, day, hour) = (small(month), small(day), small(hour));
        DateTime::new(year, month, day, hour, small(minute), small(second), nanos).ok()
    };
    let instant = date(micro * 1_000).and_then(|time| Offset::UTC.to_timestamp(time).ok());
    instant.map(Timestamp::as_microsecond).ok_or_else(|| wrong(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_and_moments_come_back() {
        for amount in [0, 1, -1, 9_999, 10_000, -15_000, i64::MAX] {
            assert_eq!(scaled(&Value::Bytes(money(amount).into_bytes())), Ok(amount));
        }
        assert_eq!(money(-15_000), "-1.5000");
        for instant in [0, -1, 1_700_000_000_123_456, -2_208_988_800_000_000] {
            assert_eq!(micros(&moment(instant)), Ok(instant));
        }
        assert!(micros(&Value::Date(0, 0, 0, 0, 0, 0, 0)).is_err());
    }
}
