//! What writers notice of a backup: their rate and their longest wait, without one and while one runs.

use crate::contender::Failure;
use crate::report::{Machine, aligned, format};
use bobak::backup::{BackupOptions, Compression};
use bobak::{Batch, BatchOptions, Db, Record};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What to measure.
#[derive(Clone, Debug)]
pub struct BackupBench {
    /// The rows that the database has at the beginning: about 120 bytes each.
    pub rows: u64,
    /// How many threads write, one row after the other.
    pub writers: usize,
    /// How often each mode is measured.
    pub repeat: usize,
    /// Where files are made and removed again; the system's folder for temporary files by default.
    pub folder: Option<PathBuf>,
}

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct BackupBenchReport {
    /// Version of Bobak.
    pub bobak: String,
    /// Where it ran.
    pub machine: Machine,
    /// Rows of the database at the beginning.
    pub rows: u64,
    /// Threads that wrote.
    pub writers: usize,
    /// By mode, in the order of the medians of its runs.
    pub backups: Vec<BackupBenchRow>,
}

/// One mode.
#[derive(Clone, Debug, Serialize)]
pub struct BackupBenchRow {
    /// The mode, such as `sqlite file wal full`.
    pub engine: &'static str,
    /// How the backup was compressed.
    pub compression: &'static str,
    /// Rows per second that were written while nothing else ran.
    pub rate: f64,
    /// And while the backup ran; the run of the median ratio.
    pub rate_during: f64,
    /// The median of the ratios between the two.
    pub ratio: f64,
    /// The longest time that one write took without a backup, in milliseconds, in all runs.
    pub longest_ms: f64,
    /// And while a backup ran.
    pub longest_during_ms: f64,
    /// How long the backup took, in seconds, in the run of the median ratio.
    pub seconds: f64,
    /// The size of the database, in bytes.
    pub bytes: u64,
}

#[derive(Record)]
struct Entry {
    id: i64,
    name: String,
    amount: i64,
}

/// One run of one mode: rates and longest waits, without and with a backup.
struct Run {
    alone: WriterSpeed,
    during: WriterSpeed,
    seconds: f64,
    bytes: u64,
}

#[derive(Default)]
struct WriterSpeed {
    rate: f64,
    longest: Duration,
}

const MODES: [(&str, &str, Compression); 6] = [
    ("sqlite file wal full", "", Compression::None),
    ("sqlite file wal full", "", Compression::Zstd),
    ("sqlite file wal normal", "?synchronous=normal", Compression::None),
    ("sqlite file full", "?journal_mode=delete", Compression::None),
    ("sqlite file off", "?journal_mode=delete&synchronous=off", Compression::None),
    (
        "sqlite file off exclusive",
        "?journal_mode=delete&synchronous=off&locking=exclusive",
        Compression::None,
    ),
];

