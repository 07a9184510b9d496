//! How well the rows of a list fit a search, and the parts of their texts that do.

use crate::json::NumberFormat;
use crate::json::write::write_cell;
use crate::problem::Problem;
use crate::request::selection::RowSelection;
use bobak_core::search::{SearchQuery, SearchSchema, Snippet};
use bobak_core::{Expr, Row, TableSchema, Type, ValueRef};
use bobak_text::json::write_string;

/// Makes the snippets of a list that searches.
pub(crate) struct SnippetWriter {
    query: SearchQuery,
    schema: SearchSchema,
}

impl SnippetWriter {
    /// For a selection that searches.
    ///
    /// # Errors
    /// 400 if it does not search, or the search cannot be read.
    pub fn new(selection: &RowSelection, table: &TableSchema) -> Result<Self, Problem> {
        let text = selection.search.as_ref().zip(table.search());
        let Some((text, schema)) = text else {
            let message = "'snippets' needs 'search', on a table that is searched";
            return Err(Problem::bad_request(message));
        };
        Ok(Self { query: SearchQuery::parse(text)?, schema: schema.clone() })
    }

    /// What to read besides the columns of the list: the rank, then the searched columns.
    pub fn columns(&self) -> impl Iterator<Item = Expr> {
        std::iter::once(Expr::Rank).chain(self.schema.columns.iter().copied().map(Expr::Column))
    }

    /// Appends rank and snippet of a row, whose values of [`columns`](Self::columns) begin at `first`.
    pub fn write(&self, out: &mut String, row: &dyn Row, first: usize) {
        out.push_str("{\"rank\":");
        write_cell(out, Type::F64, NumberFormat::Exact, row.get(first));
        out.push_str(",\"snippet\":[");
        let texts = (0..self.schema.columns.len()).filter_map(|at| match row.get(first + 1 + at) {
            ValueRef::Text(text) => Some(text),
            _ => None,
        });
        write_parts(out, &Snippet::new(&self.query, self.schema.language, texts));
        out.push_str("]}");
    }
}

/// Appends the parts of a snippet: those that were found, and the texts between.
fn write_parts(out: &mut String, snippet: &Snippet) {
    let (mut at, mut is_first) = (0, true);
    let mut part = |range: std::ops::Range<usize>, found: bool| {
        let Some(text) = snippet.text.get(range).filter(|text| !text.is_empty()) else { return };
        out.push_str(if is_first { "{\"text\":" } else { ",{\"text\":" });
        is_first = false;
        write_string(out, text);
        out.push_str(if found { ",\"found\":true}" } else { "}" });
    };
    for found in &snippet.found {
        part(at..found.start, false);
        part(found.clone(), true);
        at = found.end;
    }
    part(at..snippet.text.len(), false);
}
