//! What a PostgreSQL server sends.

use crate::Target;
use bobak_postgres::decoders;

/// The types that are decoded each in its own way, with a modifier, and one that is not known.
const TYPES: [(u32, i32); 18] = [
    (16, -1),
    (17, -1),
    (20, -1),
    (21, -1),
    (23, -1),
    (25, -1),
    (26, -1),
    (700, -1),
    (701, -1),
    (1082, -1),
    (1083, -1),
    (1114, -1),
    (1184, -1),
    (1700, -1),
    (1700, (19 << 16) + 8),
    (2950, -1),
    (3802, -1),
    (99_999, -1),
];

/// Rows and errors.
pub(crate) const POSTGRES: Target = Target {
    name: "postgres",
    about: "rows and errors as a PostgreSQL server sends them",
    longest: 16 << 10,
    factor: 64,
    run: |input| {
        let Some((first, rest)) = input.split_first() else { return };
        // Which type the first column has changes from input to input.
        let mut types = TYPES;
        types.rotate_left(usize::from(*first) % TYPES.len());
        let _ = decoders::row(&types, rest);
        let _ = decoders::error(rest);
    },
    seeds: || {
        let numeric =
            |digits: [u16; 6]| digits.iter().flat_map(|d| d.to_be_bytes()).collect::<Vec<u8>>();
        let values: [Vec<u8>; 5] = [
            vec![1],
            7_i64.to_be_bytes().to_vec(),
            numeric([2, 0, 0, 4, 12, 3_400]),
            numeric([2, 0xffff, 0x4000, 4, 1, 1]),
            b"text".to_vec(),
        ];
        let mut row = vec![0, 5];
        for value in &values {
            row.extend((value.len() as u32).to_be_bytes());
            row.extend(value);
        }
        row.extend((-1_i32).to_be_bytes());
        let mut seeds: Vec<Vec<u8>> =
            (0..18).map(|first| [&[first], row.as_slice()].concat()).collect();
        seeds.push(b"\x00SERROR\0C23505\0Mduplicate key\0Dkey (id)=(1)\0tt\0nt_pkey\0\0".to_vec());
        seeds
    },
};
