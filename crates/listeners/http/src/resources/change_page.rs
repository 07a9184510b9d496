//! One page of changes as JSON, for clients that read them now and then: each change, or what they amount to.

use super::changes::{key_of, table_of, write_change, write_table_name};
use crate::database::change_feed::unavailable;
use crate::database::row_visibility::RowVisibility;
use crate::database::table::CachedTable;
use crate::json::NumberFormat;
use crate::problem::Problem;
use crate::request::context::RequestContext;
use bobak::changes::{Change, ChangeKind, Changes};
use bobak_core::codec;

use std::collections::HashMap;
use std::sync::Arc;

/// What a client asks for.
pub(super) struct ChangePageRequest {
    /// How many changes are read.
    pub limit: usize,
    /// Whether each row has one change at most: from what it was before the page to what it is after it.
    pub is_net: bool,
    /// Whether changes name their table.
    pub names_table: bool,
    pub numbers: NumberFormat,
    /// The page ends before the change that exceeds this length.
    pub max_length: usize,
}

/// A change, and how the client sees it.
struct VisibleChange<'c> {
    change: &'c Change,
    kind: ChangeKind,
    table: &'c Arc<CachedTable>,
}

/// What happened to a row since the beginning of the page.
struct NetChange<'c> {
    existed: bool,
    exists: bool,
    /// The last change of it.
    last: &'c Change,
    table: &'c Arc<CachedTable>,
}

/// The row of one table with an encoded key.
type RowIdentity = (usize, Vec<u8>);

impl ChangePageRequest {
    pub fn take(request: &mut RequestContext, names_table: bool) -> Result<Self, Problem> {
        let limit = request.page_limit("a page of changes")?;
        let is_net = request.parameters.flag("net")?;
        let numbers = request.number_format()?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(Self {
            limit,
            is_net,
            names_table,
            numbers,
            max_length: request.state.settings.max_response,
        })
    }

    /// Reads the page after a change.
    pub fn run(
        &self,
        tables: &[(Arc<CachedTable>, RowVisibility)],
        changes: Changes,
        since: u64,
    ) -> Result<String, Problem> {
        let mut changes = changes.since(since).limit(self.limit);
        let page = changes.page().map_err(unavailable)?;
        let last = changes.last_id().map_err(unavailable)?;
        let (body, next) = match self.is_net {
            true => (self.net(tables, &page.changes)?, None),
            false => self.each(tables, &page.changes),
        };
        let next = next.unwrap_or(page.next);
        Ok(format!("{{\"changes\":[{body}],\n\"next\":{next},\"more\":{}}}\n", next < last))
    }

    /// The visible changes, and the last one of them if not all fit.
    fn each(
        &self,
        tables: &[(Arc<CachedTable>, RowVisibility)],
        changes: &[Change],
    ) -> (String, Option<u64>) {
        let mut body = String::new();
        let mut before = None;
        for change in changes {
            if before.is_some() && body.len() > self.max_length {
                return (body, before);
            }
            before = Some(change.id);
            let Some((_, table, visibility)) = table_of(tables, change) else { continue };
            if let Some(kind) = visibility.visible_kind(change) {
                self.write(&mut body, &VisibleChange { change, kind, table });
            }
        }
        (body, None)
    }

    /// One change for each row that differs from before.
    fn net(
        &self,
        tables: &[(Arc<CachedTable>, RowVisibility)],
        changes: &[Change],
    ) -> Result<String, Problem> {
        let mut rows: HashMap<RowIdentity, NetChange<'_>> = HashMap::new();
        for change in changes {
            let Some((place, table, visibility)) = table_of(tables, change) else { continue };
            // A change of the key is a delete and an insert.
            for (row, exists) in [(&change.before, false), (&change.after, true)] {
                if !visibility.is_visible(change, row) {
                    continue;
                }
                let mut key = Vec::new();
                codec::encode_slice(&mut key, &key_of(table, row))?;
                let identity = (place, key);
                let net = rows.entry(identity).or_insert(NetChange {
                    existed: !exists,
                    exists,
                    last: change,
                    table,
                });
                (net.exists, net.last) = (exists, change);
            }
        }
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_by(|(a, one), (b, other)| (one.last.id, a).cmp(&(other.last.id, b)));
        let mut body = String::new();
        for (_, NetChange { existed, exists, last, table }) in rows {
            let kind = match (existed, exists) {
                (false, true) => ChangeKind::Insert,
                (true, true) => ChangeKind::Update,
                (true, false) => ChangeKind::Delete,
                (false, false) => continue,
            };
            self.write(&mut body, &VisibleChange { change: last, kind, table });
            if body.len() > self.max_length {
                let message =
                    "these changes are too long for one response: ask for fewer by 'limit'";
                return Err(Problem::bad_request(message));
            }
        }
        Ok(body)
    }

    fn write(&self, body: &mut String, visible: &VisibleChange<'_>) {
        let VisibleChange { change, kind, table } = visible;
        body.push_str(if body.is_empty() { "\n" } else { ",\n" });
        body.push_str(&format!("{{\"id\":{},\"kind\":\"{}\",", change.id, kind.name()));
        if self.names_table {
            write_table_name(body, table.schema.name());
        }
        write_change(body, &table.as_of(change), change, *kind, self.numbers);
        body.push('}');
    }
}
