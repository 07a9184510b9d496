//! Fields of bytes, read and written in parts.

use crate::engines::on_each;
use bobak::changes::TrackOptions;
use bobak::field_encryption::FieldKeys;
use bobak::prelude::*;
use std::io::{self, BufRead, Read, Seek, SeekFrom};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "blob_photo")]
struct Photo {
    id: i64,
    name: String,
    data: Option<Vec<u8>>,
    #[record(modified_at)]
    modified: Timestamp,
    #[record(version)]
    version: i64,
}

/// Without a version, under a key of two columns.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "blob_page")]
struct Page {
    #[record(key)]
    book: String,
    #[record(key)]
    number: i32,
    scan: Vec<u8>,
}

fn bytes(seed: u64, length: u64) -> Vec<u8> {
    let byte = |at: u64| (at.wrapping_add(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8;
    (0..length).map(byte).collect()
}

fn photo(name: &str, data: Option<Vec<u8>>) -> Photo {
    Photo { id: 0, name: name.into(), data, modified: Timestamp::UNIX_EPOCH, version: 1 }
}

fn open(url: &str) -> Db {
    let db = Db::builder().record::<Photo>().record::<Page>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

fn kind(error: io::Error) -> ErrorKind {
    error.downcast::<Error>().unwrap().kind()
}

fn check(url: &str) {
    let db = open(url);
    let photos = db.table::<Photo>().unwrap();
    let data = bytes(1, 2_500_001);
    let id = photos.insert(&photo("sea", Some(vec![1]))).unwrap();
    let none = photos.insert(&photo("none", None)).unwrap();
    assert!(photos.write_blob(id, Photo::DATA, 2_500_001, &*data).unwrap());
    assert!(!photos.write_blob(id + 9, Photo::DATA, 1, &b"a"[..]).unwrap());
    let written = photos.require(id).unwrap();
    assert_eq!((written.version, written.data.as_deref()), (2, Some(&*data)));
    assert!(written.modified > Timestamp::UNIX_EPOCH);

    assert!(photos.read_blob(none, Photo::DATA).unwrap().is_none());
    assert!(photos.read_blob(id + 9, Photo::DATA).unwrap().is_none());
    let mut blob = photos.read_blob(id, Photo::DATA).unwrap().unwrap();
    assert_eq!((blob.len(), blob.is_empty()), (2_500_001, false));
    let mut read = Vec::new();
    assert_eq!(blob.read_to_end(&mut read).unwrap(), 2_500_001);
    assert!(read == data);
    for (to, position) in [
        (SeekFrom::Start(2_000_000), 2_000_000),
        (SeekFrom::Current(-1_999_999), 3),
        (SeekFrom::End(-4), 2_499_997),
        (SeekFrom::Start(1 << 20), 1 << 20),
    ] {
        assert_eq!(blob.seek(to).unwrap(), position);
        let mut two = [0; 2];
        blob.read_exact(&mut two).unwrap();
        let at = usize::try_from(position).unwrap();
        assert_eq!(two, data[at..at + 2], "at {position}");
    }
    assert_eq!(blob.seek(SeekFrom::End(5)).unwrap(), 2_500_006);
    assert!(blob.fill_buf().unwrap().is_empty());
    assert!(blob.seek(SeekFrom::Current(-3_000_000)).is_err());
    drop(blob);
    check_keys(&db);
    check_transaction(&db, id, &data);
    check_changes(&db, id);
    check_sources(&db, id);
}

/// Keys of several columns, and tables without a struct.
fn check_keys(db: &Db) {
    let pages = db.table::<Page>().unwrap();
    pages.insert(&Page { book: "a".into(), number: 1, scan: vec![] }).unwrap();
    let key = || ("a".to_owned(), 1);
    assert!(pages.write_blob(key(), Page::SCAN, 3, &b"abc"[..]).unwrap());
    let mut text = String::new();
    pages.read_blob(key(), Page::SCAN).unwrap().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "abc");
    let dynamic = db.dynamic("blob_page").unwrap();
    assert!(dynamic.write_blob(("a", 1), "scan", 2, &b"de"[..]).unwrap());
    let mut blob = dynamic.read_blob(("a", 1), "scan").unwrap().unwrap();
    assert_eq!(blob.fill_buf().unwrap(), b"de");
    drop(blob);
    assert_eq!(dynamic.read_blob(("a", 1), "nothing").unwrap_err().kind(), ErrorKind::Schema);
    assert_eq!(dynamic.read_blob(("a", 1), "book").unwrap_err().kind(), ErrorKind::Unsupported);
}

fn check_transaction(db: &Db, id: i64, data: &[u8]) {
    let tx = db.begin().unwrap();
    let photos = tx.table::<Photo>().unwrap();
    photos.write_blob(id, Photo::DATA, 5, &b"other"[..]).unwrap();
    let mut text = String::new();
    photos.read_blob(id, Photo::DATA).unwrap().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "other");
    tx.rollback().unwrap();
    let stored = db.table::<Photo>().unwrap().require(id).unwrap();
    assert!(stored.data.as_deref() == Some(data));
    let few = db.table::<Photo>().unwrap().write_blob(id, Photo::DATA, 9, &b"few"[..]);
    assert_eq!(few.unwrap_err().kind(), ErrorKind::Misuse);
}

/// A source that fails leaves the value as it was, and an open transaction usable.
fn check_sources(db: &Db, id: i64) {
    const LENGTH: u64 = 700_000;
    let stored = || db.table::<Photo>().unwrap().require(id).unwrap();
    let before = stored();
    let failing = || io::repeat(1).take(LENGTH / 2).chain(Failing);
    let short = || io::repeat(2).take(LENGTH - 1);
    let long = || io::repeat(3).take(LENGTH + 1);
    let photos = db.table::<Photo>().unwrap();
    let kind = |written: Result<bool, Error>| written.unwrap_err().kind();
    assert_eq!(kind(photos.write_blob(id, Photo::DATA, LENGTH, failing())), ErrorKind::Denied);
    assert_eq!(kind(photos.write_blob(id, Photo::DATA, LENGTH, short())), ErrorKind::Misuse);
    assert_eq!(kind(photos.write_blob(id, Photo::DATA, LENGTH, long())), ErrorKind::Misuse);
    assert!(stored() == before);

    let tx = db.begin().unwrap();
    let photos = tx.table::<Photo>().unwrap();
    photos.set(id, [Photo::NAME.set("lake")]).unwrap();
    assert_eq!(kind(photos.write_blob(id, Photo::DATA, LENGTH, failing())), ErrorKind::Denied);
    assert_eq!(kind(photos.write_blob(id, Photo::DATA, LENGTH, short())), ErrorKind::Misuse);
    assert_eq!(photos.require(id).unwrap().data, before.data);
    assert!(photos.write_blob(id, Photo::DATA, LENGTH, io::repeat(4).take(LENGTH)).unwrap());
    assert!(!photos.write_blob(id + 9, Photo::DATA, LENGTH, io::repeat(4).take(LENGTH)).unwrap());
    tx.commit().unwrap();
    let after = stored();
    assert_eq!((after.name.as_str(), after.version), ("lake", before.version + 2));
    assert!(after.data.is_some_and(|data| data.len() == 700_000 && data.iter().all(|b| *b == 4)));
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other(Error::new(ErrorKind::Denied, "no more")))
    }
}

