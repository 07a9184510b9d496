//! Relations between generated structs.

use crate::schema::rust::plain_type;
use bobak::schema::{ColumnSchema, ForeignKey, TableSchema, Type};
use std::collections::HashSet;

/// A table that gets a struct.
pub(super) struct TableStruct<'a> {
    pub table: &'a TableSchema,
    pub name: String,
    /// The fields, in the order of the table's columns.
    pub fields: Vec<String>,
}

/// A foreign key whose record and fields the compiler can check.
pub(super) struct StructRelation<'a> {
    origin: RelationOrigin<'a>,
    pub target: &'a TableStruct<'a>,
    /// The fields of the target.
    pub fields: Vec<&'a str>,
    pub constant: String,
    /// Whether the constant has another name than the derive would choose.
    pub is_named: bool,
}

/// What a relation is declared by.
#[derive(Clone, Copy)]
enum RelationOrigin<'a> {
    /// The column at this place.
    Column(usize),
    /// A foreign key of several columns.
    Key(&'a ForeignKey),
}

/// The relations of a struct, in the order of its columns; those of several columns behind them.
pub(super) fn relations<'a>(
    owner: &'a TableStruct<'a>,
    structs: &'a [TableStruct<'a>],
) -> Vec<StructRelation<'a>> {
    let columns = owner.fields.iter().map(|field| constant(field));
    let columns: HashSet<String> = columns.collect();
    let mut taken = columns.clone();
    let by_field = owner.table.columns().iter().enumerate().filter_map(|(place, column)| {
        let reference = column.reference.as_ref()?;
        let found = find(owner, structs, &reference.table, &[place], &[&reference.column])?;
        let is_key = matches!(found.0.table.key(), [key]
            if found.0.table.columns().get(*key).is_some_and(|key| key.name == reference.column));
        let constant = relation_constant(owner.fields.get(place)?, &columns);
        let is_free = is_key && taken.insert(constant.clone());
        is_free.then(|| StructRelation::new(RelationOrigin::Column(place), found, constant))
    });
    let mut all: Vec<_> = by_field.collect();
    for key in owner.table.foreign_keys() {
        let referenced: Vec<&str> = key.referenced.iter().map(AsRef::as_ref).collect();
        let found = find(owner, structs, &key.table, &key.columns, &referenced);
        let Some(found) = found else { continue };
        let mut name = constant(&snake(&found.0.name));
        if columns.contains(&name) {
            name.push_str("_REF");
        }
        let is_taken = taken.contains(&name);
        let is_named = is_taken || !has_clear_words(&found.0.name);
        if is_taken {
            let own = key.columns.iter().filter_map(|&place| owner.fields.get(place));
            name = constant(&own.map(String::as_str).collect::<Vec<_>>().join("_"));
        }
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        let relation = StructRelation::new(RelationOrigin::Key(key), found, name);
        all.push(StructRelation { is_named, ..relation });
    }
    all
}

impl<'a> StructRelation<'a> {
    fn new(
        origin: RelationOrigin<'a>,
        (target, fields): (&'a TableStruct<'a>, Vec<&'a str>),
        constant: String,
    ) -> Self {
        Self { origin, target, fields, constant, is_named: false }
    }

    /// Whether it is the relation of this column alone.
    pub(super) fn is_of_column(&self, place: usize) -> bool {
        matches!(self.origin, RelationOrigin::Column(own) if own == place)
    }

    /// Whether it is that of this foreign key of several columns.
    pub(super) fn is_of_key(&self, key: &ForeignKey) -> bool {
        matches!(self.origin, RelationOrigin::Key(own) if std::ptr::eq(own, key))
    }
}

/// The struct that columns refer to, and its fields; `None` if there is no struct, or its fields have other types.
fn find<'a>(
    owner: &TableStruct<'_>,
    structs: &'a [TableStruct<'a>],
    table: &str,
    columns: &[usize],
    referenced: &[&str],
) -> Option<(&'a TableStruct<'a>, Vec<&'a str>)> {
    let target = structs.iter().find(|target| target.table.name() == table)?;
    let mut fields = Vec::new();
    for (&place, name) in columns.iter().zip(referenced) {
        let other = target.table.columns().iter().position(|column| column.name == *name)?;
        let (own, field) = (owner.fields.get(place)?, target.fields.get(other)?);
        let types = (owner.table.columns().get(place)?, target.table.columns().get(other)?);
        // The capitals of some letters of other scripts are more than one letter, or none.
        if !are_equal(types) || !own.is_ascii() || !field.is_ascii() {
            return None;
        }
        fields.push(field.as_str());
    }
    Some((target, fields))
}

fn are_equal((own, other): (&ColumnSchema, &ColumnSchema)) -> bool {
    own.ty != Type::Any && plain_type(own) == plain_type(other)
}

fn constant(field: &str) -> String {
    field.to_uppercase()
}

/// The name that the derive gives to the relation of a field.
fn relation_constant(field: &str, columns: &HashSet<String>) -> String {
    let name = constant(field);
    match name.strip_suffix("_ID") {
        Some(short) if !short.trim_matches('_').is_empty() && !columns.contains(short) => {
            short.to_owned()
        }
        _ => format!("{name}_REF"),
    }
}

/// Whether each capital of a struct's name begins a word. Of other names, such as `TX`, the derive may make another constant.
fn has_clear_words(name: &str) -> bool {
    let letters: Vec<char> = name.chars().collect();
    let is_acronym = letters.windows(2).any(|pair| pair.iter().all(|letter| letter.is_uppercase()));
    !is_acronym && letters.iter().all(|letter| letter.is_alphanumeric())
}

/// `order_line` for `OrderLine`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// The constants of the relations from a struct to those that refer to it: name, referring struct and its relation.
pub(super) fn inverse_relations<'a>(
    target: &TableStruct<'a>,
    all: &'a [(&'a TableStruct<'a>, Vec<StructRelation<'a>>)],
) -> Vec<(String, &'a str, &'a str)> {
    let is_target = |relation: &&StructRelation<'_>| relation.target.name == target.name;
    let mut taken: HashSet<String> = target.fields.iter().map(|field| constant(field)).collect();
    let own = all.iter().filter(|(owner, _)| owner.name == target.name);
    taken.extend(own.flat_map(|(_, own)| own.iter().map(|relation| relation.constant.clone())));
    let mut found = Vec::new();
    for (owner, relations) in all {
        let several = relations.iter().filter(is_target).count() > 1;
        for relation in relations.iter().filter(is_target) {
            let mut name = constant(&crate::schema::names::snake_name(owner.table.name()));
            if several {
                name = format!("{name}_BY_{}", relation.constant.trim_end_matches("_REF"));
            }
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            found.push((name, owner.name.as_str(), relation.constant.as_str()));
        }
    }
    found
}
