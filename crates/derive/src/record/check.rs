//! The rules of a table, as far as names and the text of types show them.
//!
//! What `TableSchemaBuilder::build` rejects is rejected here, at its place. What only the compiler
//! knows of types is left to `assert`.

use crate::errors::Errors;
use crate::names::plain;
use crate::record::ast::{FieldAst, RecordAst};
use crate::record::attr::{FieldAttrs, FieldRole};
use crate::record::foreign_key::check_deferred;
use crate::record::relations::check_relations;
use crate::record::rules;
use crate::types::Plain;
use proc_macro2::TokenStream;

/// The most columns of a table: `FieldSet::MAX`.
const MAX_COLUMNS: usize = 256;
/// The most fields of a key: the longest tuple that is a `Key`.
pub const MAX_KEY: usize = 8;

/// Checks the whole table.
pub fn check(table: &RecordAst<'_>, errors: &mut Errors) {
    check_count(table, errors);
    check_names(table, errors);
    check_key(table, errors);
    check_indexes(table, errors);
    check_foreign_keys(table, errors);
    check_relations(table, errors);
    check_roles(table, errors);
    check_deletion(table, errors);
    check_search(table, errors);
    for skipped in &table.skipped {
        for item in skipped.attrs.all.iter().filter(|item| item.name != "skip") {
            let message = format!("a skipped field is not stored: remove `{}`", item.name);
            errors.at(item, message);
        }
    }
    for column in &table.columns {
        check_type(column, errors);
        check_text(column, errors);
        check_reference(column, errors);
        check_encrypted(table, column, errors);
        check_generated(table, column, errors);
        check_on_request(table, column, errors);
        rules::check(column, table.key_columns().any(|key| std::ptr::eq(key, column)), errors);
    }
}

fn check_count(table: &RecordAst<'_>, errors: &mut Errors) {
    let count = table.columns.len();
    if count > MAX_COLUMNS {
        let message = format!(
            "{count} columns are too many: a table has at most {MAX_COLUMNS}. Put fields together \
             in a Json column, or in a second record"
        );
        errors.at(table.ident, message);
    }
}

fn check_names(table: &RecordAst<'_>, errors: &mut Errors) {
    for (place, column) in table.places() {
        let before = || table.columns.iter().take(place);
        let name = column.attrs.column.as_ref();
        if let Some(other) = before().find(|other| other.name.eq_ignore_ascii_case(&column.name)) {
            let message = format!(
                "the column `{}` already exists, as the field `{}` (letter case does not \
                 count): give one of them another `column`",
                column.name, other.ident
            );
            match name {
                Some(name) => errors.at(&name.at, message),
                None => errors.at(column.ident, message),
            }
        }
        if let Some(other) = before().find(|other| other.constant == column.constant) {
            let message = format!(
                "the fields `{}` and `{}` would both have the constant `{}`: rename one",
                other.ident, column.ident, column.constant
            );
            errors.at(column.ident, message);
        }
    }
}

fn check_key(table: &RecordAst<'_>, errors: &mut Errors) {
    if table.key.is_empty() && !table.view {
        let message = "the record has no key: put `#[record(key)]` on a field, or name one `id`";
        errors.at(table.ident, message);
    }
    if table.key.len() > MAX_KEY {
        let message = format!("a key has at most {MAX_KEY} fields, not {}", table.key.len());
        errors.at(table.ident, message);
    }
    for column in table.key_columns() {
        if column.shape.optional == Some(true) {
            errors.at(column.ty, "a key is never NULL: remove the Option");
        }
        for role in &column.attrs.roles {
            let message =
                format!("a key does not change: put `{}` on a field of its own", role.value.word());
            errors.at(&role.at, message);
        }
    }
}

