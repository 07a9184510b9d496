//! The report as one HTML page that loads nothing: styles and charts are in it.

use super::chart::{Bar, chart};
use super::{Cell, Report, format};
use crate::workload::Task;

const STYLE: &str = include_str!("page.css");

impl Report {
    /// The report as a self-contained page, in light or dark as the reader's system asks.
    #[must_use]
    pub fn to_html(&self) -> String {
        let tasks = self.filled(&Task::ALL);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>Bobak benchmark</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
             {}{}{}{}{}{}</main>\n</body>\n</html>\n",
            self.header(),
            self.failures(),
            self.charts(&tasks),
            self.ratios(&tasks),
            self.figures(),
            self.machine_facts(),
        )
    }

    fn header(&self) -> String {
        let verified = self.cells.iter().filter(|cell| cell.verified).count();
        let mut ratios: Vec<f64> = self.cells.iter().filter_map(|cell| cell.ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let middle = ratios.get(ratios.len() / 2).map_or("–".to_owned(), |r| format::ratio(*r));
        let tiles = [
            (middle, "of the raw C API’s rate, in the median cell".to_owned()),
            (format!("{verified} of {}", self.cells.len()), "cells with every row verified".into()),
            (format::count(self.rows), "rows in a cell, unless it says otherwise".to_owned()),
            (format::count(self.repeat), "repeats; medians are shown".to_owned()),
        ];
        let tiles: String = tiles
            .iter()
            .map(|(figure, text)| {
                format!("<div class=\"tile\"><b>{figure}</b><span>{text}</span></div>\n")
            })
            .collect();
        format!(
            "<h1>Bobak benchmark</h1>\n<p class=\"soft\">{}<br>{}</p>\n\
             <div class=\"tiles\">\n{tiles}</div>\n",
            escape(&format::program(self)),
            escape(&format::machine(&self.machine)),
        )
    }

    fn failures(&self) -> String {
        let failed: String = self
            .cells
            .iter()
            .filter_map(|cell| Some((cell, cell.error.as_deref()?)))
            .map(|(cell, error)| {
                format!("<li>{}, {}: {}</li>\n", escape(&cell.engine), cell.cell, escape(error))
            })
            .collect();
        if failed.is_empty() {
            return failed;
        }
        format!("<div class=\"bad\"><h3>Cells that failed</h3>\n<ul>\n{failed}</ul></div>\n")
    }

    fn charts(&self, tasks: &[Task]) -> String {
        let cards: String = tasks.iter().map(|task| self.card(*task)).collect();
        format!(
            "<h2>Rows per second</h2>\n<p class=\"legend\">\
             <span><i style=\"background:var(--bobak)\"></i>the engine named</span>\
             <span><i style=\"background:var(--raw)\"></i>the same work in plain C-API calls</span>\
             <span>line: slowest to fastest repeat</span></p>\n<div class=\"cards\">\n{cards}</div>\n"
        )
    }

    fn card(&self, task: Task) -> String {
        let cells = self.cells.iter().filter(|cell| cell.cell == task.name());
        let bars: Vec<Bar<'_>> = cells.filter_map(Bar::new).collect();
        let other = |bar: &&Bar<'_>| bar.cell.rows != self.rows;
        let note = bars.iter().find(other).map_or(String::new(), |bar| {
            format!(
                " <span class=\"soft\">(with full sync {} rows)</span>",
                format::count(bar.cell.rows)
            )
        });
        format!(
            "<section class=\"card\"><h3>{}{note}</h3>\n{}</section>\n",
            capital(task.name()),
            chart(&bars)
        )
    }

    fn ratios(&self, tasks: &[Task]) -> String {
        let has = |engine: &str, task: &Task| self.cell(engine, task.name())?.ratio;
        let engines: Vec<&str> = self
            .engines()
            .into_iter()
            .filter(|engine| tasks.iter().any(|task| has(engine, task).is_some()))
            .collect();
        let tasks: Vec<Task> = tasks
            .iter()
            .copied()
            .filter(|task| engines.iter().any(|engine| has(engine, task).is_some()))
            .collect();
        if tasks.is_empty() {
            return String::new();
        }
        let heads: String = tasks.iter().map(|task| format!("<th>{task}</th>")).collect();
        let mut lines = String::new();
        for engine in engines {
            lines += &format!("<tr><th scope=\"row\">{}</th>", escape(engine));
            for task in &tasks {
                lines += &match has(engine, task) {
                    Some(ratio) => {
                        format!("<td class=\"{}\">{}</td>", shade(ratio), format::ratio(ratio))
                    }
                    None => "<td>–</td>".to_owned(),
                };
            }
            lines += "</tr>\n";
        }
        format!(
            "<h2>Ratio to the raw C API</h2>\n<p class=\"soft\">1.00 is as fast as plain calls of \
             SQLite’s C interface on the same build and settings, interleaved with it; more \
             is faster. The ratio holds on a noisy machine, where a rate does not.</p>\n\
             <div class=\"scroll\"><table><thead><tr><th>engine</th>{heads}</tr></thead>\n\
             <tbody>\n{lines}</tbody></table></div>\n"
        )
    }

    fn figures(&self) -> String {
        let lines: String = self.cells.iter().map(line).collect();
        format!(
            "<h2>All figures</h2>\n<div class=\"scroll\"><table><thead><tr><th>engine</th>\
             <th>cell</th><th>rows</th><th>rows/s</th><th>slowest</th><th>fastest</th>\
             <th>raw</th><th>ratio</th></tr></thead>\n<tbody>\n{lines}</tbody></table></div>\n"
        )
    }

    fn machine_facts(&self) -> String {
        let machine = &self.machine;
        let commit = machine.commit.as_deref().unwrap_or("unknown");
        let facts = [
            ("processor", format!("{}, {} cores", machine.cpu, machine.cores)),
            ("memory", format!("{} MiB", machine.memory_mib)),
            ("system", machine.kernel.clone()),
            ("databases on", machine.file_system.clone()),
            ("Bobak", format!("{}, commit {commit}, {} build", self.bobak, machine.build)),
            ("SQLite", self.sqlite.clone()),
        ];
        let facts: String = facts
            .iter()
            .map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>\n", escape(value)))
            .collect();
        format!(
            "<h2>Machine</h2>\n<dl>\n{facts}</dl>\n<details><summary>Compile-time options of SQLite\
             </summary>\n<p><code>{}</code></p></details>\n",
            escape(&machine.sqlite_options.join(" "))
        )
    }
}

