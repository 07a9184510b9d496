//! A new file: its first pages, and the system tables with what Access expects in them.
//!
//! The definitions and rows are facts, read from the empty files of Access 2000 and 2010 that Jackcess 4.0.8 has.

use super::bytes::{damaged, put};
use super::catalog::{ADMIN, RELATIONSHIPS, TABLE, TABLES, now, short_text};
use super::data_page::{add, empty};
use super::definition::{ColumnEntry, Definition, LogicalIndex, LongColumn, MAGIC, PhysicalIndex};
use super::format::FileFormat;
use super::key::{
    BINARY, BYTE, DATE_TIME, DECIMAL, DOUBLE, GUID, INTEGER, LONG, LONG_BINARY, LONG_TEXT, SINGLE,
    TEXT,
};
use super::pages::Pages;
use super::row::YES_NO;
use super::table::{FileTable, NewValue};
use super::usage_map;
use bobak_core::Result;

/// A column: its name and kind, its number, its number among those of variable length, its place among the others, its
/// length, and its flags.
type Column = (&'static str, u8, u16, u16, u16, u16, [u8; 2]);
/// An index: its name, the numbers of its columns, its flags, and whether it is the key's; and its physical number.
type Index = (&'static str, &'static [u16], u8, u8, usize);

/// A system table.
struct System {
    name: &'static str,
    columns: &'static [Column],
    /// By name.
    indexes: &'static [Index],
    /// Of the object.
    flags: u32,
    has_owner: bool,
}

const SYSTEM: u32 = 0x8000_0000;
const FIXED: [u8; 2] = [0x13, 0];
const VARIABLE: [u8; 2] = [0x12, 0];
const USER: [u8; 2] = [0x32, 0];
const IN_FIELD: [u8; 2] = [0x03, 0];
const OF_FILE: [u8; 2] = [0x02, 0x10];

const OBJECTS: System = System {
    name: "MSysObjects",
    columns: &[
        ("Connect", LONG_TEXT, 9, 3, 0, 0, VARIABLE),
        ("Database", LONG_TEXT, 8, 2, 0, 0, VARIABLE),
        ("DateCreate", DATE_TIME, 4, 1, 10, 8, FIXED),
        ("DateUpdate", DATE_TIME, 5, 1, 18, 8, FIXED),
        ("Flags", LONG, 7, 2, 26, 4, FIXED),
        ("ForeignName", TEXT, 10, 4, 0, 510, VARIABLE),
        ("Id", LONG, 0, 0, 0, 4, FIXED),
        ("Lv", LONG_BINARY, 13, 7, 0, 0, VARIABLE),
        ("LvExtra", LONG_BINARY, 16, 10, 0, 0, VARIABLE),
        ("LvModule", LONG_BINARY, 15, 9, 0, 0, VARIABLE),
        ("LvProp", LONG_BINARY, 14, 8, 0, 0, VARIABLE),
        ("Name", TEXT, 2, 0, 0, 510, VARIABLE),
        ("Owner", BINARY, 6, 1, 0, 510, USER),
        ("ParentId", LONG, 1, 0, 4, 4, FIXED),
        ("RmtInfoLong", LONG_BINARY, 12, 6, 0, 0, VARIABLE),
        ("RmtInfoShort", BINARY, 11, 5, 0, 510, VARIABLE),
        ("Type", INTEGER, 3, 1, 8, 2, FIXED),
    ],
    indexes: &[("Id", &[0], 0x81, 1, 1), ("ParentIdName", &[1, 2], 0x81, 0, 0)],
    flags: SYSTEM,
    has_owner: true,
};

const PERMISSIONS: System = System {
    name: "MSysACEs",
    columns: &[
        ("ACM", LONG, 2, 1, 4, 4, FIXED),
        ("FInheritable", YES_NO, 3, 1, 0, 1, FIXED),
        ("ObjectId", LONG, 0, 0, 0, 4, FIXED),
        ("SID", BINARY, 1, 0, 0, 510, USER),
    ],
    indexes: &[("ObjectId", &[0], 0x88, 0, 0)],
    flags: SYSTEM,
    has_owner: true,
};

const QUERIES: System = System {
    name: "MSysQueries",
    columns: &[
        ("Attribute", BYTE, 1, 0, 4, 1, FIXED),
        ("Expression", LONG_TEXT, 5, 3, 0, 0, VARIABLE),
        ("Flag", INTEGER, 6, 4, 5, 2, FIXED),
        ("LvExtra", LONG, 7, 4, 7, 4, FIXED),
        ("Name1", TEXT, 3, 1, 0, 510, VARIABLE),
        ("Name2", TEXT, 4, 2, 0, 510, VARIABLE),
        ("ObjectId", LONG, 0, 0, 0, 4, FIXED),
        ("Order", BINARY, 2, 0, 0, 510, VARIABLE),
    ],
    indexes: &[("ObjectIdAttribute", &[0, 1, 2], 0x81, 1, 0)],
    flags: SYSTEM,
    has_owner: true,
};

const RELATIONS: System = System {
    name: "MSysRelationships",
    columns: &[
        ("ccolumn", LONG, 2, 1, 4, 4, FIXED),
        ("grbit", LONG, 1, 1, 0, 4, FIXED),
        ("icolumn", LONG, 3, 1, 8, 4, FIXED),
        ("szColumn", TEXT, 5, 2, 0, 510, VARIABLE),
        ("szObject", TEXT, 4, 1, 0, 510, VARIABLE),
        ("szReferencedColumn", TEXT, 7, 4, 0, 510, VARIABLE),
        ("szReferencedObject", TEXT, 6, 3, 0, 510, VARIABLE),
        ("szRelationship", TEXT, 0, 0, 0, 510, VARIABLE),
    ],
    indexes: &[
        ("szObject", &[4], 0x82, 0, 1),
        ("szReferencedObject", &[6], 0x82, 0, 2),
        ("szRelationship", &[0], 0x82, 0, 0),
    ],
    flags: SYSTEM,
    has_owner: true,
};

const COMPLEX: System = System {
    name: "MSysComplexColumns",
    columns: &[
        ("ColumnName", TEXT, 0, 0, 0, 510, VARIABLE),
        ("ComplexID", LONG, 4, 1, 12, 4, [0x17, 0]),
        ("ComplexTypeObjectID", LONG, 1, 1, 0, 4, FIXED),
        ("ConceptualTableID", LONG, 3, 1, 8, 4, FIXED),
        ("FlatTableID", LONG, 2, 1, 4, 4, FIXED),
    ],
    indexes: &[
        ("IdxConceptualTableID", &[3], 0x8a, 0, 1),
        ("IdxFlatTableID", &[2], 0x8a, 0, 2),
        ("IdxID", &[4], 0x8b, 1, 0),
    ],
    flags: SYSTEM,
    has_owner: false,
};

const fn value_table(name: &'static str, columns: &'static [Column]) -> System {
    System { name, columns, indexes: &[], flags: 0x8003_0000, has_owner: false }
}

/// The tables of values that a field may have several of, since Access 2007.
const VALUES: [System; 9] = [
    value_table("MSysComplexType_UnsignedByte", &[("Value", BYTE, 0, 0, 0, 1, IN_FIELD)]),
    value_table("MSysComplexType_Short", &[("Value", INTEGER, 0, 0, 0, 2, IN_FIELD)]),
    value_table("MSysComplexType_Long", &[("Value", LONG, 0, 0, 0, 4, IN_FIELD)]),
    value_table("MSysComplexType_IEEESingle", &[("Value", SINGLE, 0, 0, 0, 4, IN_FIELD)]),
    value_table("MSysComplexType_IEEEDouble", &[("Value", DOUBLE, 0, 0, 0, 8, IN_FIELD)]),
    value_table("MSysComplexType_GUID", &[("Value", GUID, 0, 0, 0, 16, IN_FIELD)]),
    value_table("MSysComplexType_Decimal", &[("Value", DECIMAL, 0, 0, 0, 9, [0x02, 0])]),
    value_table("MSysComplexType_Text", &[("Value", TEXT, 0, 0, 0, 510, [0x02, 0])]),
    value_table(
        "MSysComplexType_Attachment",
        &[
            ("FileData", LONG_BINARY, 3, 3, 0, 0, OF_FILE),
            ("FileFlags", LONG, 5, 4, 8, 4, [0x03, 0x10]),
            ("FileName", TEXT, 1, 1, 0, 510, OF_FILE),
            ("FileTimeStamp", DATE_TIME, 4, 4, 0, 8, [0x03, 0x10]),
            ("FileType", TEXT, 2, 2, 0, 510, OF_FILE),
            ("FileURL", LONG_TEXT, 0, 0, 0, 0, OF_FILE),
        ],
    ),
];

/// The hidden names of the users "Engine" and "Creator", and of the group "Users".
const ENGINE: [u8; 2] = [0xa7, 0x31];
const CREATOR: [u8; 2] = [0xa7, 0x36];
const USERS: [u8; 2] = [0xa7, 0x33];

const ROOT: u32 = 0x0f00_0000;
const DATABASES: u32 = 0x0f00_0002;
const DATABASE: u32 = 0x1000_0000;

/// Who may do what with which object, and whether that holds for new objects in it.
const GRANTS: [(u32, u32, bool, [u8; 2]); 16] = [
    (DATABASES, 0x6_0000, false, ADMIN),
    (RELATIONSHIPS, 0xf_00fe, true, CREATOR),
    (RELATIONSHIPS, 0x6_0001, false, ADMIN),
    (RELATIONSHIPS, 0xf_ffff, true, USERS),
    (TABLES, 0xf_00fe, true, CREATOR),
    (TABLES, 0xf_feff, true, ADMIN),
    (TABLES, 0xf_feff, true, USERS),
    (DATABASE, 0x6_000e, false, ADMIN),
    (DATABASE, 0xe, false, USERS),
    (2, 0x6_0000, false, ADMIN),
    (2, 0x14, false, USERS),
    (3, 0x6_0000, false, ADMIN),
    (4, 0x6_0000, false, ADMIN),
    (4, 0x14, false, USERS),
    (5, 0xe_0000, false, ADMIN),
    (5, 0x14, false, USERS),
];

/// A new file without tables of users.
pub(super) fn create(format: FileFormat) -> Result<Pages> {
    let mut pages = Pages::new(format);
    let mut first = || pages.allocate();
    let (head, map) = (first()?, first()?);
    pages.write(head, format.first_page()?);
    let mut map_page = empty(1_u32.to_le_bytes())?;
    for _ in 0..2 {
        add(&mut map_page, &[0; 69])?.ok_or_else(damaged)?;
    }
    pages.write(map, map_page);
    let mut systems = vec![&OBJECTS, &PERMISSIONS, &QUERIES, &RELATIONS];
    if format != FileFormat::JET_4 {
        systems.push(&COMPLEX);
        systems.extend(&VALUES);
    }
    let mut numbers = Vec::new();
    for _ in &systems {
        numbers.push(pages.allocate()?);
    }
    let named: Vec<(u32, &System)> = numbers.into_iter().zip(systems).collect();
    for (page, system) in &named {
        let definition = define(&mut pages, system)?;
        let mut rows = match *page {
            2 => objects(&named),
            3 => permissions(),
            _ => Vec::new(),
        }
        .into_iter();
        FileTable::new(*page, definition).rewrite(&mut pages, &mut || Ok(rows.next()))?;
    }
    Ok(pages)
}

fn define(pages: &mut Pages, system: &System) -> Result<Definition> {
    let long: Vec<u16> = system
        .columns
        .iter()
        .filter(|column| matches!(column.1, LONG_TEXT | LONG_BINARY))
        .map(|column| column.2)
        .collect();
    let maps = usage_map::create(pages, 2 + system.indexes.len() + 2 * long.len())?;
    let mut maps = maps.into_iter();
    let mut map = || maps.next().ok_or_else(damaged);
    let is_system = system.has_owner;
    let mut definition = Definition::new(map()?, map()?, is_system)?;
    let order = pages.format.sort_order().bytes();
    for column in system.columns {
        definition.columns.push(entry(column, order)?);
    }
    for number in long {
        definition.long.push(LongColumn { number, owned: map()?, with_room: map()? });
    }
    let mut physical: Vec<&Index> = system.indexes.iter().collect();
    physical.sort_by_key(|index| index.4);
    for index in physical {
        let columns: Vec<(u16, bool)> = index.1.iter().map(|number| (*number, true)).collect();
        definition.physical.push(PhysicalIndex::new(&columns, index.2, map()?)?);
    }
    for (name, _, _, kind, physical) in system.indexes {
        let number = u32::try_from(*physical).map_err(|_| damaged())?.to_le_bytes();
        let mut raw = [0; 28];
        put(&mut raw, 0, &MAGIC.to_le_bytes())?;
        put(&mut raw, 4, &[number, number].concat())?;
        put(&mut raw, 13, &[0xff; 4])?;
        put(&mut raw, 21, &[4, 4, *kind])?;
        definition.logical.push(LogicalIndex { raw, name: (*name).to_owned() });
    }
    definition.forget_dropped_columns()?;
    Ok(definition)
}

fn entry(column: &Column, order: [u8; 4]) -> Result<ColumnEntry> {
    let (name, kind, number, variable, place, length, flags) = *column;
    let mut raw = [0; 25];
    put(&mut raw, 0, &[kind])?;
    put(&mut raw, 1, &MAGIC.to_le_bytes())?;
    put(&mut raw, 11, &if kind == DECIMAL { [18, 0, 0, order[3]] } else { order })?;
    put(&mut raw, 15, &flags)?;
    put(&mut raw, 23, &length.to_le_bytes())?;
    let mut entry = ColumnEntry { raw, name: name.to_owned() };
    entry.put(number, variable, place);
    // The second number of system tables is 0.
    put(&mut entry.raw, 9, &[0, 0])?;
    Ok(entry)
}

fn number(value: u32) -> NewValue {
    NewValue::Short(value.to_le_bytes().to_vec())
}

/// The rows of the table of objects, in the order of its columns.
fn objects(systems: &[(u32, &System)]) -> Vec<Vec<NewValue>> {
    let row = |id, parent, name: &str, kind: u16, flags, owner: Option<[u8; 2]>| {
        let null = || NewValue::Null;
        vec![
            null(),
            null(),
            now(),
            now(),
            number(flags),
            null(),
            number(id),
            null(),
            null(),
            null(),
            null(),
            short_text(name),
            owner.map_or(NewValue::Null, |owner| NewValue::Short(owner.to_vec())),
            number(parent),
            null(),
            null(),
            NewValue::Short(kind.to_le_bytes().to_vec()),
        ]
    };
    let mut rows = vec![
        row(TABLES, ROOT, "Tables", 3, SYSTEM, Some(ENGINE)),
        row(DATABASES, ROOT, "Databases", 3, SYSTEM, Some(ENGINE)),
        row(RELATIONSHIPS, ROOT, "Relationships", 3, SYSTEM, Some(ENGINE)),
        row(DATABASE, DATABASES, "MSysDb", 2, SYSTEM, Some(ADMIN)),
    ];
    rows.extend(systems.iter().map(|(page, system)| {
        let owner = system.has_owner.then_some(ENGINE);
        row(*page, TABLES, system.name, TABLE, system.flags, owner)
    }));
    rows
}

fn permissions() -> Vec<Vec<NewValue>> {
    let row = |(object, permission, is_inherited, user): &(u32, u32, bool, [u8; 2])| {
        let inherited = if *is_inherited { NewValue::Short(Vec::new()) } else { NewValue::Null };
        vec![number(*permission), inherited, number(*object), NewValue::Short(user.to_vec())]
    };
    GRANTS.iter().map(row).collect()
}