/// A reader sees one state, or notices that there is another.
fn check_changes(db: &Db, id: i64) {
    let photos = db.table::<Photo>().unwrap();
    let data = photos.require(id).unwrap().data.unwrap();
    let mut blob = photos.read_blob(id, Photo::DATA).unwrap().unwrap();
    let other = bytes(7, data.len() as u64);
    let changed = std::thread::scope(|scope| {
        let write =
            || db.table::<Photo>()?.write_blob(id, Photo::DATA, other.len() as u64, &*other);
        scope.spawn(write).join().unwrap()
    });
    let mut read = Vec::new();
    match (changed, blob.read_to_end(&mut read)) {
        (Ok(true), Ok(_)) => assert!(read == data, "one state"),
        (Ok(true), Err(error)) => assert_eq!(kind(error), ErrorKind::Conflict),
        // Where readers keep writers off, the value is as it was.
        (changed, read_all) => {
            assert_eq!(changed.unwrap_err().kind(), ErrorKind::Busy);
            read_all.unwrap();
            assert!(read == data);
        }
    }
}

#[test]
fn values_are_read_and_written_in_parts() {
    on_each(|place| check(&place.url));
}

#[test]
fn values_are_read_and_written_in_parts_of_a_key_value_file() {
    let folder = tempfile::tempdir().unwrap();
    check(&format!("kv:{}", folder.path().join("app.kv").display()));
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn values_are_read_and_written_in_parts_on_servers() {
    crate::engines::on_servers(check);
}

#[test]
fn values_are_read_and_written_in_parts_on_firebird() {
    crate::engines::on_firebird(check);
}

#[test]
#[cfg(feature = "remote")]
fn values_are_read_and_written_in_parts_through_a_server() {
    let engine = bobak_sqlite::Sqlite::builder().open_memory().unwrap();
    crate::engines::on_bobak_server(engine, check);
    crate::engines::on_bobak_server(bobak::engine::memory::Memory::new(), check);
}

#[test]
fn change_capture_records_new_values() {
    on_each(|place| {
        let builder = Db::builder().track::<Photo>(TrackOptions::new().history(true));
        let db = builder.open(&place.url).unwrap();
        db.create_missing_tables().unwrap();
        let photos = db.table::<Photo>().unwrap();
        let id = photos.insert(&photo("sea", None)).unwrap();
        photos.write_blob(id, Photo::DATA, 300_000, &*bytes(3, 300_000)).unwrap();
        let history = photos.history(id).unwrap();
        let after = history.last().unwrap().after.as_ref().unwrap();
        assert!(after.data.as_deref() == Some(&*bytes(3, 300_000)));
    });
}

fn is_short(data: &[u8]) -> Result<(), &'static str> {
    if data.len() <= 4 { Ok(()) } else { Err("must have at most 4 bytes") }
}

