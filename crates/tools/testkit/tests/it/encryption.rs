//! The random programs of `crash`, on encrypted files: they lose what plain ones do.

use crate::crash::{
    DELETE_EXTRA, DELETE_FULL_EXCLUSIVE, Mode, OnDisk, PERSIST_FULL, TRUNCATE_FULL, WAL_FULL,
    WAL_FULL_EXCLUSIVE, seeds,
};
use bobak_fault_vfs::Loss;
use bobak_sqlite::{Cipher, EncryptionKey};
use bobak_testkit::crash::{self, Promise, Tally};

/// With SQLCipher in SQLite's place, the tests are about its files.
const CIPHER: Cipher =
    if cfg!(feature = "sqlcipher") { Cipher::Sqlcipher } else { Cipher::Aegis256 };

fn crashes(mode: Mode, losses: &[Loss]) {
    let mut tally = Tally::default();
    for seed in seeds(16) {
        let loss = losses[seed as usize % losses.len()];
        let plain = OnDisk::new(seed, mode, loss);
        let encrypted =
            plain.with(|builder| builder.key(EncryptionKey::bytes([7; 32])).cipher(CIPHER));
        match crash::run(seed, &encrypted, Promise::Everything) {
            Ok(more) => tally.add(more),
            Err(what) => panic!("{mode:?}, {loss:?}, {what}"),
        }
    }
    println!("{mode:?}, {losses:?}: {tally:?}");
}

/// The modes in which `Ok` means durable.
const MODES: [Mode; 6] = [
    WAL_FULL,
    WAL_FULL_EXCLUSIVE,
    DELETE_EXTRA,
    DELETE_FULL_EXCLUSIVE,
    TRUNCATE_FULL,
    PERSIST_FULL,
];

#[test]
fn killed_keeps_everything() {
    MODES.into_iter().for_each(|mode| crashes(mode, &[Loss::Nothing]));
}

#[test]
fn power_cut_keeps_everything() {
    MODES.into_iter().for_each(|mode| crashes(mode, &Loss::POWER));
}