/// Measures.
///
/// # Errors
/// Those of the database; a backup that is not sound.
pub fn run(
    options: &BackupBench,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<BackupBenchReport, Failure> {
    let home = match &options.folder {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    };
    let home = home.map_err(|error| Failure::new(format!("no folder to work in: {error}")))?;
    let total = (MODES.len() * options.repeat) as u64;
    let mut backups = Vec::new();
    for (engine, settings, compression) in MODES {
        let mut runs = Vec::new();
        for _ in 0..options.repeat {
            tell(engine, (backups.len() * options.repeat + runs.len()) as u64, total);
            runs.push(measure(options, home.path(), settings, compression)?);
        }
        backups.extend(BackupBenchRow::of(engine, compression, runs));
    }
    Ok(BackupBenchReport {
        bobak: env!("CARGO_PKG_VERSION").to_owned(),
        machine: Machine::here(home.path()),
        rows: options.rows,
        writers: options.writers,
        backups,
    })
}

fn measure(
    options: &BackupBench,
    home: &std::path::Path,
    settings: &str,
    compression: Compression,
) -> Result<Run, Failure> {
    let folder = tempfile::tempdir_in(home)
        .map_err(|error| Failure::new(format!("no folder to work in: {error}")))?;
    let url = format!("sqlite:{}{settings}", folder.path().join("app.db").display());
    let db = Db::builder().record::<Entry>().open(&url)?;
    db.create_missing_tables()?;
    let mut batch: Batch<'_> = db.batch(BatchOptions::new());
    for n in 0..options.rows {
        batch.insert(&entry(n))?;
    }
    batch.finish()?;
    db.flush()?;
    let alone = write_while(&db, options.writers, || {
        std::thread::sleep(Duration::from_secs(3));
        Ok(())
    })?
    .1;
    let file = folder.path().join("backup");
    let begun = Instant::now();
    let options_of = BackupOptions::new().compression(compression);
    let (report, during) =
        write_while(&db, options.writers, || Ok(db.backup(&file, &options_of, |_| Ok(()))?))?;
    Ok(Run { alone, during, seconds: begun.elapsed().as_secs_f64(), bytes: report.bytes })
}

fn entry(n: u64) -> Entry {
    Entry { id: 0, name: format!("{n:0100}"), amount: n as i64 }
}

/// Writes on several threads while `work` runs.
fn write_while<R>(
    db: &Db,
    writers: usize,
    work: impl FnOnce() -> Result<R, Failure>,
) -> Result<(R, WriterSpeed), Failure> {
    let stop = AtomicBool::new(false);
    let write = || -> Result<(u64, Duration), Failure> {
        let table = db.table::<Entry>()?;
        let (mut written, mut longest) = (0, Duration::ZERO);
        while !stop.load(Ordering::Relaxed) {
            let begun = Instant::now();
            table.insert(&entry(written))?;
            longest = longest.max(begun.elapsed());
            written += 1;
        }
        Ok((written, longest))
    };
    std::thread::scope(|scope| {
        let begun = Instant::now();
        let threads: Vec<_> = (0..writers).map(|_| scope.spawn(write)).collect();
        let result = work();
        let seconds = begun.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let mut writing = WriterSpeed::default();
        for thread in threads {
            let (written, longest) = thread
                .join()
                .map_err(|_| Failure::new("a thread that writes has panicked".to_owned()))??;
            writing.rate += written as f64 / seconds;
            writing.longest = writing.longest.max(longest);
        }
        Ok((result?, writing))
    })
}

impl BackupBenchRow {
    fn of(engine: &'static str, compression: Compression, mut runs: Vec<Run>) -> Option<Self> {
        let longest = |of: fn(&Run) -> &WriterSpeed| {
            let longest = runs.iter().map(|run| of(run).longest).max().unwrap_or_default();
            longest.as_secs_f64() * 1e3
        };
        let (longest_ms, longest_during_ms) =
            (longest(|run| &run.alone), longest(|run| &run.during));
        runs.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
        let median = runs.get(runs.len() / 2)?;
        Some(Self {
            engine,
            compression: if compression == Compression::Zstd { "zstd" } else { "none" },
            rate: median.alone.rate,
            rate_during: median.during.rate,
            ratio: median.ratio(),
            longest_ms,
            longest_during_ms,
            seconds: median.seconds,
            bytes: median.bytes,
        })
    }
}

impl Run {
    fn ratio(&self) -> f64 {
        self.during.rate / self.alone.rate
    }
}

const HEAD: [&str; 8] = [
    "writers during a backup",
    "compressed",
    "rows/s",
    "during",
    "ratio",
    "longest ms",
    "during",
    "backup",
];

impl BackupBenchReport {
    /// The report for programs: one JSON object, ended by a line feed.
    ///
    /// # Errors
    /// None that is known: every value is a number or a text.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|json| json + "\n")
    }

    /// The report as plain text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let head = HEAD.map(str::to_owned).to_vec();
        let rows = self.backups.iter().map(|row| row.fields().to_vec());
        format!(
            "{}\n\n{}",
            self.head(),
            aligned(&[head].into_iter().chain(rows).collect::<Vec<_>>())
        )
    }

    /// The report as a Markdown table.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!("{}\n\n| {} |\n", self.head(), HEAD.join(" | "));
        text += "|---|---|--:|--:|--:|--:|--:|--:|\n";
        for row in &self.backups {
            text += &format!("| {} |\n", row.fields().join(" | "));
        }
        text
    }

    fn head(&self) -> String {
        let Self { bobak, machine, rows, writers, .. } = self;
        let machine = format::machine(machine);
        format!("Bobak {bobak}; {machine}; {rows} rows at the beginning, {writers} writers.")
    }
}

impl BackupBenchRow {
    fn fields(&self) -> [String; 8] {
        let count = |rate: f64| format::count(rate as usize);
        [
            self.engine.to_owned(),
            self.compression.to_owned(),
            count(self.rate),
            count(self.rate_during),
            format!("{:.2}", self.ratio),
            format!("{:.0}", self.longest_ms),
            format!("{:.0}", self.longest_during_ms),
            format!("{:.1} s, {} MB", self.seconds, self.bytes / 1_000_000),
        ]
    }
}