#[derive(Record, Debug)]
#[record(table = "blob_ruled")]
struct Ruled {
    id: i64,
    #[record(validate = is_short)]
    data: Vec<u8>,
    #[record(deleted_at)]
    deleted_at: Option<Timestamp>,
}

#[test]
fn rules_see_new_values_and_deleted_rows_stay_hidden() {
    on_each(|place| {
        let db = Db::builder().record::<Ruled>().open(&place.url).unwrap();
        db.create_missing_tables().unwrap();
        let table = db.table::<Ruled>().unwrap();
        let id = table.insert(&Ruled { id: 0, data: vec![1], deleted_at: None }).unwrap();
        let long = table.write_blob(id, Ruled::DATA, 5, &b"12345"[..]);
        assert_eq!(long.unwrap_err().kind(), ErrorKind::Invalid);
        assert!(table.write_blob(id, Ruled::DATA, 4, &b"1234"[..]).unwrap());
        assert_eq!(table.read_blob(id, Ruled::DATA).unwrap().unwrap().len(), 4);
        table.delete(id).unwrap();
        assert!(table.read_blob(id, Ruled::DATA).unwrap().is_none());
        assert!(!table.write_blob(id, Ruled::DATA, 1, &b"1"[..]).unwrap());
    });
}

#[derive(Record)]
#[record(table = "blob_secret")]
struct Secret {
    id: i64,
    #[record(encrypted)]
    data: Vec<u8>,
    plain: Vec<u8>,
}

#[test]
fn encrypted_fields_are_written_whole_and_have_no_parts() {
    on_each(|place| {
        let keys = FieldKeys::new(1, [1; 32]);
        let db = Db::builder().record::<Secret>().field_keys(keys).open(&place.url).unwrap();
        db.create_missing_tables().unwrap();
        let table = db.table::<Secret>().unwrap();
        let id = table.insert(&Secret { id: 0, data: vec![1, 2], plain: vec![3] }).unwrap();
        // `Secret::DATA` is no column of bytes: it does not compile.
        let dynamic = db.dynamic("blob_secret").unwrap();
        let read = dynamic.read_blob((id,), "data").unwrap_err();
        assert_eq!((read.kind(), read.column()), (ErrorKind::Unsupported, Some("data")));
        assert!(dynamic.write_blob((id,), "data", 3, &b"new"[..]).unwrap());
        assert!(table.write_blob(id, Secret::PLAIN, 2, &b"ab"[..]).unwrap());
        let stored = table.require(id).unwrap();
        assert_eq!((stored.data, stored.plain), (b"new".to_vec(), b"ab".to_vec()));
    });
}

