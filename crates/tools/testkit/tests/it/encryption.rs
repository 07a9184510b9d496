//! The random programs of `crash`, on encrypted files: they lose what plain ones do. Run by themselves:
//! SQLCipher takes the place of SQLite.

use crate::crash::{DELETE_EXTRA, Mode, OnDisk, WAL_FULL, seeds};
use bobak_fault_vfs::Loss;
use bobak_sqlite::EncryptionKey;
use bobak_testkit::crash::{self, Promise, Tally};

fn crashes(mode: Mode, losses: &[Loss]) {
    let mut tally = Tally::default();
    for seed in seeds(16) {
        let loss = losses[seed as usize % losses.len()];
        let plain = OnDisk::new(seed, mode, loss);
        let encrypted = plain.with(|builder| builder.key(EncryptionKey::bytes([7; 32])));
        match crash::run(seed, &encrypted, Promise::Everything) {
            Ok(more) => tally.add(more),
            Err(what) => panic!("{mode:?}, {loss:?}, {what}"),
        }
    }
    println!("{mode:?}, {losses:?}: {tally:?}");
}

#[test]
fn killed_keeps_everything() {
    [WAL_FULL, DELETE_EXTRA].into_iter().for_each(|mode| crashes(mode, &[Loss::Nothing]));
}

#[test]
fn power_cut_keeps_everything() {
    [WAL_FULL, DELETE_EXTRA].into_iter().for_each(|mode| crashes(mode, &Loss::POWER));
}
