//! The order of runs, and the clock.
//!
//! Each repeat of a cell runs its contenders one right after the other, each on a new database, and the order alternates
//! from repeat to repeat: a machine that becomes slower or faster meanwhile affects both alike. The ratio is taken within
//! each pair, then the median of those.

use std::time::Instant;

use crate::contender::{Contender, Engine, Failure, TaskResult};
use crate::options::Options;
use crate::progress::{Progress, Step};
use crate::report::{Cell, Machine, Report, Sample, compare_threads};
use crate::workload::{Expectation, Row, Stamps, Task};

/// Measures what the options ask for. A cell that fails says so in the report; the others go on.
pub fn run(options: &Options, progress: &mut dyn Progress) -> Report {
    let plan: Vec<_> = options
        .engines
        .iter()
        .flat_map(|&engine| {
            let tasks = options.tasks.iter().filter(|task| engine.tasks().contains(task));
            tasks.map(move |&task| (engine, task))
        })
        .collect();
    // Where it cannot be had each cell says why.
    let _held: Vec<_> = options.engines.iter().filter_map(|engine| engine.hold()).collect();
    let repeats = options.repeat.max(1);
    let mut step = Step {
        done: 0,
        total: plan.len() * repeats,
        engine: "",
        task: Task::Direct,
        repeat: 0,
        repeats,
    };
    let mut cells = Vec::with_capacity(plan.len());
    for (index, (engine, task)) in plan.into_iter().enumerate() {
        (step.done, step.engine, step.task) = (index * repeats, engine.name(), task);
        let cell = measure(options, engine, task, step, progress);
        progress.cell(&cell);
        cells.push(cell);
    }
    compare_threads(&mut cells);
    Report {
        bobak: env!("CARGO_PKG_VERSION").to_owned(),
        sqlite: crate::raw::library().0,
        machine: Machine::here(&options.folder()),
        rows: options.plain_rows(),
        repeat: repeats,
        cells,
    }
}

/// All repeats of one cell.
fn measure(
    options: &Options,
    engine: &'static dyn Engine,
    task: Task,
    mut step: Step,
    progress: &mut dyn Progress,
) -> Cell {
    let rows = options.rows_of(engine, task);
    let raw = engine.raw().filter(|raw| raw.tasks().contains(&task));
    let mut samples = Vec::with_capacity(step.repeats);
    for repeat in 0..step.repeats {
        step.repeat = repeat + 1;
        progress.step(step);
        step.done += 1;
        match pair(options, engine, raw, task, rows, repeat % 2 == 1) {
            Ok(sample) => samples.push(sample),
            Err(failure) => return Cell::failed(engine.name(), task, rows, &failure),
        }
    }
    Cell::measured(engine.name(), task, rows, &samples)
}

/// One repeat: the raw contender and the contender under test, in this order or the other.
fn pair(
    options: &Options,
    engine: &dyn Engine,
    raw: Option<&'static dyn Engine>,
    task: Task,
    rows: usize,
    swapped: bool,
) -> Result<Sample, Failure> {
    let one = |engine| once(options, engine, task, rows);
    let Some(raw) = raw else {
        return one(engine).map(|run| Sample { rate: run.rate, raw: None });
    };
    let raw_run = || one(raw).map_err(|failure| failure.during("raw contender"));
    let (tested, raw_run) = if swapped {
        let tested = one(engine)?;
        (tested, raw_run()?)
    } else {
        let raw_run = raw_run()?;
        (one(engine)?, raw_run)
    };
    same_settings(&tested.settings, &raw_run.settings)?;
    Ok(Sample { rate: tested.rate, raw: Some(raw_run.rate) })
}

struct Run {
    /// Rows per second.
    rate: f64,
    settings: Vec<(String, String)>,
}