/// A source that remembers how much of it was read when it was last asked.
struct Endless {
    given: u64,
    largest: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.largest = self.largest.max(buffer.len());
        buffer.fill((self.given >> 18) as u8);
        self.given += buffer.len() as u64;
        Ok(buffer.len())
    }
}

#[test]
fn a_value_of_sqlite_is_written_in_parts_of_bounded_size() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&format!("sqlite:{}", folder.path().join("app.db").display()));
    let photos = db.table::<Photo>().unwrap();
    let id = photos.insert(&photo("large", None)).unwrap();
    let mut source = Endless { given: 0, largest: 0 };
    let length = 8 << 20;
    photos.write_blob(id, Photo::DATA, length, (&mut source).take(length)).unwrap();
    assert_eq!(source.given, length);
    assert!(source.largest <= 256 << 10, "{} bytes at once", source.largest);
    let mut blob = photos.read_blob(id, Photo::DATA).unwrap().unwrap();
    let (mut largest, mut read) = (0, 0_u64);
    loop {
        let part = blob.fill_buf().unwrap();
        if part.is_empty() {
            break;
        }
        largest = largest.max(part.len());
        assert!(part.iter().zip(read..).all(|(byte, at)| *byte == (at >> 18) as u8));
        let count = part.len();
        read += count as u64;
        blob.consume(count);
    }
    assert_eq!((read, largest), (length, 1 << 20));
}

/// With its long value last.
#[derive(Record)]
#[record(table = "blob_recording")]
struct Recording {
    id: i64,
    sound: Option<Vec<u8>>,
}

/// The most memory that this process has had, in bytes.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
#[cfg(target_os = "linux")]
#[ignore = "run by the test below, in a process of its own"]
fn a_long_value_in_this_process() {
    let folder = tempfile::tempdir().unwrap();
    let file = || format!("sqlite:{}?synchronous=off", folder.path().join("app.db").display());
    let url = std::env::var(LONG_VALUE_URL).unwrap_or_else(|_| file());
    let length = if url.starts_with("sqlite:") { 256 << 20 } else { 64 << 20 };
    let db = Db::builder().record::<Recording>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    let recordings = db.table::<Recording>().unwrap();
    let id = recordings.insert(&Recording { id: 0, sound: None }).unwrap();
    let before = peak();
    recordings.write_blob(id, Recording::SOUND, length, io::repeat(7).take(length)).unwrap();
    let mut sound = recordings.read_blob(id, Recording::SOUND).unwrap().unwrap();
    assert_eq!(io::copy(&mut sound, &mut io::sink()).unwrap(), length);
    let taken = (peak() - before) >> 20;
    assert!(taken < 48, "{taken} MiB for a value of {} MiB", length >> 20);
}

/// The database in which the test above writes, if it is no new file.
#[cfg(target_os = "linux")]
const LONG_VALUE_URL: &str = "BOBAK_TEST_LONG_VALUE";

#[cfg(target_os = "linux")]
fn takes_a_few_mib(url: Option<&str>) {
    let mut test = std::process::Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "blobs::a_long_value_in_this_process", "--ignored", "--nocapture"]);
    test.envs(url.map(|url| (LONG_VALUE_URL, url)));
    assert!(test.status().unwrap().success());
}

#[test]
#[cfg(target_os = "linux")]
fn a_value_of_256_mib_takes_a_few_mib() {
    takes_a_few_mib(None);
}

#[test]
#[cfg(all(target_os = "linux", feature = "postgres"))]
fn a_value_of_64_mib_takes_a_few_mib_on_postgres() {
    crate::engines::on_postgres(|url| takes_a_few_mib(Some(url)));
}
