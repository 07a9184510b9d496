//! Flights, airlines and planes, each on another engine, joined in one SQL statement; compared with
//! the same statement in one SQLite file, through the C API.

mod contender;
mod data;
mod raw;

pub(crate) use contender::{ENGINES, JoinEngine};
pub(crate) use data::{is_there, set_folder};
pub(crate) use raw::RAW;

/// The statement: seats and miles flown by airline.
const SQL: &str = "SELECT a.name, count(*), sum(p.seats), sum(f.distance) FROM flight f \
    JOIN airline a ON a.carrier = f.carrier JOIN plane p ON p.tailnum = f.tailnum \
    GROUP BY a.name ORDER BY a.name";

/// A row of its answer: airline, flights, seats, miles.
type AirlineTotals = (String, i64, i64, i64);
