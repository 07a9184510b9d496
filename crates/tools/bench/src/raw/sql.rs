//! The statements of the raw contenders, and their table.

pub const CREATE: &str = "CREATE TABLE person (\
    id INTEGER PRIMARY KEY, \
    first_name VARCHAR(40) NOT NULL, \
    last_name VARCHAR(40) NOT NULL, \
    amount INTEGER NOT NULL, \
    birth_date INTEGER NOT NULL, \
    last_change INTEGER NOT NULL, \
    created_at INTEGER NOT NULL)";

/// The key comes first, as the literal NULL: the engine gives it.
pub const INSERT: &str = "INSERT INTO person \
    (id, first_name, last_name, amount, birth_date, last_change, created_at) \
    VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6)";

pub const UPDATE: &str = "UPDATE person SET first_name = ?1, last_name = ?2, amount = ?3, \
    birth_date = ?4, last_change = ?5 WHERE id = ?6";

pub const DELETE: &str = "DELETE FROM person WHERE id = ?1";

/// An existing row keeps the time when it was made.
pub const UPSERT: &str = "INSERT INTO person \
    (first_name, last_name, amount, birth_date, last_change, created_at, id) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO UPDATE SET \
    first_name = excluded.first_name, last_name = excluded.last_name, \
    amount = excluded.amount, birth_date = excluded.birth_date, \
    last_change = excluded.last_change";

pub const GET: &str = "SELECT id, first_name, last_name, amount, birth_date, last_change, \
    created_at FROM person WHERE id = ?1";

pub const ALL: &str = "SELECT id, first_name, last_name, amount, birth_date, last_change, \
    created_at FROM person ORDER BY id";
