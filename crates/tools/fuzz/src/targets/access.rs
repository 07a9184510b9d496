//! Access files: any bytes, and files of our writer and of Access with some bytes changed.

use crate::Target;
use bobak_access::MsAccess;
use bobak_core::{
    ColumnSchema, Engine, FieldSet, SchemaChange, Select, Source, TableSchema, Type, Value, Verb,
    Write,
};
use flate2::read::GzDecoder;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The bytes of a page of these files.
const PAGE: usize = 4_096;
/// The bytes of a change: the page, where in it, and the new byte. A page has less than 2¹⁶ bytes, a file fewer than 256 pages
/// that matter.
const CHANGE: usize = 4;

/// The first byte chooses: the rest is a file, or changes of one of the files that are there.
pub(crate) const ACCESS: Target = Target {
    name: "microsoft-access",
    about: "Access files: any bytes, and real files with changed ones",
    longest: 16 << 10,
    factor: 4_000,
    run: |input| {
        let Some((&which, rest)) = input.split_first() else { return };
        let file = match which.checked_sub(1).and_then(|which| files().get(usize::from(which))) {
            Some(file) => changed(file, rest),
            None => rest.to_vec(),
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("shop.mdb");
        fs::write(&path, &file).expect("a file is written");
        let Ok(engine) = MsAccess::open(&path) else { return };
        let session = engine.session().expect("a session");
        for table in engine.tables().expect("what was read is listed") {
            let select = Select::all(&Arc::new(table));
            session.query(&Source::Select(&select), &mut |_| Ok(true)).expect("it was read");
        }
        drop(session);
        assert_eq!(fs::read(&path).expect("it is there"), file, "reading changed the file");
    },
    seeds: || {
        let mut seeds = vec![vec![0]];
        for which in 0..files().len() {
            // Some places of the first pages, unchanged in effect or not.
            let which = u8::try_from(which + 1).expect("few files");
            seeds.push(vec![which]);
            for page in 0..8_u8 {
                seeds.push(vec![which, page, 0, 20, 1, page, 0, 8, 255, page, 1, 0, 0]);
            }
        }
        // The start of a file, which is too short.
        let start = files().first().map(|file| file.iter().copied().take(3 * PAGE));
        seeds.push([0].into_iter().chain(start.into_iter().flatten()).collect());
        seeds
    },
};

/// Our writer's files, and Access's.
fn files() -> &'static [Vec<u8>] {
    static FILES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let written = ["shop.mdb", "shop.accdb"].map(|name| written(&folder.path().join(name)));
        let given: [&[u8]; 2] = [
            include_bytes!("../../../../engines/access/tests/files/v2000.mdb.gz"),
            include_bytes!("../../../../engines/access/tests/files/v2019.accdb.gz"),
        ];
        written.into_iter().chain(given.map(unpacked)).collect()
    })
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut file).expect("it is whole");
    file
}

fn written(path: &Path) -> Vec<u8> {
    let engine = MsAccess::open(path).expect("a new file");
    let table = TableSchema::builder("plane")
        .column(ColumnSchema::new("id", Type::I32))
        .column(ColumnSchema::new("name", Type::Text).max_chars(20).nullable(true))
        .column(ColumnSchema::new("note", Type::Text).nullable(true))
        .column(ColumnSchema::new("price", Type::F64).nullable(true))
        .key(["id"])
        .index("plane_name", ["name"]);
    let table = Arc::new(table.build().expect("the table can be"));
    engine.alter(&[SchemaChange::CreateTable(Arc::clone(&table))]).expect("the table can be");
    for id in 1..40 {
        let note = Value::from("long ".repeat(usize::try_from(id).unwrap_or(1) * 40));
        let values = [Value::Int(id), Value::from(format!("N{id}")), note, Value::Float(0.5)];
        let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
        engine.write(&Write { table: &table, verb, fields, values: &values }).expect("a row fits");
    }
    drop(engine);
    fs::read(path).expect("a file is read")
}

/// The file with changes.
fn changed(file: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    let pages = (file.len() / PAGE).max(1);
    for change in changes.chunks_exact(CHANGE) {
        let [page, high, low, byte] = *change else { continue };
        let within = usize::from(u16::from_be_bytes([high, low])) % PAGE;
        if let Some(place) = file.get_mut(usize::from(page) % pages * PAGE + within) {
            *place = byte;
        }
    }
    file
}
