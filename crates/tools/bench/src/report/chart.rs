//! Bar charts as inline SVG: one bar for each engine, in per cent of the chart's width, so that
//! they fit a phone as well as a wide screen while their texts keep their size.

use super::html::escape;
use super::{Cell, format};

/// One engine's bar.
pub struct Bar<'a> {
    /// The cell that it shows.
    pub cell: &'a Cell,
    rate: f64,
}

impl<'a> Bar<'a> {
    /// The bar of a cell; none if the cell has no rate.
    pub fn new(cell: &'a Cell) -> Option<Self> {
        Some(Self { cell, rate: cell.rate? })
    }

    /// The farthest point to the right.
    fn reach(&self) -> f64 {
        self.rate.max(self.cell.max.unwrap_or(0.0)).max(self.cell.raw.unwrap_or(0.0))
    }
}

/// The bars one below the other, on one linear scale that starts at zero.
pub fn chart(bars: &[Bar<'_>]) -> String {
    let full = bars.iter().map(Bar::reach).fold(f64::MIN_POSITIVE, f64::max);
    bars.iter().map(|bar| row(bar, full)).collect()
}

fn row(bar: &Bar<'_>, full: f64) -> String {
    let Bar { cell, rate } = bar;
    let percent = |value: f64| format!("{:.2}%", value / full * 100.0);
    let engine = escape(&cell.engine);
    let figure = format::rate(*rate);
    let ratio = cell.ratio.map_or(String::new(), |ratio| {
        format!(" <span class=\"soft\">({})</span>", format::ratio(ratio))
    });
    // A rate that is small against the others must still show as a line.
    let mut shapes = String::from("<rect class=\"track\" width=\"100%\" height=\"18\" rx=\"3\"/>");
    let height = if cell.raw.is_some() { 11 } else { 18 };
    shapes += &format!(
        "<rect class=\"bobak\" width=\"{}\" height=\"{height}\" rx=\"2\"/>",
        percent(rate.max(full / 500.0))
    );
    if let Some(raw) = cell.raw {
        let width = percent(raw.max(full / 500.0));
        shapes +=
            &format!("<rect class=\"rawbar\" y=\"12\" width=\"{width}\" height=\"6\" rx=\"2\"/>");
    }
    if let (Some(min), Some(max)) = (cell.min, cell.max) {
        let (from, to, y) = (percent(min), percent(max), f64::from(height) / 2.0);
        shapes +=
            &format!("<line class=\"whisker\" x1=\"{from}\" x2=\"{to}\" y1=\"{y}\" y2=\"{y}\"/>");
    }
    let label = cell.raw.map_or(String::new(), |raw| format!(", raw {}", format::rate(raw)));
    format!(
        "<div class=\"bar\"><div class=\"top\"><span>{engine}</span><span class=\"rate\">\
         {figure}{ratio}</span></div>\n<svg role=\"img\" aria-label=\"{engine}: {figure} rows per \
         second{label}\">{shapes}</svg></div>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    #[test]
    fn the_widest_bar_is_the_whole_chart() {
        let report = report();
        let bars: Vec<Bar<'_>> = report.cells.iter().filter_map(Bar::new).collect();
        let text = chart(&bars);
        assert_eq!(bars.len(), 3, "the failed cell has no bar");
        assert!(text.contains("class=\"rawbar\" y=\"12\" width=\"100.00%\""), "{text}");
        assert!(text.contains("class=\"bobak\" width=\"50.00%\""), "{text}");
        assert!(text.contains("class=\"bobak\" width=\"0.60%\""), "{text}");
    }
}
