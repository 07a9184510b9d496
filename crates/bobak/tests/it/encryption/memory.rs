//! Keys are cleared from memory: nothing of them remains after their last owner is dropped.

use super::*;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, Read as _, Seek as _, SeekFrom};

/// The search itself holds a secret only in masked form, or it would find its own copy.
const MASK: u8 = 0x5a;
const MASKED: &str = "BOBAK_TEST_ENCRYPTED_MASKED";

fn masked(secret: &[u8]) -> Vec<u8> {
    secret.iter().map(|byte| byte ^ MASK).collect()
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Whether a secret is anywhere in this process's memory, and where.
fn find(masked: &[u8]) -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut memory = File::open("/proc/self/mem").unwrap();
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let place = |text| u64::from_str_radix(text, 16).unwrap();
        let (from, to) = (place(from), place(to));
        if !rest.starts_with("rw") {
            return None;
        }
        let mut content = vec![0; usize::try_from(to - from).unwrap()];
        memory.seek(SeekFrom::Start(from)).unwrap();
        // Memory that was unmapped meanwhile has no content.
        memory.read_exact(&mut content).ok()?;
        let found = is_in(masked, &content);
        // The copy contains keys that are in use, which the next search would find.
        std::hint::black_box(&mut content).fill(0);
        found.then(|| line.to_owned())
    })
}

fn is_in(masked: &[u8], content: &[u8]) -> bool {
    let mut rest = content;
    let first = masked[0] ^ MASK;
    while rest.skip_until(first).unwrap() > 0 {
        let begins = content.len() - rest.len() - 1;
        let there = content.get(begins..begins + masked.len());
        if there.is_some_and(|there| there.iter().zip(masked).all(|(a, b)| a ^ MASK == *b)) {
            return true;
        }
    }
    false
}

/// Opens files and changes their keys. Afterwards no key is in memory.
pub(super) fn use_keys_and_search_memory(folder: &Path) {
    let masked: Vec<Vec<u8>> = std::env::var(MASKED)
        .unwrap()
        .split(' ')
        .map(|digits| {
            let byte = |place| u8::from_str_radix(&digits[place..place + 2], 16).unwrap();
            (0..digits.len()).step_by(2).map(byte).collect()
        })
        .collect();
    let file = |name: &str| folder.join(name);
    let path = file("app.db");
    let first = EncryptionKey::from_file(file("bytes")).unwrap();
    let db = open(&path, first.clone()).unwrap();
    fill(&db, 100);
    db.backup(file("backup"), &BackupOptions::new(), |_| Ok(())).unwrap();
    assert!(find(&masked[0]).is_some(), "it is looked for where it is");
    let options = BackupOptions::new().key(first.clone());
    let plain = Db::open("sqlite::memory:").unwrap();
    plain.backup(file("encrypted backup"), &options, |_| Ok(())).unwrap();
    let restoring = RestoreOptions::new().key(first.clone());
    Db::check_restore(file("encrypted backup"), None, &restoring).unwrap();
    let snapshot = bobak::engine::memory::Memory::builder().key(first.clone());
    Db::builder()
        .open_engine(snapshot.snapshot(file("m")).open().unwrap())
        .unwrap()
        .flush()
        .unwrap();
    drop((db, options, plain, restoring));
    let second = EncryptionKey::from_file(file("digits")).unwrap();
    let builder = |key: &EncryptionKey| with_key(key.clone());
    builder(&first).change_key(&path, Some(&second)).unwrap();
    assert_eq!(open(&path, first).err().unwrap().kind(), ErrorKind::Denied);
    let third = EncryptionKey::from_password_file(file("password")).unwrap();
    builder(&second).change_key(&path, Some(&third)).unwrap();
    drop(second);
    assert_eq!(count(&open(&path, third).unwrap()), 100);
    for masked in masked {
        assert_eq!(find(&masked), None, "{} bytes, {:02x} first", masked.len(), masked[0] ^ MASK);
    }
}

#[test]
fn keys_are_cleared_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let key = |first: u8| -> Vec<u8> {
        (0..32_u8).map(|n| first.wrapping_add(n.wrapping_mul(37))).collect()
    };
    let password = b"marmots whistle at dawn";
    fs::write(folder.path().join("bytes"), key(0xb1)).unwrap();
    fs::write(folder.path().join("digits"), digits(&key(0xc3))).unwrap();
    fs::write(folder.path().join("password"), password).unwrap();
    let mut secrets = vec![key(0xb1), key(0xc3), password.to_vec()];
    for key in [key(0xb1), key(0xc3)] {
        secrets.extend([digits(&key).into_bytes(), digits(&key).to_uppercase().into_bytes()]);
    }
    let masked: Vec<String> = secrets.iter().map(|secret| digits(&masked(secret))).collect();
    let mut child = command(folder.path(), "memory").env(MASKED, masked.join(" ")).spawn().unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
}