/// One contender on a new database: fill, timed run, check.
fn once(options: &Options, engine: &dyn Engine, task: Task, count: usize) -> Result<Run, Failure> {
    std::fs::create_dir_all(options.folder())?;
    let folder = tempfile::Builder::new().prefix("bobak-bench-").tempdir_in(options.folder())?;
    let mut contender = engine.open(folder.path()).map_err(|failure| failure.during("open"))?;
    let settings = contender.settings().map_err(|failure| failure.during("settings"))?;

    let created = Stamps::open();
    let before = Row::range(1, task.rows_before(count));
    let keys = if before.is_empty() {
        Vec::new()
    } else {
        contender.fill(&before).map_err(|failure| failure.during("fill"))?
    };
    let filled = created.closed();

    let (rows, keys) = rows_of_task(task, count, before, keys, filled);
    contender.load(&rows)?;
    let mut expected = Expectation { rows: &rows, keys: &keys, changed: filled, created: filled };
    let changed = Stamps::open();
    let (result, rate) = timed(contender.as_mut(), task, &expected)?;
    if task.writes() {
        expected.changed = changed.closed();
        expected.created = if before_is_all(task) { filled } else { created.closed() };
    }
    check(contender.as_mut(), task, expected, result).map_err(|failure| failure.during("check"))?;
    Ok(Run { rate, settings })
}

fn timed(
    contender: &mut dyn Contender,
    task: Task,
    expected: &Expectation<'_>,
) -> Result<(TaskResult, f64), Failure> {
    let start = Instant::now();
    let result = contender.run(task, expected);
    let seconds = start.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "nobody measures 2^52 rows")]
    let rate = expected.rows.len() as f64 / seconds.max(f64::MIN_POSITIVE);
    Ok((result?, rate))
}

/// The rows that the task reads or writes, with their keys where these are known beforehand.
fn rows_of_task(
    task: Task,
    count: usize,
    before: Vec<Row>,
    mut keys: Vec<i64>,
    filled: Stamps,
) -> (Vec<Row>, Vec<i64>) {
    let mut rows = match task {
        Task::Update | Task::Upsert => Row::range(count + 1, count),
        _ if task.rows_before(count) == 0 => Row::range(1, count),
        _ => before,
    };
    if task == Task::Upsert {
        let next = keys.last().map_or(1, |last| last.saturating_add(1));
        keys.extend((next..).take(count - keys.len()));
    }
    for (row, key) in rows.iter_mut().zip(&keys) {
        row.id = *key;
        row.created_at = filled.from;
    }
    (rows, keys)
}

/// Whether the task makes no new rows.
const fn before_is_all(task: Task) -> bool {
    matches!(task, Task::Update | Task::Delete)
}

/// Checks what a run gave back and what it left behind.
fn check(
    contender: &mut dyn Contender,
    task: Task,
    expected: Expectation<'_>,
    result: TaskResult,
) -> Result<(), Failure> {
    let mut expected = expected;
    let (keys, mut rows);
    match result {
        TaskResult::Keys(mut given) => {
            if task.threads() > 1 {
                // Threads get their keys in no order: each row is looked for at its own.
                rows = expected.rows.to_vec();
                rows.iter_mut().zip(&given).for_each(|(row, key)| row.id = *key);
                rows.sort_by_key(|row| row.id);
                given.sort_unstable();
                expected.rows = &rows;
            }
            expected.check_keys(&given)?;
            keys = given;
            expected.keys = &keys;
        }
        TaskResult::Count(count) => expected.check_count(count)?,
        TaskResult::Rows(kept) => expected.check_all(kept.as_ref())?,
    }
    if task == Task::Delete {
        expected.rows = &[];
    }
    if task.writes() { expected.check_all(contender.dump()?.as_ref()) } else { Ok(()) }
}

