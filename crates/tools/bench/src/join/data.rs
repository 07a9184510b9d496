//! The flights that left New York in 2013, from their CSV files.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bobak::{BatchOptions, Db, Record};

use super::AirlineTotals;
use crate::contender::Failure;

#[derive(Record, Clone)]
pub(super) struct Flight {
    id: i64,
    #[record(max = 2)]
    carrier: String,
    flight: i32,
    #[record(max = 6)]
    tailnum: Option<String>,
    #[record(max = 3)]
    origin: String,
    #[record(max = 3)]
    dest: String,
    dep_delay: Option<i32>,
    arr_delay: Option<i32>,
    distance: i32,
}

#[derive(Record)]
pub(super) struct Airline {
    #[record(key, max = 2)]
    carrier: String,
    #[record(max = 60)]
    name: String,
}

#[derive(Record)]
pub(super) struct Plane {
    #[record(key, max = 6)]
    tailnum: String,
    manufacturer: String,
    model: String,
    seats: i32,
}

/// All records of a run.
pub(super) struct Data {
    flights: Vec<Flight>,
    airlines: Vec<Airline>,
    planes: Vec<Plane>,
    /// What the statement must find.
    pub lines: Vec<AirlineTotals>,
}

/// The folder of the worked example, which ships one day; any number of rows repeats it.
const BUNDLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/flights/data");

static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);
static LAST: Mutex<Option<(PathBuf, Arc<Data>)>> = Mutex::new(None);

/// Reads the files of this folder from now on.
pub(crate) fn set_folder(folder: &Path) {
    *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.to_owned());
}

/// Whether there is a folder to read from.
pub(crate) fn is_there() -> bool {
    folder().join("airlines.csv").exists()
}

fn folder() -> PathBuf {
    let given = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    given.clone().unwrap_or_else(|| PathBuf::from(BUNDLED))
}

impl Data {
    /// So many flights, with all airlines and planes; kept for the next contender.
    pub fn of(flights: usize) -> Result<Arc<Self>, Failure> {
        let folder = folder();
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((from, data)) = &*last
            && *from == folder
            && data.flights.len() == flights
        {
            return Ok(Arc::clone(data));
        }
        let data = Arc::new(Self::read(&folder, flights)?);
        *last = Some((folder, Arc::clone(&data)));
        Ok(data)
    }

    fn read(folder: &Path, count: usize) -> Result<Self, Failure> {
        let mut airlines = Vec::new();
        each(folder, "airlines", usize::MAX, |line| {
            airlines.push(Airline { carrier: line.text("carrier")?, name: line.text("name")? });
            Ok(())
        })?;
        let mut planes = Vec::new();
        each(folder, "planes", usize::MAX, |line| {
            planes.push(Plane {
                tailnum: line.text("tailnum")?,
                manufacturer: line.text("manufacturer")?,
                model: line.text("model")?,
                seats: line.number("seats")?.unwrap_or_default(),
            });
            Ok(())
        })?;
        let mut day = Vec::new();
        each(folder, "flights", count, |line| {
            day.push(Flight {
                id: 0,
                carrier: line.text("carrier")?,
                flight: line.number("flight")?.unwrap_or_default(),
                tailnum: Some(line.text("tailnum")?).filter(|tail| tail != "NA"),
                origin: line.text("origin")?,
                dest: line.text("dest")?,
                dep_delay: line.number("dep_delay")?,
                arr_delay: line.number("arr_delay")?,
                distance: line.number("distance")?.unwrap_or_default(),
            });
            Ok(())
        })?;
        let flights: Vec<Flight> = day.iter().cycle().take(count).cloned().collect();
        let lines = expected(&flights, &airlines, &planes);
        Ok(Self { flights, airlines, planes, lines })
    }

    /// Stores all records where the database keeps their types.
    pub fn store(&self, db: &Db) -> Result<(), Failure> {
        store(db, &self.airlines)?;
        store(db, &self.planes)?;
        store(db, &self.flights)
    }

    pub fn flights(&self) -> usize {
        self.flights.len()
    }
}

fn store<T: Record>(db: &Db, records: &[T]) -> Result<(), Failure> {
    let mut batch = db.batch(BatchOptions::new().keep_outcomes(false));
    records.iter().try_for_each(|record| batch.insert(record))?;
    batch.finish()?;
    Ok(())
}

/// The answer by hand.
fn expected(flights: &[Flight], airlines: &[Airline], planes: &[Plane]) -> Vec<AirlineTotals> {
    let names: HashMap<_, _> = airlines.iter().map(|a| (&a.carrier, &a.name)).collect();
    let seats: HashMap<_, _> = planes.iter().map(|p| (&p.tailnum, p.seats)).collect();
    let mut lines: BTreeMap<&str, (i64, i64, i64)> = BTreeMap::new();
    for flight in flights {
        let Some(name) = names.get(&flight.carrier) else { continue };
        let Some(seats) = flight.tailnum.as_ref().and_then(|tail| seats.get(tail)) else {
            continue;
        };
        let line = lines.entry(name).or_default();
        line.0 += 1;
        line.1 += i64::from(*seats);
        line.2 += i64::from(flight.distance);
    }
    lines.into_iter().map(|(name, (n, seats, miles))| (name.to_owned(), n, seats, miles)).collect()
}

/// A line of a file, its fields found by name.
struct Fields<'a> {
    header: &'a csv::StringRecord,
    fields: &'a csv::StringRecord,
}

impl Fields<'_> {
    fn field(&self, name: &str) -> Result<&str, Failure> {
        let place = self.header.iter().position(|other| other == name);
        let found = place.and_then(|place| self.fields.get(place));
        found.ok_or_else(|| Failure::new(format!("the file has no column {name}")))
    }

    fn text(&self, name: &str) -> Result<String, Failure> {
        self.field(name).map(str::to_owned)
    }

    /// A number; none where the field is `NA`.
    fn number(&self, name: &str) -> Result<Option<i32>, Failure> {
        let text = self.field(name)?;
        if text == "NA" {
            return Ok(None);
        }
        let number = text.parse();
        number.map(Some).map_err(|_| Failure::new(format!("{name} is no number: {text}")))
    }
}

/// Returns the first lines of `NAME.csv`, or `NAME.csv.zip`.
fn each(
    folder: &Path,
    name: &str,
    most: usize,
    each: impl FnMut(&Fields<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let plain = folder.join(format!("{name}.csv"));
    if plain.exists() {
        return read(File::open(plain)?, most, each).map_err(|failure| failure.during(name));
    }
    let zipped = folder.join(format!("{name}.csv.zip"));
    let open = |path: &Path| {
        let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
        File::open(path).map_err(failed)
    };
    let bad = |error: zip::result::ZipError| Failure::new(format!("{}: {error}", zipped.display()));
    let mut archive = zip::ZipArchive::new(open(&zipped)?).map_err(bad)?;
    let member = archive.by_index(0).map_err(bad)?;
    read(member, most, each).map_err(|failure| failure.during(name))
}

fn read(
    source: impl Read,
    most: usize,
    mut each: impl FnMut(&Fields<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let bad = |error: csv::Error| Failure::new(error.to_string());
    let mut reader = csv::Reader::from_reader(std::io::BufReader::new(source));
    let header = reader.headers().map_err(bad)?.clone();
    let mut fields = csv::StringRecord::new();
    for row in 0..most {
        if !reader.read_record(&mut fields).map_err(bad)? {
            break;
        }
        each(&Fields { header: &header, fields: &fields })
            .map_err(|failure| failure.at_row(row))?;
    }
    Ok(())
}
