//! The same work in plain C calls, to hold the engine against: prepared once, texts bound in place.
#![allow(unsafe_code)]

use libsqlite3_sys as sys;
use std::ffi::{CString, c_int};
use std::ptr;

pub const CREATE: &str = "CREATE TABLE sample (id INTEGER PRIMARY KEY, first_name VARCHAR(40) NOT NULL, \
    last_name VARCHAR(40) NOT NULL, amount CURRENCY NOT NULL, birth_date DATETIME NOT NULL, \
    last_change TIMESTAMP NOT NULL, created_at TIMESTAMP NOT NULL)";
const INSERT: &str = "INSERT INTO sample (first_name, last_name, amount, birth_date, last_change, \
    created_at) VALUES (?, ?, ?, ?, ?, ?)";
const ALL: &str = "SELECT id, first_name, last_name, amount, birth_date, last_change, created_at \
    FROM sample ORDER BY id";
const GET: &str = "SELECT id, first_name, last_name, amount, birth_date, last_change, created_at \
    FROM sample WHERE id = ?";

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub id: i64,
    pub first_name: String,
    pub last_name: String,
    pub numbers: [i64; 4],
}

pub struct Raw(*mut sys::sqlite3);

impl Raw {
    pub fn open(path: &str, pragmas: &str) -> Self {
        let mut raw = ptr::null_mut();
        let path = CString::new(path).unwrap();
        let flags = sys::SQLITE_OPEN_READWRITE | sys::SQLITE_OPEN_CREATE | sys::SQLITE_OPEN_NOMUTEX;
        // SAFETY: plain use of the C interface by one thread; the path ends with NUL.
        assert_eq!(0, unsafe { sys::sqlite3_open_v2(path.as_ptr(), &mut raw, flags, ptr::null()) });
        let this = Self(raw);
        this.exec(pragmas);
        this
    }

    /// Takes texts in double quotes, as every SQLite did once.
    pub fn take_quoted_strings(&self) {
        for option in [sys::SQLITE_DBCONFIG_DQS_DML, sys::SQLITE_DBCONFIG_DQS_DDL] {
            let none = ptr::null_mut::<c_int>();
            // SAFETY: as above; these options take an int and an optional pointer to one.
            assert_eq!(0, unsafe { sys::sqlite3_db_config(self.0, option, 1, none) });
        }
    }

    pub fn exec(&self, sql: &str) {
        let sql = CString::new(sql).unwrap();
        let none = ptr::null_mut();
        // SAFETY: as above.
        let code = unsafe { sys::sqlite3_exec(self.0, sql.as_ptr(), None, none, ptr::null_mut()) };
        assert_eq!(0, code);
    }

    fn prepare(&self, sql: &str) -> *mut sys::sqlite3_stmt {
        let mut statement = ptr::null_mut();
        let length = sql.len() as c_int;
        // SAFETY: as above; the text has its length.
        let code = unsafe {
            let none = ptr::null_mut();
            sys::sqlite3_prepare_v3(self.0, sql.as_ptr().cast(), length, 1, &mut statement, none)
        };
        assert_eq!(0, code);
        statement
    }

    #[inline(never)]
    pub fn insert(&self, rows: &[Sample]) -> Vec<i64> {
        let statement = self.prepare(INSERT);
        let mut keys = Vec::with_capacity(rows.len());
        for row in rows {
            // SAFETY: the texts live longer than the statement.
            unsafe {
                for (at, text) in [(1, &row.first_name), (2, &row.last_name)] {
                    let length = text.len() as c_int;
                    sys::sqlite3_bind_text(statement, at, text.as_ptr().cast(), length, None);
                }
                for (at, number) in (3..).zip(row.numbers) {
                    sys::sqlite3_bind_int64(statement, at, number);
                }
                assert_eq!(sys::SQLITE_DONE, sys::sqlite3_step(statement));
                sys::sqlite3_reset(statement);
                keys.push(sys::sqlite3_last_insert_rowid(self.0));
            }
        }
        // SAFETY: not used any more.
        unsafe { sys::sqlite3_finalize(statement) };
        keys
    }

    #[inline(never)]
    pub fn by_one(&self, keys: impl Iterator<Item = i64>) -> i64 {
        let statement = self.prepare(GET);
        let mut sum = 0;
        for key in keys {
            // SAFETY: the row is read before the next step.
            unsafe {
                sys::sqlite3_bind_int64(statement, 1, key);
                assert_eq!(sys::SQLITE_ROW, sys::sqlite3_step(statement));
                sum += owned(statement).numbers[0];
                sys::sqlite3_reset(statement);
            }
        }
        // SAFETY: not used any more.
        unsafe { sys::sqlite3_finalize(statement) };
        sum
    }

    #[inline(never)]
    pub fn all(&self) -> Vec<Sample> {
        let statement = self.prepare(ALL);
        let mut rows = Vec::new();
        // SAFETY: the row is read before the next step.
        unsafe {
            while sys::sqlite3_step(statement) == sys::SQLITE_ROW {
                rows.push(owned(statement));
            }
            sys::sqlite3_finalize(statement);
        }
        rows
    }

    #[inline(never)]
    pub fn touch(&self) -> i64 {
        let statement = self.prepare(ALL);
        let mut sum = 0;
        // SAFETY: the row is read before the next step.
        unsafe {
            while sys::sqlite3_step(statement) == sys::SQLITE_ROW {
                sum += sys::sqlite3_column_int64(statement, 0);
                for column in 1..3 {
                    sum += text(statement, column).len() as i64;
                }
                for column in 3..7 {
                    sum += sys::sqlite3_column_int64(statement, column);
                }
            }
            sys::sqlite3_finalize(statement);
        }
        sum
    }
}

/// The processor time of this thread, in seconds.
pub fn cpu_time() -> f64 {
    #[repr(C)]
    struct Time(i64, i64);
    unsafe extern "C" {
        safe fn clock_gettime(clock: c_int, time: &mut Time) -> c_int;
    }
    const THREAD: c_int = 3;
    let mut time = Time(0, 0);
    assert_eq!(0, clock_gettime(THREAD, &mut time));
    time.0 as f64 + time.1 as f64 / 1e9
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: closed once, without statements.
        unsafe { sys::sqlite3_close(self.0) };
    }
}

/// # Safety
/// The statement stands on a row.
unsafe fn owned(statement: *mut sys::sqlite3_stmt) -> Sample {
    // SAFETY: the caller says so.
    unsafe {
        let number = |column| sys::sqlite3_column_int64(statement, column);
        Sample {
            id: number(0),
            first_name: text(statement, 1).to_owned(),
            last_name: text(statement, 2).to_owned(),
            numbers: [number(3), number(4), number(5), number(6)],
        }
    }
}

/// # Safety
/// As [`owned`]; the text lives until the next step.
unsafe fn text<'a>(statement: *mut sys::sqlite3_stmt, column: c_int) -> &'a str {
    // SAFETY: the caller says so.
    let bytes = unsafe {
        let start = sys::sqlite3_column_text(statement, column);
        std::slice::from_raw_parts(start, sys::sqlite3_column_bytes(statement, column) as usize)
    };
    std::str::from_utf8(bytes).unwrap()
}
