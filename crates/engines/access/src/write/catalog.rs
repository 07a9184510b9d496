//! The system tables: which objects a file has, and who may use them.

use super::bytes::{RowPlace, damaged};
use super::definition::ColumnEntry;
use super::key::{text, text_bytes};
use super::long_values;
use super::pages::Pages;
use super::row::RowCell;
use super::table::{FileTable, NewValue};
use bobak_core::Result;
use std::time::{SystemTime, UNIX_EPOCH};

/// The page of the table of objects.
const OBJECTS: u32 = 2;
/// The objects that tables and relationships are in.
pub(super) const TABLES: u32 = 0x0f00_0001;
pub(super) const RELATIONSHIPS: u32 = 0x0f00_0003;
/// The types of objects.
pub(super) const TABLE: u16 = 1;
pub(super) const RELATIONSHIP: u16 = 8;
/// The hidden name of the user "Admin" in files with the date of those of Jackcess.
pub(super) const ADMIN: [u8; 2] = [0xa6, 0x33];
const FULL_ACCESS: u32 = 0x000f_ffff;
const DAYS_TO_1970: f64 = 25_569.0;

/// The values of a new row, by column; the others are NULL.
pub(super) type NewRow = Vec<(&'static str, NewValue)>;

/// A system table, and what changes in it.
pub(super) struct SystemTable {
    pub table: FileTable,
    pub rows: Vec<(RowPlace, Vec<RowCell>)>,
    pub removed: Vec<RowPlace>,
    added: Vec<NewRow>,
}

/// The objects of a file, and their permissions.
pub(super) struct ObjectCatalog {
    objects: SystemTable,
    permissions: SystemTable,
    owner: Vec<u8>,
    /// The number of the last object that is no table.
    last: u32,
}

impl SystemTable {
    pub fn open(pages: &Pages, page: u32) -> Result<Self> {
        let table = FileTable::open(pages, page)?;
        let rows = table.rows(pages)?;
        Ok(Self { table, rows, removed: Vec::new(), added: Vec::new() })
    }

    fn cell<'c>(&self, cells: &'c [RowCell], name: &str) -> Result<&'c RowCell> {
        let mut columns = self.table.definition.columns.iter();
        let place = columns.position(|column| column.name == name).ok_or_else(damaged)?;
        cells.get(place).ok_or_else(damaged)
    }

    /// A short text; empty if it is NULL.
    pub fn text(&self, cells: &[RowCell], name: &str) -> Result<String> {
        text(self.cell(cells, name)?.as_deref().unwrap_or_default())
    }

    /// A number of two or four bytes; 0 if it is NULL.
    pub fn number(&self, cells: &[RowCell], name: &str) -> Result<u32> {
        match self.cell(cells, name)?.as_deref() {
            Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d])),
            Some(&[a, b]) => Ok(u32::from(u16::from_le_bytes([a, b]))),
            None => Ok(0),
            Some(_) => Err(damaged()),
        }
    }

    pub fn add(&mut self, row: NewRow) {
        self.added.push(row);
    }

    /// Replaces values of a row.
    fn replace(&mut self, place: RowPlace, mut row: NewRow) {
        let Some((_, cells)) = self.rows.iter().find(|(other, _)| *other == place) else { return };
        for (column, cell) in self.table.definition.columns.iter().zip(cells) {
            let names = OBJECT_COLUMNS.iter().find(|name| **name == column.name);
            if let (Some(name), Some(bytes)) = (names, cell)
                && !row.iter().any(|(new, _)| new == name)
            {
                row.push((name, NewValue::Short(bytes.clone())));
            }
        }
        self.removed.push(place);
        self.added.push(row);
    }

    /// Writes the changes.
    pub fn write(mut self, pages: &mut Pages) -> Result<()> {
        if self.added.is_empty() && self.removed.is_empty() {
            return Ok(());
        }
        let columns = &self.table.definition.columns;
        let value = |row: &mut NewRow, column: &ColumnEntry| {
            let place = row.iter().position(|(name, _)| *name == column.name);
            place.map_or(NewValue::Null, |place| row.swap_remove(place).1)
        };
        let added = self.added.into_iter().map(|mut row| {
            columns.iter().map(|column| value(&mut row, column)).collect::<Vec<_>>()
        });
        let added = added.collect();
        self.table.edit(pages, &self.removed, added)
    }
}

/// The columns of the table of objects.
const OBJECT_COLUMNS: [&str; 17] = [
    "Connect",
    "Database",
    "DateCreate",
    "DateUpdate",
    "Flags",
    "ForeignName",
    "Id",
    "Lv",
    "LvExtra",
    "LvModule",
    "LvProp",
    "Name",
    "Owner",
    "ParentId",
    "RmtInfoLong",
    "RmtInfoShort",
    "Type",
];

/// A short text in a system table, which compresses none.
pub(super) fn short_text(value: &str) -> NewValue {
    NewValue::Short(text_bytes(value, false))
}

fn number(value: u32) -> NewValue {
    NewValue::Short(value.to_le_bytes().to_vec())
}

/// The time, as Access has dates.
pub(super) fn now() -> NewValue {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let days = (since.as_secs_f64() / 86_400.0) + DAYS_TO_1970;
    NewValue::Short(days.to_le_bytes().to_vec())
}

