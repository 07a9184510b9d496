//! One cell of the table: an engine, a task, and its rates.

use serde::Serialize;

use crate::contender::Failure;
use crate::workload::Task;

/// What one repeat found; rows per second.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The rate of the contender under test.
    pub rate: f64,
    /// The rate of the raw contender that ran with it.
    pub raw: Option<f64>,
}

/// What all repeats of a cell found. Rates are rows per second.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The engine's name, such as `sqlite memory`.
    pub engine: String,
    /// The task's name, such as `batch trans`.
    pub cell: String,
    /// Rows of each repeat.
    pub rows: usize,
    /// Median rate; none if the cell failed.
    pub rate: Option<f64>,
    /// Slowest repeat.
    pub min: Option<f64>,
    /// Fastest repeat.
    pub max: Option<f64>,
    /// The median rate of the raw contender; `None` if there is none.
    pub raw: Option<f64>,
    /// The median of the ratios to the raw contender, each taken within one repeat.
    pub ratio: Option<f64>,
    /// How many times the rate of one thread doing the same; none where one thread does it, or was
    /// not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_one: Option<f64>,
    /// Whether every row of every repeat passed its check.
    pub verified: bool,
    /// Why the cell has no rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Cell {
    /// A cell whose repeats all passed their checks.
    #[must_use]
    pub fn measured(engine: &str, task: Task, rows: usize, samples: &[Sample]) -> Self {
        let rates: Vec<f64> = samples.iter().map(|sample| sample.rate).collect();
        let raw: Vec<f64> = samples.iter().filter_map(|sample| sample.raw).collect();
        let ratios: Vec<f64> =
            samples.iter().filter_map(|sample| Some(sample.rate / sample.raw?)).collect();
        Self {
            engine: engine.to_owned(),
            cell: task.name().to_owned(),
            rows,
            rate: median(&rates).map(f64::round),
            min: rates.iter().copied().reduce(f64::min).map(f64::round),
            max: rates.iter().copied().reduce(f64::max).map(f64::round),
            raw: median(&raw).map(f64::round),
            ratio: median(&ratios).map(thousandths),
            times_one: None,
            verified: !samples.is_empty(),
            error: None,
        }
    }

    /// A cell that has no rate.
    #[must_use]
    pub fn failed(engine: &str, task: Task, rows: usize, failure: &Failure) -> Self {
        Self {
            verified: false,
            error: Some(failure.to_string()),
            ..Self::measured(engine, task, rows, &[])
        }
    }
}

/// Fills in what threads gain, in the cells of all engines.
pub fn compare_threads(cells: &mut [Cell]) {
    let of_one = |cells: &[Cell], engine: &str, task: Task| {
        let one = task.with_one_thread()?.name();
        cells.iter().find(|cell| cell.engine == engine && cell.cell == one)?.rate
    };
    for place in 0..cells.len() {
        let Some(cell) = cells.get(place) else { continue };
        let task = Task::ALL.iter().find(|task| task.name() == cell.cell);
        let one = task.and_then(|task| of_one(cells, &cell.engine, *task));
        let times = cell.rate.zip(one).map(|(rate, one)| thousandths(rate / one));
        if let Some(cell) = cells.get_mut(place) {
            cell.times_one = times;
        }
    }
}

fn thousandths(ratio: f64) -> f64 {
    (ratio * 1000.0).round() / 1000.0
}

/// The middle value, or the mean of the two middle ones; none of nothing.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get((sorted.len() / 2).checked_sub(1)?)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rate: f64, raw: f64) -> Sample {
        Sample { rate, raw: Some(raw) }
    }

    #[test]
    fn the_ratio_is_the_median_of_pairs_and_not_the_ratio_of_medians() {
        let samples = [sample(100.0, 100.0), sample(50.0, 100.0), sample(30.0, 20.0)];
        let cell = Cell::measured("sqlite memory", Task::ByOne, 10, &samples);
        assert_eq!((cell.rate, cell.min, cell.max), (Some(50.0), Some(30.0), Some(100.0)));
        assert_eq!((cell.raw, cell.ratio), (Some(100.0), Some(1.0)));
        assert!(cell.verified);
    }

    #[test]
    fn an_even_number_of_repeats_takes_the_middle() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn threads_are_held_against_one() {
        let cell = |engine: &str, task, rate| {
            Cell::measured(engine, task, 10, &[Sample { rate, raw: None }])
        };
        let mut cells = [
            cell("a", Task::Direct64, 300.0),
            cell("a", Task::Direct, 10.0),
            cell("b", Task::Direct4, 7.0),
        ];
        compare_threads(&mut cells);
        assert_eq!(cells.map(|cell| cell.times_one), [Some(30.0), None, None]);
    }

    #[test]
    fn a_failed_cell_has_no_rate() {
        let cell =
            Cell::failed("sqlite memory", Task::Batch, 10, &Failure::new("row 1: it differs"));
        assert_eq!((cell.rate, cell.ratio, cell.verified), (None, None, false));
        assert_eq!(cell.error.as_deref(), Some("row 1: it differs"));
    }
}
