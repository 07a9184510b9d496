//! The members that all representations of a change have.

use crate::json::write::{NumberFormat, write_cell};
use bobak::changes::Change;
use bobak_core::{Field, Type};
use bobak_text::json::write_string;

/// Appends when and by which actor a change was made, as members of an object.
pub(crate) fn write_origin(out: &mut String, change: &Change, numbers: NumberFormat) {
    out.push_str("\"at\":");
    let at = change.at.to_value().unwrap_or_default();
    write_cell(out, Type::Timestamp, numbers, at.as_ref());
    out.push_str(",\"who\":");
    match &change.actor {
        Some(actor) => write_string(out, actor),
        None => out.push_str("null"),
    }
}