fn line(cell: &Cell) -> String {
    let rate = |rate: Option<f64>| rate.map_or("–".to_owned(), format::rate);
    let mut line = format!(
        "<tr><th scope=\"row\">{}</th><td class=\"left\">{}</td><td>{}</td>",
        escape(&cell.engine),
        cell.cell,
        format::count(cell.rows)
    );
    line += &match &cell.error {
        Some(_) => "<td class=\"failed\" colspan=\"5\">failed</td>".to_owned(),
        None => format!(
            "<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>",
            rate(cell.rate),
            rate(cell.min),
            rate(cell.max),
            rate(cell.raw),
            cell.ratio.map_or("–".to_owned(), format::ratio)
        ),
    };
    line + "</tr>\n"
}

/// The class that shades a ratio.
const fn shade(ratio: f64) -> &'static str {
    if ratio >= 1.0 {
        "high"
    } else if ratio >= 0.8 {
        "near"
    } else {
        "low"
    }
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Makes a text safe inside an element or a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            _ => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use crate::report::tests::report;

    #[test]
    fn the_page_loads_nothing_and_escapes_what_it_is_given() {
        let page = report().to_html();
        for loading in ["http", "<script", "<link", "<img", "url(", "@import"] {
            assert!(!page.contains(loading), "{loading}");
        }
        assert!(page.contains("&lt;A&amp;B&gt;") && !page.contains("<A&B>"));
    }

    #[test]
    fn failures_stand_on_the_page() {
        let page = report().to_html();
        assert!(page.contains("<li>sqlite memory, batch: row 7: amount is 8, not 7</li>"));
        assert!(page.contains("3 of 4"));
    }
}