/// Rejects a comparison of contenders that run with different settings.
fn same_settings(tested: &[(String, String)], raw: &[(String, String)]) -> Result<(), Failure> {
    for (name, value) in tested {
        if let Some((_, other)) = raw.iter().find(|(other, _)| other == name)
            && other != value
        {
            let text =
                format!("the setting {name} is {value} here and {other} in the raw contender");
            return Err(Failure::new(text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;
    use crate::{engines, workload};

    #[test]
    fn every_contender_does_every_task_and_passes_the_check() {
        let options = Options {
            engines: engines::all().into_iter().chain(raw_sqlite()).collect(),
            rows: Some(25),
            synced_rows: Some(3),
            repeat: 2,
            ..Options::default()
        };
        let report = run(&options, &mut Silent);
        let of_encrypted_files = if cfg!(feature = "encryption") { 23 } else { 0 };
        assert_eq!(report.cells.len(), 279 + of_encrypted_files);
        for cell in &report.cells {
            assert_eq!(cell.error, None, "{} {}", cell.engine, cell.cell);
            assert!(cell.verified && cell.rate.is_some());
            let has_none = cell.engine.starts_with("memory") || cell.engine == "sqlite file cached";
            // These are compared with Bobak itself, which has threads, too.
            let is_of_bobak = cell.engine.starts_with("async") || cell.engine.ends_with("aegis256");
            let has_raw = !has_none && (is_of_bobak || !cell.cell.contains("threads"));
            assert_eq!(cell.ratio.is_some(), has_raw);
        }
    }

    fn raw_sqlite() -> impl Iterator<Item = &'static dyn Engine> {
        engines::raw().into_iter().filter(|engine| engine.name().contains("sqlite"))
    }

    #[test]
    fn servers_do_every_task_too() {
        let joins =
            ",host postgres planes,host postgres flights,orders postgres,raw orders postgres";
        for (name, variable, joins, cells) in [
            ("postgres", "BOBAK_TEST_POSTGRES", joins, 22),
            ("mariadb", "BOBAK_TEST_MARIADB", "", 16),
            #[cfg(feature = "firebird")]
            ("firebird", "BOBAK_TEST_FIREBIRD", "", 16),
        ] {
            let Ok(url) = std::env::var(variable) else {
                println!("not run: {variable} is not set (`cargo xtask test` sets it)");
                continue;
            };
            engines::give(name, &url).expect("it needs a server");
            let options = Options {
                engines: engines::parse(&format!("{name},raw {name}{joins}"))
                    .expect("they are known"),
                rows: Some(25),
                synced_rows: Some(3),
                repeat: 2,
                ..Options::default()
            };
            let report = run(&options, &mut Silent);
            assert_eq!(report.cells.len(), cells);
            for cell in &report.cells {
                assert_eq!(cell.error, None, "{} {}", cell.engine, cell.cell);
            }
        }
    }

    #[test]
    fn a_batch_is_cut_and_loses_no_row() {
        let options = Options {
            engines: engines::parse("raw sqlite memory,sqlite memory,memory static")
                .expect("they are in the list"),
            tasks: vec![Task::Batch, Task::Update, Task::Upsert, Task::Delete],
            rows: Some(workload::ROWS_PER_COMMIT * 2 + 1),
            repeat: 1,
            ..Options::default()
        };
        let report = run(&options, &mut Silent);
        assert!(report.cells.iter().all(|cell| cell.verified), "{:?}", report.cells);
    }

    #[test]
    fn steps_are_reported_in_order() {
        #[derive(Default)]
        struct RecordedSteps(Vec<(usize, usize)>, usize);
        impl Progress for RecordedSteps {
            fn step(&mut self, step: Step) {
                self.0.push((step.done, step.repeat));
                assert_eq!(step.total, 4);
            }
            fn cell(&mut self, _: &Cell) {
                self.1 += 1;
            }
        }
        let options = Options {
            engines: engines::parse("raw sqlite memory").expect("it is in the list"),
            tasks: vec![Task::Trans, Task::ByOne],
            rows: Some(2),
            repeat: 2,
            ..Options::default()
        };
        let mut recorded = RecordedSteps::default();
        run(&options, &mut recorded);
        assert_eq!((recorded.0, recorded.1), (vec![(0, 1), (1, 2), (2, 1), (3, 2)], 2));
    }

    #[test]
    fn contenders_with_other_settings_are_not_compared() {
        let settings = |value: &str| vec![("page_size".to_owned(), value.to_owned())];
        let failure = same_settings(&settings("4096"), &settings("8192")).expect_err("they differ");
        let text = "the setting page_size is 4096 here and 8192 in the raw contender";
        assert_eq!(failure.to_string(), text);
        assert_eq!(same_settings(&settings("4096"), &[]), Ok(()));
    }
}
