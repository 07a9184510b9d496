//! What the example does, step by step.

use crate::load::{self, Load};
use crate::records::{Airline, Airport, Flight, Plane, Weather};
use bobak::prelude::*;
use bobak::{Result, engine};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Keeps the files of `folder` in a new database at `file`, and tells what it does.
pub fn tell(folder: &Path, file: &Path, out: &mut impl Write) -> Result<()> {
    let db = Db::builder()
        .record::<Airline>()
        .record::<Airport>()
        .record::<Plane>()
        .record::<Weather>()
        .record::<Flight>()
        .open_engine(engine::sqlite::Sqlite::builder().open(file)?)?;
    let created = db.create_missing_tables()?;
    say(out, format!("{}: {} tables", file.display(), created.len()))?;

    say(out, "\nBatches, straight from the CSV files:".to_owned())?;
    store::<Airline>(&db, folder, out)?;
    store::<Airport>(&db, folder, out)?;
    store::<Plane>(&db, folder, out)?;
    store::<Weather>(&db, folder, out)?;
    let stored = store::<Flight>(&db, folder, out)?;

    ask(&db, out)?;
    pay_refunds(&db, out)?;
    fail(&db, out)?;

    let flights = db.table::<Flight>()?;
    assert_count(flights.count(Query::all())?, stored)?;
    say(out, format!("\nRead back: every flight of the file is there, {stored} of them."))
}

/// One batch per table; each 10,000 rows are one durable commit.
fn store<T: Load>(db: &Db, folder: &Path, out: &mut impl Write) -> Result<u64> {
    let start = Instant::now();
    let mut batch = db.batch(BatchOptions::new().keep_outcomes(false));
    load::each::<T>(folder, |record| batch.insert(&record))?;
    let rows = batch.finish()?.inserted;
    let rate = rows as f64 / start.elapsed().as_secs_f64();
    say(out, format!("{rows:>8} {:<9} {rate:>12.0} rows/s, parsing included", T::FILE))?;
    Ok(rows)
}

fn ask(db: &Db, out: &mut impl Write) -> Result<()> {
    let flights = db.table::<Flight>()?;
    let late = Query::filter(Flight::DEP_DELAY.gt(60).and(Flight::ORIGIN.eq("JFK")));
    let worst = flights.list(late.clone().order_by(Flight::DEP_DELAY.desc()).limit(3))?;
    say(
        out,
        format!(
            "\nA query: {} flights left JFK over an hour late; the worst:",
            flights.count(late)?
        ),
    )?;
    for flight in worst {
        let delay = flight.dep_delay.unwrap_or_default();
        say(
            out,
            format!("  {}{} to {}: {delay} minutes", flight.carrier, flight.flight, flight.dest),
        )?;
    }

    say(out, "\nGroups: flights, miles and mean delay by origin:".to_owned())?;
    let by_origin = flights.select(
        Query::all().group_by(Flight::ORIGIN),
        (Flight::ORIGIN, count(), Flight::DISTANCE.sum(), Flight::DEP_DELAY.avg()),
    )?;
    for (origin, number, miles, delay) in by_origin {
        let (miles, delay) = (miles.unwrap_or_default(), delay.unwrap_or_default());
        say(out, format!("  {origin} {number:>7} flights {miles:>10} miles {delay:>7.1} minutes"))?;
    }

    say(out, "\nA join in SQL, read into a struct: seats flown by airline:".to_owned())?;
    let start = Instant::now();
    let by_airline = db.sql::<SeatsByAirline>(
        "SELECT a.carrier, a.name, count(*) AS flights, sum(p.seats) AS seats
           FROM flight f
           JOIN airline a ON a.carrier = f.carrier
           JOIN plane p ON p.tailnum = f.tailnum
          WHERE f.dep_delay IS NOT NULL
          GROUP BY a.carrier ORDER BY seats DESC LIMIT ?",
        (4,),
    )?;
    for row in by_airline {
        let SeatsByAirline { carrier, name, flights, seats } = row;
        say(out, format!("  {carrier}  {name:<26} {flights:>6} flights {seats:>9} seats"))?;
    }
    say(out, format!("  in {:.1} ms", start.elapsed().as_secs_f64() * 1e3))
}

#[derive(FromRow)]
struct SeatsByAirline {
    carrier: String,
    name: String,
    flights: i64,
    seats: i64,
}

/// A transaction over many rows, at the engine, and a sum that is exact.
fn pay_refunds(db: &Db, out: &mut impl Write) -> Result<()> {
    let refund: Currency = "149.90".parse()?;
    let paid = db.transaction(|transaction| {
        let flights = transaction.table::<Flight>()?;
        flights.set_where(Flight::ARR_DELAY.ge(120), [Flight::REFUND.set(refund)])?;
        flights.set_where(Flight::DEP_DELAY.is_null(), [Flight::REFUND.add(refund)])?;
        flights.sum(Query::all(), Flight::REFUND)
    })?;
    let paid = paid.unwrap_or_default();
    say(
        out,
        format!("\nA transaction: refunds for the late and the cancelled: {paid} in all, exact."),
    )
}

/// A transaction that fails in its middle.
fn fail(db: &Db, out: &mut impl Write) -> Result<()> {
    let before = db.table::<Airline>()?.count(Query::all())?;
    let result = db.transaction(|transaction| {
        let airlines = transaction.table::<Airline>()?;
        airlines.insert(&Airline { carrier: "ZZ".into(), name: "New".into() })?;
        airlines.insert(&Airline { carrier: "UA".into(), name: "There already".into() })
    });
    let after = db.table::<Airline>()?.count(Query::all())?;
    assert_count(after, before)?;
    let error = result.err().map(|error| error.to_string()).unwrap_or_default();
    say(out, format!("\nA transaction that failed: {error}: nothing of it stayed."))
}

fn assert_count(found: u64, expected: u64) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let message = format!("{found} rows where {expected} are expected");
    Err(Error::new(ErrorKind::Corrupt, message))
}

fn say(out: &mut impl Write, line: String) -> Result<()> {
    writeln!(out, "{line}").map_err(|error| Error::io("write to the terminal", error))
}
