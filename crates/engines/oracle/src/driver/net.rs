//! The driver that reaches servers: Oracle's own, `oracledb`.

use crate::driver::{
    BindKind, CellKind, EachCells, OracleBind, OracleCell, OracleColumn, OracleConnect, OracleDone,
    OracleDriver, OracleFailure, OraclePlace, OracleValue,
};
use bobak_core::{Currency, Date, Field, ValueRef};
use oracledb::{
    Config, Connection, DbType, Error, ErrorKind, OracleIntervalDS, OracleNumber, OracleTimestamp,
    Row, ToDbValue,
};
use std::sync::mpsc;
use std::time::Duration;

/// The rows that are fetched at a time.
const FETCHED: u32 = 500;
/// The rows that come with the answer to the statement.
const PREFETCHED: u32 = 100;
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Connects through the network.
#[derive(Debug)]
pub(crate) struct OracleNet;

impl OracleConnect for OracleNet {
    fn connect(&self, place: &OraclePlace) -> Result<Box<dyn OracleDriver>, OracleFailure> {
        let config = config(place).map_err(|error| OracleFailure::Settings(error.to_string()))?;
        // The driver leaves the choice to the process if several are compiled. An earlier choice stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (sender, receiver) = mpsc::channel();
        // The driver has a limit for the connection, and none for the login: a thread waits for it.
        std::thread::spawn(move || {
            // After the timeout nobody waits for it.
            let _ = sender.send(oracledb::connect(config));
        });
        match receiver.recv_timeout(place.timeout) {
            Ok(Ok(connection)) => Ok(Box::new(NetDriver { connection, limit: None })),
            Ok(Err(error)) => Err(connecting(&error)),
            Err(_) => Err(OracleFailure::TimedOut),
        }
    }
}

fn config(place: &OraclePlace) -> Result<Config, Error> {
    let OraclePlace { host, port, service, .. } = place;
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let protocol = if place.tls { "tcps" } else { "tcp" };
    let mut config = Config::default()
        .set_credentials(&place.user, &place.password)
        .set_connect_string(&format!("{protocol}://{host}:{port}/{service}"))?
        .set_program(place.program.clone())?
        .set_transport_connect_timeout(Some(place.timeout));
    if let Some(wallet) = &place.wallet {
        config = config.set_wallet_location(wallet.clone());
    }
    Ok(config)
}

/// A connection of the driver.
struct NetDriver {
    connection: Connection,
    /// The limit that is set.
    limit: Option<Duration>,
}

impl std::fmt::Debug for NetDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NetDriver")
    }
}

impl NetDriver {
    fn limit(&mut self, limit: Option<Duration>) -> Result<(), OracleFailure> {
        if self.limit != limit {
            self.connection.set_call_timeout(limit).map_err(|error| failure(&error))?;
            self.limit = limit;
        }
        Ok(())
    }
}

