//! Properties of tables and fields: named values in one long value of the table of objects.

use super::bytes::{as_long, as_short, damaged, long, part, short};
use super::key::{LONG_TEXT, text};
use super::row::YES_NO;
use bobak_core::Result;

const MAGIC: &[u8] = b"MR2\0";
/// The kinds of parts: the names, and the values of the table and of a field.
const NAMES: u16 = 0x80;
const OF_TABLE: u16 = 0;
const OF_FIELD: u16 = 1;
/// The property with Bobak's description of a table.
const SCHEMA: &str = "BobakSchema";
/// The bytes of a property's value.
const MAX_VALUE: usize = 0xfff0;

/// The properties of a table, part by part.
pub(super) struct Properties {
    names: Vec<String>,
    /// The parts after the names, each with its kind.
    parts: Vec<(u16, Vec<u8>)>,
}

impl Properties {
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut found = Self { names: Vec::new(), parts: Vec::new() };
        if bytes.is_empty() {
            return Ok(found);
        }
        let mut rest = bytes.strip_prefix(MAGIC).ok_or_else(damaged)?;
        while !rest.is_empty() {
            let length = long(rest, 0)? as usize;
            let (kind, content) =
                (short(rest, 4)?, part(rest, 6, length.checked_sub(6).ok_or_else(damaged)?)?);
            match kind {
                NAMES => found.names = names(content)?,
                kind => found.parts.push((kind, content.to_vec())),
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(found)
    }

    pub fn bytes(&self) -> Result<Vec<u8>> {
        let mut names = Vec::new();
        self.names.iter().try_for_each(|name| push_name(&mut names, name))?;
        let mut bytes = MAGIC.to_vec();
        for (kind, part) in std::iter::once(&(NAMES, names)).chain(&self.parts) {
            bytes.extend(as_long(part.len() + 6)?.to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend_from_slice(part);
        }
        Ok(bytes)
    }

    /// The number of a name.
    fn number(&mut self, name: &str) -> Result<u16> {
        let known = self.names.iter().position(|other| other == name);
        as_short(known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }))
    }

    /// Sets the table's property with Bobak's description; without one, if it is too long for a property, removes it.
    pub fn set_schema(&mut self, description: &str) -> Result<()> {
        let value: Vec<u8> = description.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let number = self.number(SCHEMA)?;
        let mut parts = self.parts.iter_mut();
        let place = parts.find(|(kind, _)| *kind == OF_TABLE).map(|(_, part)| part);
        let old = place.as_deref().cloned();
        let mut new = match &old {
            Some(old) => without(old, number)?,
            None => owner("")?,
        };
        if value.len() <= MAX_VALUE {
            push_value(&mut new, number, LONG_TEXT, &value)?;
        }
        match place {
            Some(place) => *place = new,
            None => self.parts.push((OF_TABLE, new)),
        }
        Ok(())
    }

    /// Adds the properties of a new field that are true.
    pub fn add_field(&mut self, field: &str, properties: &[&str]) -> Result<()> {
        let mut part = owner(field)?;
        for name in properties {
            let number = self.number(name)?;
            push_value(&mut part, number, YES_NO, &[0xff])?;
        }
        self.parts.push((OF_FIELD, part));
        Ok(())
    }
}

fn names(mut bytes: &[u8]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    while !bytes.is_empty() {
        let length = usize::from(short(bytes, 0)?);
        names.push(text(part(bytes, 2, length)?)?);
        bytes = bytes.get(2 + length..).unwrap_or_default();
    }
    Ok(names)
}

fn push_name(bytes: &mut Vec<u8>, name: &str) -> Result<()> {
    let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes.extend(as_short(name.len())?.to_le_bytes());
    bytes.extend(name);
    Ok(())
}

/// What a part begins with: the name of its field.
fn owner(field: &str) -> Result<Vec<u8>> {
    let mut name = Vec::new();
    push_name(&mut name, field)?;
    Ok([&as_long(name.len() + 4)?.to_le_bytes()[..], &name].concat())
}

fn push_value(part: &mut Vec<u8>, number: u16, kind: u8, value: &[u8]) -> Result<()> {
    part.extend(as_short(value.len() + 8)?.to_le_bytes());
    part.extend([0, kind]);
    part.extend(number.to_le_bytes());
    part.extend(as_short(value.len())?.to_le_bytes());
    part.extend_from_slice(value);
    Ok(())
}

/// A part without the value of a name.
fn without(bytes: &[u8], number: u16) -> Result<Vec<u8>> {
    let mut at = long(bytes, 0)? as usize;
    let mut kept = part(bytes, 0, at)?.to_vec();
    while at < bytes.len() {
        let length = usize::from(short(bytes, at)?);
        let value = part(bytes, at, length.max(8))?;
        if short(value, 4)? != number {
            kept.extend_from_slice(value);
        }
        at += length.max(8);
    }
    Ok(kept)
}

/// Bobak's description of a table among its properties.
pub(crate) fn schema_property(bytes: &[u8]) -> Option<String> {
    let properties = Properties::parse(bytes).ok()?;
    let number = properties.names.iter().position(|name| name == SCHEMA)?;
    let part = properties.parts.iter().find(|(kind, _)| *kind == OF_TABLE).map(|(_, part)| part)?;
    let mut at = long(part, 0).ok()? as usize;
    while at < part.len() {
        let length = usize::from(short(part, at).ok()?).max(8);
        if usize::from(short(part, at + 4).ok()?) == number {
            let size = usize::from(short(part, at + 6).ok()?);
            return text(part.get(at + 8..at + 8 + size)?).ok();
        }
        at += length;
    }
    None
}
