//! The metrics of the statements that run on databases.

use bobak_core::statements::StatementStats;
use std::fmt::{Result, Write};
use std::time::Duration;

/// How many shapes of statements have metrics of their own, those that took the most time: each is several series.
const MAX_SHAPES: usize = 50;

/// A metric: its name behind `bobak_`, and its help.
type Metric = (&'static str, &'static str, fn(&StatementStats) -> f64);

const METRICS: [Metric; 5] = [
    ("count", "Statements that ran.", |stats| stats.count as f64),
    ("errors", "Statements that failed.", |stats| stats.errors as f64),
    ("rows", "Rows that statements returned or changed.", |stats| stats.rows as f64),
    ("seconds", "Time that statements took.", |stats| seconds(stats.total)),
    ("waited_seconds", "Time that statements waited for a connection or a writer.", |stats| {
        seconds(stats.waited)
    }),
];

/// Writes the sums over all statements of each database.
pub(crate) fn write_sums(out: &mut String, databases: &[(&str, Vec<StatementStats>)]) -> Result {
    for (name, help, value) in METRICS {
        writeln!(out, "# HELP bobak_statements_{name}_total {help}")?;
        writeln!(out, "# TYPE bobak_statements_{name}_total counter")?;
        let sum: f64 = databases.iter().flat_map(|(_, all)| all).map(value).sum();
        writeln!(out, "bobak_statements_{name}_total {sum}")?;
    }
    Ok(())
}

/// Writes the metrics of single shapes: gauges, since a shape may be forgotten.
pub(crate) fn write_shapes(out: &mut String, databases: &[(&str, Vec<StatementStats>)]) -> Result {
    for (name, help, value) in METRICS {
        writeln!(out, "# HELP bobak_statement_{name} By shape of the statement: {help}")?;
        writeln!(out, "# TYPE bobak_statement_{name} gauge")?;
        for (database, all) in databases {
            for stats in all.iter().take(MAX_SHAPES) {
                write!(out, "bobak_statement_{name}{{")?;
                write_labels(out, database, stats)?;
                writeln!(out, "}} {}", value(stats))?;
            }
        }
    }
    Ok(())
}

fn write_labels(out: &mut String, database: &str, stats: &StatementStats) -> Result {
    let origin = stats.last_origin.as_ref().map(ToString::to_string).unwrap_or_default();
    let labels = [
        ("database", database),
        ("engine", stats.engine),
        ("verb", &*stats.verb),
        ("table", stats.table.as_deref().unwrap_or_default()),
        ("text", &*stats.text),
        ("origin", &origin),
    ];
    for (index, (name, value)) in labels.into_iter().enumerate() {
        write!(out, "{}{name}=\"", if index > 0 { "," } else { "" })?;
        for character in value.chars() {
            match character {
                '\\' => out.push_str("\\\\"),
                '"' => out.push_str("\\\""),
                '\n' => out.push_str("\\n"),
                other => out.push(other),
            }
        }
        out.push('"');
    }
    Ok(())
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}