impl ObjectCatalog {
    pub fn open(pages: &Pages) -> Result<Self> {
        let objects = SystemTable::open(pages, OBJECTS)?;
        let (mut owner, mut last, mut permissions) = (ADMIN.to_vec(), 0x7fff_ffff, None);
        for (_, cells) in &objects.rows {
            let (name, id) = (objects.text(cells, "Name")?, objects.number(cells, "Id")?);
            if name == "MSysDb"
                && let Some(bytes) = objects.cell(cells, "Owner")?
            {
                owner = bytes.clone();
            }
            if name == "MSysACEs" {
                permissions = Some(id);
            }
            last = last.max(id);
        }
        let permissions = SystemTable::open(pages, permissions.ok_or_else(damaged)?)?;
        Ok(Self { objects, permissions, owner, last })
    }

    /// The objects of a type: the place of each, its number and its name.
    fn of_type(&self, wanted: u16) -> Result<Vec<(RowPlace, u32, String)>> {
        let mut found = Vec::new();
        for (place, cells) in &self.objects.rows {
            if self.objects.number(cells, "Type")? == u32::from(wanted) {
                let name = self.objects.text(cells, "Name")?;
                found.push((*place, self.objects.number(cells, "Id")?, name));
            }
        }
        Ok(found)
    }

    /// The names of all relationships.
    pub fn relationships(&self) -> Result<Vec<String>> {
        Ok(self.of_type(RELATIONSHIP)?.into_iter().map(|(_, _, name)| name).collect())
    }

    fn find(&self, kind: u16, name: &str) -> Result<Option<(RowPlace, u32)>> {
        let found = self.of_type(kind)?.into_iter();
        let mut same = found.filter(|(_, _, other)| other.eq_ignore_ascii_case(name));
        Ok(same.next().map(|(place, id, _)| (place, id)))
    }

    /// The page of a table's definition.
    pub fn table(&self, name: &str) -> Result<Option<u32>> {
        Ok(self.find(TABLE, name)?.map(|(_, id)| id))
    }

    /// Whether an object has a name that a new table needs.
    pub fn has(&self, name: &str) -> Result<bool> {
        for (place, cells) in &self.objects.rows {
            if self.objects.number(cells, "ParentId")? == TABLES
                && !self.objects.removed.contains(place)
                && self.objects.text(cells, "Name")?.eq_ignore_ascii_case(name)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds a table, or with the number `None` another object.
    pub fn add(
        &mut self,
        kind: u16,
        parent: u32,
        name: &str,
        id: Option<u32>,
        properties: Option<Vec<u8>>,
    ) {
        let id = id.unwrap_or_else(|| {
            self.last += 1;
            self.last
        });
        let mut row: NewRow = vec![
            ("Id", number(id)),
            ("ParentId", number(parent)),
            ("Name", short_text(name)),
            ("Type", NewValue::Short(kind.to_le_bytes().to_vec())),
            ("DateCreate", now()),
            ("DateUpdate", now()),
            ("Owner", NewValue::Short(self.owner.clone())),
            ("Flags", number(0)),
        ];
        row.extend(properties.map(|bytes| ("LvProp", NewValue::Long(bytes))));
        self.objects.add(row);
        for user in self.users(parent) {
            self.permissions.add(vec![
                ("ACM", number(FULL_ACCESS)),
                ("ObjectId", number(id)),
                ("SID", NewValue::Short(user)),
            ]);
        }
    }

    /// The users who may use what is in an object.
    fn users(&self, parent: u32) -> Vec<Vec<u8>> {
        let table = &self.permissions;
        let of_parent = table.rows.iter().filter(|(_, cells)| {
            table.number(cells, "ObjectId").is_ok_and(|id| id == parent)
                && table.cell(cells, "FInheritable").is_ok_and(Option::is_some)
        });
        let users = of_parent.filter_map(|(_, cells)| table.cell(cells, "SID").ok()?.clone());
        let users: Vec<Vec<u8>> = users.collect();
        if users.is_empty() { vec![ADMIN.to_vec()] } else { users }
    }

    /// Removes an object, and the permissions for it.
    pub fn remove(&mut self, kind: u16, name: &str) -> Result<()> {
        let Some((place, id)) = self.find(kind, name)? else { return Ok(()) };
        self.objects.removed.push(place);
        for (place, cells) in &self.permissions.rows {
            if self.permissions.number(cells, "ObjectId")? == id {
                self.permissions.removed.push(*place);
            }
        }
        Ok(())
    }

    /// The properties of a table.
    pub fn properties(&self, pages: &Pages, name: &str) -> Result<Vec<u8>> {
        let Some((place, _)) = self.find(TABLE, name)? else { return Ok(Vec::new()) };
        let row = self.objects.rows.iter().find(|(other, _)| *other == place);
        match row.map(|(_, cells)| self.objects.cell(cells, "LvProp")).transpose()? {
            Some(Some(value)) => long_values::read(pages, value),
            _ => Ok(Vec::new()),
        }
    }

    /// Replaces the properties of a table.
    pub fn set_properties(&mut self, name: &str, properties: Vec<u8>) -> Result<()> {
        if let Some((place, _)) = self.find(TABLE, name)? {
            let row = vec![("LvProp", NewValue::Long(properties)), ("DateUpdate", now())];
            self.objects.replace(place, row);
        }
        Ok(())
    }

    pub fn write(self, pages: &mut Pages) -> Result<()> {
        self.objects.write(pages)?;
        self.permissions.write(pages)
    }
}