fn check_foreign_keys(table: &RecordAst<'_>, errors: &mut Errors) {
    for (columns, key) in &table.foreign_keys {
        let mut fields = columns.iter().filter_map(|&place| table.columns.get(place));
        let mut sets_null = [&key.on_delete, &key.on_update].into_iter().flatten();
        let sets_null = sets_null.rfind(|action| action.value == "SetNull");
        let required = fields.find(|field| field.shape.optional == Some(false));
        if let (Some(action), Some(field)) = (sets_null, required) {
            let message = format!(
                "\"set_null\" needs fields that may be NULL: make `{}` an Option",
                plain(field.ident)
            );
            errors.at(&action.at, message);
        }
        if let Some(at) = (1..columns.len()).find(|&at| columns[..at].contains(&columns[at])) {
            let field = key.fields.get(at);
            errors.at(field, "the field is in the foreign key twice: keep one");
        }
    }
    let makes_keys = !table.given_key
        && table.key.len() == 1
        && table.key_columns().all(|column| !column.shape.plain.is_not(is_i64));
    if let Some(unreused) = &table.never_reuse_keys
        && !makes_keys
    {
        let message = "only keys that the engine makes can be never reused: a single i64";
        errors.at(&unreused.at, message);
    }
}

fn check_indexes(table: &RecordAst<'_>, errors: &mut Errors) {
    let mut names: Vec<String> = Vec::new();
    for (place, column) in table.places() {
        if column.attrs.unique.is_none() || table.key == [place] {
            continue;
        }
        if let Some(index) = &column.attrs.index {
            errors.at(&index.at, "`unique` already makes an index: remove `index`");
        }
        names.push(format!("{}_{}_unique", table.name, column.name));
    }
    for index in &table.indexes {
        if names.iter().any(|name| name.eq_ignore_ascii_case(&index.name)) {
            let message = format!(
                "the index `{}` already exists: give one of them another `name`",
                index.name
            );
            errors.at(&index.at, message);
        }
        names.push(index.name.clone());
    }
}

fn check_search(table: &RecordAst<'_>, errors: &mut Errors) {
    let Some(search) = &table.search else { return };
    if table.view {
        errors.at(&search.at, "a view cannot be searched: search its tables");
    }
    for (at, &place) in search.columns.iter().enumerate() {
        let Some(column) = table.columns.get(place) else { continue };
        if search.columns.iter().take(at).any(|other| *other == place) {
            errors.at(&search.at, format!("`{}` is in the search twice: keep one", column.ident));
        }
        if column.attrs.encrypted.is_some() {
            let message = format!("`{}` is encrypted: the database cannot search it", column.ident);
            errors.at(&search.at, message);
        }
        if column.shape.plain.is_not(|plain| matches!(plain, Plain::Text)) {
            errors.at(column.ty, "only texts can be searched: remove the field from `search`");
        }
    }
}

