//! Encrypted snapshots and backups.

use crate::Target;
use bobak_encryption::{EncryptedReader, EncryptedWriter, EncryptionKey};
use std::io::{Read, Write};

/// Bytes that are decrypted. Only what the writer wrote comes back whole.
pub(crate) const ENCRYPTED: Target = Target {
    name: "encrypted",
    about: "encrypted snapshots and backups, with a key",
    longest: 256 << 10,
    factor: 8,
    run: |input| {
        let mut plain = Vec::new();
        let whole = EncryptedReader::new(input, &key())
            .is_ok_and(|mut reader| reader.read_to_end(&mut plain).is_ok());
        assert!(!whole || seeds().iter().any(|seed| seed == input), "a forged file was accepted");
        let mut writer = EncryptedWriter::new(Vec::new(), &key()).expect("a new file");
        writer.write_all(input).expect("a vector takes all");
        let file = writer.finish().expect("a vector takes all");
        let mut again = Vec::new();
        let mut reader = EncryptedReader::new(&file[..], &key()).expect("it has this key");
        reader.read_to_end(&mut again).expect("it is whole");
        assert!(again == input, "other bytes came back");
    },
    seeds: || seeds().to_vec(),
};

fn key() -> EncryptionKey {
    EncryptionKey::bytes([7; 32])
}

/// Files with this key.
fn seeds() -> &'static [Vec<u8>] {
    static SEEDS: std::sync::OnceLock<Vec<Vec<u8>>> = std::sync::OnceLock::new();
    SEEDS.get_or_init(|| {
        let encrypted = |length: usize| {
            let mut writer = EncryptedWriter::new(Vec::new(), &key()).expect("a new file");
            writer.write_all(&vec![1; length]).expect("a vector takes all");
            writer.finish().expect("a vector takes all")
        };
        [0, 10, 70_000].map(encrypted).to_vec()
    })
}