impl OracleDriver for NetDriver {
    fn execute(
        &mut self,
        sql: &str,
        rows: &[Vec<OracleBind<'_>>],
        returned: Option<BindKind>,
        limit: Option<Duration>,
    ) -> Result<OracleDone, OracleFailure> {
        self.limit(limit)?;
        let out = returned.map(db_type);
        let owned: Vec<Vec<Box<dyn ToDbValue + '_>>> =
            rows.iter().map(|row| values(row, out)).collect::<Result<_, _>>()?;
        let borrowed: Vec<Vec<&dyn ToDbValue>> =
            owned.iter().map(|row| row.iter().map(|value| &**value).collect()).collect();
        let slices: Vec<&[&dyn ToDbValue]> = borrowed.iter().map(Vec::as_slice).collect();
        let done = self.connection.execute_batch(sql, slices.as_slice());
        let mut done = done.map_err(|error| failure(&error))?;
        let count = done.rows_affected();
        let returned = match returned {
            None => Vec::new(),
            Some(_) => {
                let executions = done.returned_data().into_iter();
                executions
                    .map(|rows| rows.iter().map(|row| cell(row, 0)).collect())
                    .collect::<Result<Vec<Vec<OracleCell>>, OracleFailure>>()?
            }
        };
        Ok(OracleDone { count, returned })
    }

    fn query(
        &mut self,
        sql: &str,
        binds: &[OracleBind<'_>],
        limit: Option<Duration>,
        each: &mut EachCells<'_>,
    ) -> Result<Vec<OracleColumn>, OracleFailure> {
        self.limit(limit)?;
        let owned = values(binds, None)?;
        let borrowed: Vec<&dyn ToDbValue> = owned.iter().map(|value| &**value).collect();
        let statement = self
            .connection
            .statement(sql)
            .map(|statement| statement.prefetch_rows(PREFETCHED).fetch_array_size(FETCHED))
            .and_then(oracledb::StatementBuilder::build)
            .map_err(|error| failure(&error))?;
        let cursor = statement.query(&borrowed).map_err(|error| failure(&error))?;
        let columns: Vec<OracleColumn> = cursor.columns().iter().map(column).collect();
        let mut cells = Vec::with_capacity(columns.len());
        for row in cursor {
            let row = row.map_err(|error| failure(&error))?;
            cells.clear();
            for place in 0..columns.len() {
                cells.push(cell(&row, place)?);
            }
            if !each(&columns, &cells) {
                break;
            }
        }
        Ok(columns)
    }

    fn commit(&mut self, limit: Option<Duration>) -> Result<(), OracleFailure> {
        self.limit(limit)?;
        self.connection.commit().map_err(|error| failure(&error))
    }

    fn rollback(&mut self, limit: Option<Duration>) -> Result<(), OracleFailure> {
        self.limit(limit)?;
        self.connection.rollback().map_err(|error| failure(&error))
    }

    fn ping(&mut self, limit: Option<Duration>) -> Result<(), OracleFailure> {
        self.limit(limit)?;
        self.connection.ping().map_err(|error| failure(&error))
    }
}

const fn db_type(kind: BindKind) -> &'static DbType {
    match kind {
        BindKind::Number => oracledb::DB_TYPE_NUMBER,
        BindKind::Double => oracledb::DB_TYPE_BINARY_DOUBLE,
        BindKind::Text => oracledb::DB_TYPE_VARCHAR,
        BindKind::Bytes => oracledb::DB_TYPE_RAW,
        BindKind::Moment => oracledb::DB_TYPE_TIMESTAMP,
        BindKind::Span => oracledb::DB_TYPE_INTERVAL_DS,
    }
}

/// The values of a row, and what takes the value that is returned.
fn values<'v>(
    row: &'v [OracleBind<'v>],
    out: Option<&'static DbType>,
) -> Result<Vec<Box<dyn ToDbValue + 'v>>, OracleFailure> {
    let mut values = row.iter().map(value).collect::<Result<Vec<_>, _>>()?;
    if let Some(out) = out {
        values.push(Box::new(out));
    }
    Ok(values)
}

fn value<'v>(bind: &'v OracleBind<'v>) -> Result<Box<dyn ToDbValue + 'v>, OracleFailure> {
    Ok(match (bind.0, &bind.1) {
        (BindKind::Moment, OracleValue::Int(micros)) => Box::new(timestamp(*micros)?),
        (BindKind::Span, OracleValue::Int(micros)) => Box::new(span(*micros)),
        (_, OracleValue::Int(integer)) => Box::new(*integer),
        (_, OracleValue::Amount(scaled)) => {
            let text = Currency::from_scaled(*scaled).to_string();
            Box::new(text.parse::<OracleNumber>().map_err(|error| failure(&error))?)
        }
        (_, OracleValue::Float(float)) => Box::new(*float),
        (_, OracleValue::Text(text)) => Box::new(&**text),
        (_, OracleValue::Bytes(bytes)) => Box::new(&**bytes),
        (kind, OracleValue::Null) => Box::new(db_type(kind)),
    })
}

/// The clock of a time of the day, in hours, minutes, seconds and nanoseconds.
fn clock(micros: i64) -> [i64; 4] {
    let seconds = micros / SECOND;
    [seconds / 3_600, seconds / 60 % 60, seconds % 60, micros % SECOND * 1_000]
}

fn timestamp(micros: i64) -> Result<OracleTimestamp, OracleFailure> {
    let date = Date::from_value(ValueRef::Int(micros.div_euclid(DAY)));
    let date = date.map_err(|error| OracleFailure::Driver(error.message().to_owned()))?;
    let part = |number: i64| u8::try_from(number).unwrap_or(0);
    let [hour, minute, second, nanos] = clock(micros.rem_euclid(DAY));
    Ok(OracleTimestamp::new_timestamp(
        date.year(),
        part(date.month().into()),
        part(date.day().into()),
        part(hour),
        part(minute),
        part(second),
        u32::try_from(nanos).unwrap_or(0),
    ))
}