fn check_roles(table: &RecordAst<'_>, errors: &mut Errors) {
    let mut seen: Vec<(FieldRole, &FieldAst<'_>)> = Vec::new();
    for column in &table.columns {
        for (at, role) in column.attrs.roles.iter().enumerate() {
            let word = role.value.word();
            if let Some((_, other)) = seen.iter().find(|(other, _)| *other == role.value) {
                let message =
                    format!("`{word}` is already on `{}`: a record has only one", other.ident);
                errors.at(&role.at, message);
            } else if at > 0 {
                errors.at(&role.at, "a field is filled in one way: keep one of them");
            }
            seen.push((role.value, column));
            let (_, wanted) = role.value.wanted();
            let right = |plain| role.value == FieldRole::Version && is_i64(plain);
            if column.shape.optional == Some(true) || column.shape.plain.is_not(right) {
                let message = format!("`{word}` belongs on {wanted}: change the field's type");
                errors.at(column.ty, message);
            }
        }
    }
}

/// Only the compiler knows the types of the fields: the constants of `SoftDelete` have them.
fn check_deletion(table: &RecordAst<'_>, errors: &mut Errors) {
    let deletions = table.columns.iter().filter_map(|c| Some((c, c.attrs.deleted_at.as_ref()?)));
    for (number, (column, deleted_at)) in deletions.enumerate() {
        check_marker(column, &deleted_at.at, number, ("deleted_at", "Timestamp"), errors);
        if table.view {
            errors.at(&deleted_at.at, "rows of a view are not deleted: remove `deleted_at`");
        }
    }
    let markers = table.columns.iter().filter_map(|c| Some((c, c.attrs.live.as_ref()?)));
    for (number, (column, live)) in markers.enumerate() {
        check_marker(column, &live.at, number, ("live", "bool"), errors);
        if table.deleted_at().is_none() {
            errors.at(&live.at, "no row of this record stays: add a field with `deleted_at`");
        }
    }
}

/// Checks a field that Bobak sets when a row is deleted.
fn check_marker(
    column: &FieldAst<'_>,
    at: &TokenStream,
    number: usize,
    (word, ty): (&str, &str),
    errors: &mut Errors,
) {
    let attrs = &column.attrs;
    if number > 0 {
        errors.at(at, format!("a record has only one `{word}`: remove this one"));
    } else if attrs.key.is_some()
        || attrs.default.is_some()
        || attrs.references.is_some()
        || (attrs.live.is_some() && attrs.deleted_at.is_some())
    {
        let message =
            format!("Bobak sets this field: `{word}` goes with no key, default or reference");
        errors.at(at, message);
    } else if column.shape.optional == Some(false) {
        errors
            .at(column.ty, format!("`{word}` belongs on an Option<{ty}>: change the field's type"));
    }
}

fn check_type(column: &FieldAst<'_>, errors: &mut Errors) {
    let plain = column.shape.plain;
    if let Plain::Rejected(instead) = plain {
        errors.at(column.ty, format!("no column can store this type: write {instead}"));
    }
    let Some(default) = &column.attrs.default else {
        return;
    };
    if let Some(misfit) = default.value.misfit(plain) {
        errors.at(&default.at, misfit);
    }
    if let (crate::record::default::Default::Text(text), Some(max)) =
        (&default.value, &column.attrs.max)
        && text.chars().count() > max.value as usize
    {
        errors.at(&default.at, format!("the default is longer than `max = {}`", max.value));
    }
}

fn check_text(column: &FieldAst<'_>, errors: &mut Errors) {
    let (attrs, plain) = (&column.attrs, column.shape.plain);
    if plain.is_not(|plain| plain == Plain::Text) {
        if let Some(max) = &attrs.max {
            errors.at(&max.at, "`max` counts the characters of a text: remove it here");
        }
        if let Some(collation) = &attrs.collation {
            errors.at(&collation.at, "`collation` says how texts compare: remove it here");
        }
    }
    if let Some(store) = &attrs.as_text
        && plain.is_not(|_| false)
    {
        let message = "`store = \"text\"` is for dates, times and UUIDs: remove it here";
        errors.at(&store.at, message);
    }
}

fn check_reference(column: &FieldAst<'_>, errors: &mut Errors) {
    let attrs = &column.attrs;
    let actions = [("on_delete", &attrs.on_delete), ("on_update", &attrs.on_update)];
    for (name, action) in actions {
        let Some(action) = action else { continue };
        if attrs.references.is_none() {
            let message = format!(
                "`{name}` defines what happens to a reference: add `references = Type` to `{}`",
                plain(column.ident)
            );
            errors.at(&action.at, message);
        } else if action.value == "SetNull" && column.shape.optional == Some(false) {
            let message = "\"set_null\" needs a field that may be NULL: make it an Option";
            errors.at(&action.at, message);
        }
    }
    check_deferred(attrs.deferred.is_some(), attrs.on_delete.as_ref(), errors);
    if let (Some(deferred), None) = (&attrs.deferred, &attrs.references) {
        let message = format!(
            "`deferred` defines when a reference is checked: add `references = Type` to `{}`",
            plain(column.ident)
        );
        errors.at(&deferred.at, message);
    }
}

fn is_i64(plain: Plain) -> bool {
    matches!(plain, Plain::Integer("i64", ..))
}

/// The schema checks the expression itself when it is built: its columns and their types are known then.
fn check_generated(table: &RecordAst<'_>, column: &FieldAst<'_>, errors: &mut Errors) {
    let attrs = &column.attrs;
    let Some(generated) = &attrs.generated else { return };
    let own = |other: &FieldAst<'_>| std::ptr::eq(other, column);
    let place = table.columns.iter().position(own);
    let is_in = |columns: &[usize]| place.is_some_and(|place| columns.contains(&place));
    let is_referring = table.foreign_keys.iter().any(|(columns, _)| is_in(columns));
    let wrong = if table.view {
        Some("the fields of a view are all read-only: remove `generated`")
    } else if table.key_columns().any(own) {
        Some("a key is not generated by an expression: remove `generated`")
    } else if attrs.default.is_some() {
        Some("the expression gives each row its value: remove `default`")
    } else if is_filled(attrs) {
        Some("Bobak fills this field: remove `generated`")
    } else if !attrs.rules.is_empty() {
        Some("the engine computes this field: put the rules on the fields of its expression")
    } else if attrs.references.is_some() || is_referring {
        Some("a generated field is no reference: remove `generated`")
    } else if attrs.max.is_some() || attrs.collation.is_some() || attrs.as_text.is_some() {
        Some(
            "a generated field has the type of its expression: remove `max`, `collation` and `store`",
        )
    } else {
        wrong_type(column)
    };
    if let Some(message) = wrong {
        errors.at(&generated.at, message);
    }
}

/// Whether Bobak fills the field.
fn is_filled(attrs: &FieldAttrs) -> bool {
    !attrs.roles.is_empty() || attrs.deleted_at.is_some() || attrs.live.is_some()
}

/// What is wrong with the type of a generated field.
fn wrong_type(column: &FieldAst<'_>) -> Option<&'static str> {
    match column.shape.plain {
        _ if column.attrs.encrypted.is_some() => {
            Some("the engine computes this field: remove `encrypted`")
        }
        Plain::Integer(name, ..) if name != "i64" => {
            Some("a whole number that is computed is an i64: change the type")
        }
        _ => None,
    }
}

/// Only a field that nothing else needs can be left out of what is read.
fn check_on_request(table: &RecordAst<'_>, column: &FieldAst<'_>, errors: &mut Errors) {
    if !column.on_request {
        return;
    }
    let attrs = &column.attrs;
    let wrong = if table.key_columns().any(|key| std::ptr::eq(key, column)) {
        "a key is read always: remove `OnRequest`"
    } else if !attrs.roles.is_empty() || attrs.deleted_at.is_some() || attrs.live.is_some() {
        "Bobak needs this field in each record: remove `OnRequest`"
    } else if attrs.encrypted.is_some() {
        "an encrypted field is read always: remove `OnRequest`"
    } else if attrs.generated.is_some() {
        "a generated field is read always: remove `OnRequest`"
    } else if attrs.references.is_some() {
        "a reference is read always: remove `OnRequest`"
    } else {
        return;
    };
    errors.at(column.ty, wrong);
}

/// An engine sees only the bytes of an encrypted value: it can neither compare nor make them.
fn check_encrypted(table: &RecordAst<'_>, column: &FieldAst<'_>, errors: &mut Errors) {
    let attrs = &column.attrs;
    let Some(encrypted) = &attrs.encrypted else { return };
    let searchable = encrypted.value.searchable;
    let own = |other: &FieldAst<'_>| std::ptr::eq(other, column);
    let place = table.columns.iter().position(own);
    let is_in = |columns: &[usize]| place.is_some_and(|place| columns.contains(&place));
    let is_referring = table.foreign_keys.iter().any(|(columns, _)| is_in(columns));
    let wrong = if table.view {
        Some("Bobak encrypts what it writes, and a view is not written: remove `encrypted`")
    } else if table.key_columns().any(own) {
        Some("a key is not encrypted: remove `encrypted`")
    } else if attrs.default.is_some() || attrs.check.is_some() || !attrs.roles.is_empty() {
        Some("the engine or Bobak computes with this field: remove `encrypted`")
    } else if attrs.references.is_some() || is_referring {
        Some("a reference is not encrypted: remove `encrypted`")
    } else if attrs.collation.is_some() || attrs.as_text.is_some() {
        Some("an encrypted value has one form: remove `collation` and `store`")
    } else if !searchable
        && (attrs.unique.is_some() || table.indexes.iter().any(|index| is_in(&index.columns)))
    {
        Some(
            "equal values are stored as different bytes: write `encrypted(searchable)`, or no index",
        )
    } else if searchable && matches!(column.shape.plain, Plain::Float) {
        Some("a number with a fraction has several forms: write `encrypted`, or store an integer")
    } else {
        None
    };
    if let Some(message) = wrong {
        errors.at(&encrypted.at, message);
    }
}
