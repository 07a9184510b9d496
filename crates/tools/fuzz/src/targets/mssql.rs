//! What SQL Server sends.

use crate::Target;
use bobak_mssql::fuzz::decode_all;

/// The tokens of answers: columns, rows, errors, changes of the session.
pub(crate) const MSSQL: Target = Target {
    name: "mssql",
    about: "tokens as SQL Server sends them",
    longest: 16 << 10,
    factor: 64,
    run: |input| {
        decode_all(input);
    },
    seeds: || {
        let done = [0xfd, 0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        // A type, and a value of it.
        let values: [(&[u8], &[u8]); 12] = [
            (&[0x26, 8], &[8, 1, 2, 3, 4, 5, 6, 7, 8]),
            (&[0x38], &[1, 0, 0, 0]),
            (&[0x6c, 17, 38, 6], &[5, 1, 1, 2, 3, 4]),
            (&[0x2a, 7], &[8, 10, 0, 0, 0, 0, 1, 2, 3]),
            (&[0x2b, 3], &[9, 1, 2, 3, 4, 1, 2, 3, 0, 0]),
            (&[0x24, 16], &[16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
            (&[0xe7, 20, 0, 9, 4, 0xd0, 0, 52], &[4, 0, 0xe9, 0, 0x3d, 0xd8]),
            (&[0xa7, 20, 0, 9, 4, 0xd0, 0, 52], &[2, 0, 0xe9, 0x80]),
            (&[0xa5, 255, 255], &[2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 2, 0, 0, 0, 0]),
            (&[0x62, 40, 31, 0, 0], &[3, 0, 0, 0, 0x30, 0, 7]),
            (&[0x6e, 8], &[8, 0, 0, 0, 0, 9, 0, 0, 0]),
            (&[0x6f, 8], &[8, 1, 0, 0, 0, 9, 0, 0, 0]),
        ];
        let row = |(ty, value): &(&[u8], &[u8])| {
            let mut tokens = vec![0x81, 1, 0, 0, 0, 0, 0, 9, 0];
            tokens.extend_from_slice(ty);
            tokens.extend([1, b'a', 0, 0xd1]);
            tokens.extend_from_slice(value);
            tokens.extend([0xd2, 1]);
            [&tokens[..], &done].concat()
        };
        let mut seeds: Vec<Vec<u8>> = values.iter().map(row).collect();
        let error = [0xaa, 16, 0, 0x43, 10, 0, 0, 1, 14, 1, 0, b'x', 0, 0, 0, 1, 0, 0, 0];
        let begun = [0xe3, 11, 0, 8, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0];
        let login = [0xad, 12, 0, 1, 0x74, 0, 0, 4, 1, b's', 0, 16, 0, 0, 0];
        seeds.push([&error[..], &begun, &login, &done].concat());
        seeds
    },
};