fn span(micros: i64) -> OracleIntervalDS {
    let part = |number: i64| i8::try_from(number).unwrap_or(0);
    let [hour, minute, second, nanos] = clock(micros % DAY);
    let days = i32::try_from(micros / DAY).unwrap_or(0);
    let nanos = i32::try_from(nanos).unwrap_or(0);
    OracleIntervalDS::new(days, part(hour), part(minute), part(second), nanos)
}

fn column(described: &oracledb::Metadata) -> OracleColumn {
    let ty = described.db_type();
    let kind = if *ty == *oracledb::DB_TYPE_NUMBER {
        CellKind::Number(described.precision(), described.scale())
    } else if is_one_of(ty, &[oracledb::DB_TYPE_BINARY_DOUBLE, oracledb::DB_TYPE_BINARY_FLOAT]) {
        CellKind::Float
    } else if *ty == *oracledb::DB_TYPE_RAW {
        CellKind::Raw(described.max_size())
    } else if ty.is_binary_type() {
        CellKind::Bytes
    } else if is_one_of(ty, &[oracledb::DB_TYPE_TIMESTAMP_TZ, oracledb::DB_TYPE_TIMESTAMP_LTZ]) {
        CellKind::Instant
    } else if *ty == *oracledb::DB_TYPE_DATE {
        CellKind::Date
    } else if ty.is_date_type() {
        CellKind::Moment
    } else if *ty == *oracledb::DB_TYPE_INTERVAL_DS {
        CellKind::Span
    } else if *ty == *oracledb::DB_TYPE_BOOLEAN {
        CellKind::Bool
    } else if is_text(ty) {
        CellKind::Text
    } else {
        CellKind::Foreign
    };
    OracleColumn { name: described.name().to_owned(), kind }
}

fn is_one_of(ty: &DbType, types: &[&DbType]) -> bool {
    types.iter().any(|known| *ty == **known)
}

fn is_text(ty: &DbType) -> bool {
    let others = [
        oracledb::DB_TYPE_ROWID,
        oracledb::DB_TYPE_UROWID,
        oracledb::DB_TYPE_CLOB,
        oracledb::DB_TYPE_NCLOB,
    ];
    ty.is_string_type() || is_one_of(ty, &others)
}

fn cell(row: &Row, place: usize) -> Result<OracleCell, OracleFailure> {
    let Some(described) = row.columns().get(place) else { return Ok(OracleCell::Null) };
    let of = |error: Error| failure(&error);
    let kind = column(described).kind;
    let cell = match kind {
        CellKind::Number(..) => {
            row.get::<Option<String>>(place).map_err(of)?.map(OracleCell::Number)
        }
        CellKind::Float if *described.db_type() == *oracledb::DB_TYPE_BINARY_FLOAT => {
            row.get::<Option<f32>>(place).map_err(of)?.map(|float| OracleCell::Float(float.into()))
        }
        CellKind::Float => row.get::<Option<f64>>(place).map_err(of)?.map(OracleCell::Float),
        CellKind::Text => row.get::<Option<String>>(place).map_err(of)?.map(OracleCell::Text),
        CellKind::Raw(_) | CellKind::Bytes => {
            row.get::<Option<Vec<u8>>>(place).map_err(of)?.map(OracleCell::Bytes)
        }
        CellKind::Date | CellKind::Moment | CellKind::Instant => {
            let found = row.get::<Option<OracleTimestamp>>(place).map_err(of)?;
            found.map(|found| moment(&found)).transpose()?
        }
        CellKind::Span => {
            let found = row.get::<Option<OracleIntervalDS>>(place).map_err(of)?;
            found.map(|found| OracleCell::Span(micros_of(&found)))
        }
        CellKind::Bool => {
            let found = row.get::<Option<bool>>(place).map_err(of)?;
            found.map(|truth| OracleCell::Number(u8::from(truth).to_string()))
        }
        CellKind::Foreign => Some(OracleCell::Foreign(described.db_type().name())),
    };
    Ok(cell.unwrap_or(OracleCell::Null))
}

