//! Tries indexes on a copy of the database: how long the statements take before and after.

use super::recorded::RecordedStatement;
use super::values::{quoted, sets};
use bobak::query::IndexAdvice;
use bobak::schema::TableSchema;
use bobak::{Db, Deadline, DynRow, ErrorKind, Result, Value};
use bobak_sql::only_reads;
use std::time::{Duration, Instant};

/// How long one run of a statement may take: one that takes longer counts as this.
const LIMIT: Duration = Duration::from_secs(20);
/// How long a statement is repeated.
const REPEATED: Duration = Duration::from_millis(200);
/// The most repetitions.
const MAX_RUNS: usize = 50;

/// What the trials found.
#[derive(Default)]
pub struct Trials {
    /// The indexes that make the statements faster.
    pub kept: Vec<IndexTrial>,
    pub rejected: Vec<IndexTrial>,
    /// Statements that were not tried, and why.
    pub left_out: Vec<(String, String)>,
}

/// An index, and what it does.
pub struct IndexTrial {
    /// The statement that creates it.
    pub sql: String,
    /// How long that took.
    pub build: Duration,
    /// How much the file grew.
    pub bytes: u64,
    pub gains: Vec<StatementGain>,
}

/// How long a statement takes without an index, and with it.
pub struct StatementGain {
    pub text: String,
    pub count: u64,
    pub before: Duration,
    pub after: Duration,
}

impl StatementGain {
    pub fn factor(&self) -> f64 {
        self.before.as_secs_f64() / self.after.as_secs_f64().max(1e-9)
    }
}

impl IndexTrial {
    /// How many times as fast all runs of its statements are together; 1 if none has another time.
    pub fn gain(&self) -> f64 {
        if self.gains.is_empty() {
            return 1.0;
        }
        let sum = |time: fn(&StatementGain) -> Duration| {
            let all = self.gains.iter();
            all.map(|gain| time(gain).as_secs_f64() * gain.count as f64).sum::<f64>()
        };
        sum(|gain| gain.before) / sum(|gain| gain.after).max(1e-9)
    }
}

/// A statement with values to run it with.
struct TrialStatement {
    text: String,
    count: u64,
    sets: Vec<Vec<Value<'static>>>,
    /// How long it takes with the indexes that are kept.
    time: Duration,
}

/// Tries the indexes that the plans of the statements ask for, one after the other. Those that help stay.
///
/// # Errors
/// Those of the copy.
pub fn run(db: &Db, recorded: &[RecordedStatement], min_gain: f64) -> Result<Trials> {
    let mut trials = Trials::default();
    let tables = db.tables()?;
    let mut statements = Vec::new();
    for one in recorded {
        match prepared(db, one, &tables) {
            Ok(statement) => statements.push(statement),
            Err(why) => trials.left_out.push((shortened(&one.text), why)),
        }
    }
    // Those that take the most time come first.
    statements.sort_by_key(|one| {
        std::cmp::Reverse(one.time * u32::try_from(one.count).unwrap_or(u32::MAX))
    });
    let mut tried: Vec<IndexAdvice> = Vec::new();
    for place in 0..statements.len() {
        let Some(statement) = statements.get(place) else { break };
        let plan =
            db.explain(&statement.text, statement.sets.first().cloned().unwrap_or_default())?;
        for advice in plan.advice {
            if !tried.contains(&advice) {
                let trial = try_index(db, &advice, &mut statements, min_gain)?;
                let list =
                    if trial.gain() >= min_gain { &mut trials.kept } else { &mut trials.rejected };
                list.push(trial);
                tried.push(advice);
            }
        }
    }
    Ok(trials)
}

/// A statement that can be tried, or why it can't.
fn prepared(
    db: &Db,
    one: &RecordedStatement,
    tables: &[TableSchema],
) -> Result<TrialStatement, String> {
    if !only_reads(&one.text) {
        return Err("it writes".to_owned());
    }
    let sets = sets(db, &one.text, tables).map_err(|error| error.to_string())?;
    let sets = sets.ok_or("no column shows which value a parameter may have")?;
    let (text, count) = (one.text.clone(), one.count);
    let time = measure(db, &text, &sets).map_err(|error| error.to_string())?;
    Ok(TrialStatement { text, count, sets, time })
}

fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Creates an index, and runs the statements that read its table. Drops it if they are not faster.
fn try_index(
    db: &Db,
    advice: &IndexAdvice,
    statements: &mut [TrialStatement],
    min_gain: f64,
) -> Result<IndexTrial> {
    let name = quoted(&format!("{}_{}", advice.table, advice.columns.join("_")));
    let columns: Vec<String> = advice.columns.iter().map(|column| quoted(column)).collect();
    let sql = format!("CREATE INDEX {name} ON {} ({})", quoted(&advice.table), columns.join(", "));
    let pages = |db: &Db| pragma(db, "page_count");
    let (before, begun) = (pages(db)?, Instant::now());
    db.execute(&sql, ())?;
    let build = begun.elapsed();
    let bytes = pages(db)?.saturating_sub(before) * pragma(db, "page_size")?;
    let mut trial = IndexTrial { sql, build, bytes, gains: Vec::new() };
    let mut times = Vec::new();
    for (place, statement) in statements.iter().enumerate() {
        let values = statement.sets.first().cloned().unwrap_or_default();
        let plan = db.explain(&statement.text, values)?;
        if !plan.to_string().contains(name.trim_matches('"')) {
            continue;
        }
        let after = measure(db, &statement.text, &statement.sets)?;
        let (text, count) = (statement.text.clone(), statement.count);
        trial.gains.push(StatementGain { text, count, before: statement.time, after });
        times.push((place, after));
    }
    if trial.gain() < min_gain {
        db.execute(&format!("DROP INDEX {name}"), ())?;
    } else {
        for (place, time) in times {
            statements.get_mut(place).into_iter().for_each(|statement| statement.time = time);
        }
    }
    Ok(trial)
}

fn pragma(db: &Db, name: &str) -> Result<u64> {
    let rows = db.sql::<i64>(&format!("SELECT {name} FROM pragma_{name}"), ())?;
    Ok(rows.first().map_or(0, |number| number.unsigned_abs()))
}

/// The median time of one run with all of its rows.
fn measure(db: &Db, text: &str, sets: &[Vec<Value<'static>>]) -> Result<Duration> {
    let mut times = Vec::new();
    let begun = Instant::now();
    // The first run of each set reads the pages.
    for (run, values) in sets.iter().chain(sets.iter().cycle().take(MAX_RUNS)).enumerate() {
        let started = Instant::now();
        let read = || db.sql_for_each::<DynRow>(text, values.clone(), |_| Ok(true));
        match Deadline::after(LIMIT).run(read) {
            Err(error) if error.kind() == ErrorKind::Timeout => return Ok(LIMIT),
            done => done?,
        }
        if run >= sets.len() {
            times.push(started.elapsed());
        }
        if times.len() >= 3 && begun.elapsed() > REPEATED {
            break;
        }
    }
    times.sort_unstable();
    Ok(times.get(times.len() / 2).copied().unwrap_or_default())
}
