//! The CSV files, as records.

use crate::records::{Airline, Airport, DaylightSaving, Flight, Plane, Weather};
use bobak::types::Currency;
use bobak::{Error, ErrorKind, Record, Result};
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;
use std::str::FromStr;

/// A record that a line of its file describes.
pub trait Load: Record {
    /// The file's name, without `.csv`.
    const FILE: &'static str;

    /// The record of a line.
    fn load(line: &CsvLine<'_>) -> Result<Self>;
}

/// A line of a CSV file, its fields found by name.
pub struct CsvLine<'a> {
    header: &'a csv::StringRecord,
    fields: &'a csv::StringRecord,
}

impl CsvLine<'_> {
    fn text(&self, name: &str) -> Result<&str> {
        let place = self.header.iter().position(|other| other == name);
        place.and_then(|place| self.fields.get(place)).ok_or_else(|| {
            Error::new(ErrorKind::Schema, "the file has no such column").in_column(name)
        })
    }

    fn get<V: FromStr>(&self, name: &str) -> Result<V> {
        let text = self.text(name)?;
        text.parse().map_err(|_| {
            let what = std::any::type_name::<V>();
            Error::new(ErrorKind::Mismatch, format!("'{text}' is not a {what}")).in_column(name)
        })
    }

    /// As `get`; `NA` stands for nothing.
    fn optional<V: FromStr>(&self, name: &str) -> Result<Option<V>> {
        if self.text(name)? == "NA" { Ok(None) } else { self.get(name).map(Some) }
    }
}

/// Hands each record of a table's file in `folder` to `each`: from `NAME.csv`, or `NAME.csv.zip`.
pub fn each<T: Load>(folder: &Path, mut each: impl FnMut(T) -> Result<()>) -> Result<u64> {
    let plain = folder.join(format!("{}.csv", T::FILE));
    if plain.exists() {
        return read(open(&plain)?, &mut each);
    }
    let zipped = folder.join(format!("{}.csv.zip", T::FILE));
    let bad = |error: zip::result::ZipError| {
        let message = format!("{} is not a zip file: {error}", zipped.display());
        Error::new(ErrorKind::Corrupt, message).with_source(error)
    };
    let mut archive = zip::ZipArchive::new(open(&zipped)?).map_err(bad)?;
    let member = archive.by_index(0).map_err(bad)?;
    read(member, &mut each)
}

fn open(path: &Path) -> Result<impl Read + Seek> {
    let doing = format!("open {}", path.display());
    Ok(BufReader::new(File::open(path).map_err(|error| Error::io(&doing, error))?))
}

fn read<T: Load>(source: impl Read, each: &mut impl FnMut(T) -> Result<()>) -> Result<u64> {
    let bad = |error: csv::Error| {
        let message = format!("{}.csv can't be read: {error}", T::FILE);
        Error::new(ErrorKind::Corrupt, message).with_source(error)
    };
    let mut reader = csv::Reader::from_reader(source);
    let header = reader.headers().map_err(bad)?.clone();
    let (mut fields, mut rows) = (csv::StringRecord::new(), 0);
    while reader.read_record(&mut fields).map_err(bad)? {
        let record = T::load(&CsvLine { header: &header, fields: &fields });
        each(record.map_err(|error| error.in_table(T::FILE).at_row(rows))?)?;
        rows += 1;
    }
    Ok(rows)
}

impl Load for Airline {
    const FILE: &'static str = "airlines";

    fn load(line: &CsvLine<'_>) -> Result<Self> {
        Ok(Self { carrier: line.get("carrier")?, name: line.get("name")? })
    }
}

impl Load for Airport {
    const FILE: &'static str = "airports";

    fn load(line: &CsvLine<'_>) -> Result<Self> {
        Ok(Self {
            faa: line.get("faa")?,
            name: line.get("name")?,
            lat: line.get("lat")?,
            lon: line.get("lon")?,
            alt: line.get("alt")?,
            tz: line.optional("tz")?,
            dst: match line.text("dst")? {
                "A" => Some(DaylightSaving::A),
                "N" => Some(DaylightSaving::N),
                "U" => Some(DaylightSaving::U),
                _ => None,
            },
            tzone: line.optional("tzone")?,
        })
    }
}

impl Load for Plane {
    const FILE: &'static str = "planes";

    fn load(line: &CsvLine<'_>) -> Result<Self> {
        Ok(Self {
            tailnum: line.get("tailnum")?,
            year: line.optional("year")?,
            kind: line.get("type")?,
            manufacturer: line.get("manufacturer")?,
            model: line.get("model")?,
            engines: line.get("engines")?,
            seats: line.get("seats")?,
            speed: line.optional("speed")?,
            engine: line.get("engine")?,
        })
    }
}

impl Load for Weather {
    const FILE: &'static str = "weather";

    fn load(line: &CsvLine<'_>) -> Result<Self> {
        Ok(Self {
            origin: line.get("origin")?,
            time_hour: line.get("time_hour")?,
            temp: line.optional("temp")?,
            precip: line.optional("precip")?,
            visib: line.get("visib")?,
            wind_speed: line.optional("wind_speed")?,
        })
    }
}

impl Load for Flight {
    const FILE: &'static str = "flights";

    fn load(line: &CsvLine<'_>) -> Result<Self> {
        Ok(Self {
            id: 0,
            carrier: line.get("carrier")?,
            flight: line.get("flight")?,
            tailnum: line.optional("tailnum")?,
            origin: line.get("origin")?,
            dest: line.get("dest")?,
            time_hour: line.get("time_hour")?,
            dep_delay: line.optional("dep_delay")?,
            arr_delay: line.optional("arr_delay")?,
            air_time: line.optional("air_time")?,
            distance: line.get("distance")?,
            refund: Currency::ZERO,
        })
    }
}