fn moment(found: &OracleTimestamp) -> Result<OracleCell, OracleFailure> {
    let part = |number: u8| i8::try_from(number).unwrap_or(0);
    let days = Date::new(found.year(), part(found.month()), part(found.day()))
        .ok()
        .and_then(|date| match date.to_value() {
            Ok(bobak_core::Value::Int(days)) => Some(days),
            _ => None,
        })
        .ok_or_else(|| OracleFailure::Driver(format!("{found} is no date of Bobak's")))?;
    let seconds = i64::from(found.hour()) * 3_600
        + i64::from(found.minute()) * 60
        + i64::from(found.second());
    let nanos = found.nanoseconds();
    Ok(OracleCell::Moment(days * DAY + seconds * SECOND + i64::from(nanos / 1_000), nanos % 1_000))
}

fn micros_of(found: &OracleIntervalDS) -> i64 {
    let seconds = i64::from(found.hours()) * 3_600
        + i64::from(found.minutes()) * 60
        + i64::from(found.seconds());
    i64::from(found.days()) * DAY + seconds * SECOND + i64::from(found.nanoseconds() / 1_000)
}

/// An error of a call.
fn failure(error: &Error) -> OracleFailure {
    match error.kind() {
        ErrorKind::DbError(server) => OracleFailure::Server(
            u32::try_from(server.code()).unwrap_or(0),
            server.message().to_owned(),
        ),
        ErrorKind::CallTimeoutExceeded => OracleFailure::TimedOut,
        ErrorKind::DeadConnection
        | ErrorKind::StreamOperation
        | ErrorKind::UnableToRecover
        | ErrorKind::NotConnected
        | ErrorKind::LockPoisoned => OracleFailure::Lost(error.to_string()),
        _ => OracleFailure::Driver(error.to_string()),
    }
}

/// An error at the opening of a connection.
fn connecting(error: &Error) -> OracleFailure {
    match error.kind() {
        ErrorKind::DbError(_) | ErrorKind::CallTimeoutExceeded => failure(error),
        ErrorKind::InvalidServiceName(..)
        | ErrorKind::InvalidSid(..)
        | ErrorKind::ServerVersionNotSupported => OracleFailure::Settings(error.to_string()),
        ErrorKind::TlsOperation
        | ErrorKind::PemFileOperation
        | ErrorKind::WalletUnreadable(_)
        | ErrorKind::WalletPrivateKeyInvalid(_)
        | ErrorKind::WalletPasswordMissingOrInvalid(..) => OracleFailure::Tls(error.to_string()),
        _ => OracleFailure::Unreachable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_in_the_drivers_numbers() {
        for scaled in [0, 1, -1, 10_000, -10_000, 12_345, 10_005_000, i64::MAX, i64::MIN] {
            let text = Currency::from_scaled(scaled).to_string();
            let number: OracleNumber = text.parse().unwrap();
            let back: Currency = number.to_string().parse().unwrap();
            assert_eq!(back.scaled(), scaled, "{text} is {number}");
        }
        for integer in [0, 100, -100, i64::MAX, i64::MIN] {
            assert_eq!(OracleNumber::from(integer).to_string(), integer.to_string());
        }
    }

    #[test]
    fn moments_and_times_come_back() {
        // The first and the last microsecond that Bobak writes, and those around 1970.
        for micros in
            [-62_135_596_800_000_000, -1, 0, 1, 1_234_567_890_123_456, 253_402_300_799_999_999]
        {
            let sent = timestamp(micros).unwrap();
            assert_eq!(moment(&sent), Ok(OracleCell::Moment(micros, 0)), "{sent}");
        }
        for micros in [0, 1, 3_600_000_000, DAY - 1, 3 * DAY + 7] {
            assert_eq!(micros_of(&span(micros)), micros);
        }
    }

    #[test]
    fn places_become_connect_strings() {
        let place = |host: &str, tls| OraclePlace {
            host: host.to_owned(),
            port: 1_522,
            service: "shop.example".to_owned(),
            user: "ada".to_owned(),
            password: "secret".to_owned(),
            tls,
            wallet: None,
            program: "bobak".to_owned(),
            timeout: Duration::from_secs(3),
        };
        for (host, tls) in [("db1", false), ("::1", false), ("db1.example", true)] {
            let descriptor = config(&place(host, tls)).unwrap().get_connect_descriptor();
            let protocol = if tls { "tcps" } else { "tcp" };
            for part in [host, protocol, "1522", "shop.example"] {
                assert!(descriptor.contains(part), "{part} in {descriptor}");
            }
            assert!(!descriptor.contains("secret"), "{descriptor}");
        }
    }
}
