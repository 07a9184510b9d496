//! How much memory an endless batch and a long read use: it must not grow with the rows.
//!
//! Run it in a process of its own: memory that an allocator kept from earlier work would hide growth. The raw contender's
//! peak, measured the same way, is what SQLite's own cache uses.

use std::time::Instant;
use std::{fmt, fs};

use crate::contender::{Contender, Engine, Failure};
use crate::options::Options;
use crate::report::format;
use crate::workload::{Row, Stamps};

/// What an endless batch and the read of its rows took.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Endless {
    /// The engine's name.
    pub engine: String,
    /// Rows written, and read again.
    pub rows: usize,
    /// Rows written per second, the making of the rows included.
    pub write_rate: f64,
    /// Rows read per second, each of them checked.
    pub read_rate: f64,
    /// Most memory that was in use, beyond what was before, in KiB; none where the system does
    /// not tell.
    pub peak_kib: Option<u64>,
}

impl fmt::Display for Endless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, rows, write_rate, read_rate, peak_kib } = self;
        let (write, read) = (format::rate(*write_rate), format::rate(*read_rate));
        let rows = format::count(*rows);
        write!(f, "{engine}: {rows} rows, written at {write} and read at {read} rows/s, ")?;
        match peak_kib {
            Some(kib) => write!(f, "at most {} MiB of memory", kib.div_ceil(1024)),
            None => f.write_str("memory unknown"),
        }
    }
}

/// Writes `rows` rows by one batch, generated as needed, and reads them by an iterator.
///
/// # Errors
/// The engine's own, or the first row that is not as it was written.
pub fn endless(engine: &dyn Engine, rows: usize, options: &Options) -> Result<Endless, Failure> {
    let folder = tempfile::Builder::new().prefix("bobak-bench-").tempdir_in(options.folder())?;
    let mut contender = engine.open(folder.path())?;
    let before = status_kib("VmRSS");
    // Resets the peak to what is in use now. If the system rejects, the peak is from earlier.
    let reset = fs::write("/proc/self/clear_refs", "5").is_ok();

    let stamps = Stamps::open();
    let start = Instant::now();
    contender
        .write_endless(&mut (1..=rows).map(Row::nth))
        .map_err(|failure| failure.during("write"))?;
    let write_rate = rate(rows, start);
    let start = Instant::now();
    read(contender.as_mut(), rows, stamps.closed()).map_err(|failure| failure.during("read"))?;
    let read_rate = rate(rows, start);

    let peak = status_kib("VmHWM").filter(|_| reset);
    let peak_kib = peak.zip(before).map(|(peak, before)| peak.saturating_sub(before));
    Ok(Endless { engine: engine.name().to_owned(), rows, write_rate, read_rate, peak_kib })
}

fn read(contender: &mut dyn Contender, rows: usize, stamps: Stamps) -> Result<(), Failure> {
    let mut seen = 0;
    contender.read_endless(&mut |view| {
        seen += 1;
        let wanted = Row::nth(seen);
        let right = view.first_name == wanted.first_name
            && view.last_name == wanted.last_name
            && view.amount == wanted.amount
            && view.birth_date == wanted.birth_date
            && stamps.holds(view.last_change)
            && stamps.holds(view.created_at);
        if right { Ok(()) } else { Err(Failure::new("it differs").at_row(seen - 1)) }
    })?;
    if seen == rows { Ok(()) } else { Err(Failure::new(format!("rows is {seen}, not {rows}"))) }
}

fn rate(rows: usize, start: Instant) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "nobody measures 2^52 rows")]
    let rows = rows as f64;
    (rows / start.elapsed().as_secs_f64().max(f64::MIN_POSITIVE)).round()
}

/// A line of the kernel's status of this process.
fn status_kib(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines;

    #[test]
    fn contenders_write_and_read_the_given_rows() {
        for name in ["raw sqlite file off", "sqlite file off", "sqlite memory", "memory static"] {
            let engine = engines::parse(name).expect("it is in the list")[0];
            let endless = endless(engine, 20_001, &Options::default()).expect("every row is right");
            assert_eq!(endless.rows, 20_001);
            assert!(endless.write_rate > 0.0 && endless.read_rate > 0.0);
            let text = format!("{name}: 20,001 rows, written at ");
            assert!(endless.to_string().starts_with(&text));
        }
    }
}
