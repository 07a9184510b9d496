//! Inserts of several rows in one execution: EXECUTE BLOCK, whose parameters are those of so many inserts.

use crate::wire::{FieldDescription, sql_type};

/// The most rows of a block: with more it is no faster.
const ROWS: usize = 32;
/// The most bytes of a block's parameters; the server takes 65,535.
const BYTES: usize = 50_000;
/// The most parameters of a block.
const PARAMETERS: usize = 1_000;

/// How many rows go together, of an insert with these parameters; `None` if it is one.
pub(crate) fn rows(parameters: &[FieldDescription]) -> Option<usize> {
    let length = |parameter: &FieldDescription| usize::try_from(parameter.length).unwrap_or(BYTES);
    let bytes: usize = parameters.iter().map(|parameter| length(parameter) + 8).sum();
    let rows = ROWS.min(BYTES / bytes.max(1)).min(PARAMETERS / parameters.len().max(1));
    (rows > 1).then_some(rows)
}

/// The statement for so many rows; `None` if the server does not say of what type a parameter is.
pub(crate) fn text(insert: &str, parameters: &[FieldDescription], rows: usize) -> Option<String> {
    let types: Vec<String> = parameters.iter().map(type_name).collect::<Option<_>>()?;
    let (mut declared, mut inserts) = (Vec::new(), String::new());
    for row in 0..rows {
        let mut parts = insert.rsplit_once("VALUES (")?.0.to_owned();
        parts.push_str("VALUES (");
        for (at, ty) in types.iter().enumerate() {
            declared.push(format!("P{row}_{at} {ty} = ?"));
            parts.push_str(&format!("{}:P{row}_{at}", if at > 0 { ", " } else { "" }));
        }
        inserts.push_str(&parts);
        inserts.push_str("); ");
    }
    Some(format!("EXECUTE BLOCK ({}) AS BEGIN {inserts}END", declared.join(", ")))
}

/// The type of a parameter, in SQL.
fn type_name(parameter: &FieldDescription) -> Option<String> {
    let (length, scale) = (parameter.length, -parameter.scale);
    let exact = |name: &str| match scale {
        0 => name.to_owned(),
        scale => format!("NUMERIC(18, {scale})"),
    };
    Some(match parameter.ty {
        sql_type::INT64 => exact("BIGINT"),
        sql_type::LONG if scale == 0 => "INTEGER".to_owned(),
        sql_type::SHORT if scale == 0 => "SMALLINT".to_owned(),
        sql_type::DOUBLE => "DOUBLE PRECISION".to_owned(),
        sql_type::BOOLEAN => "BOOLEAN".to_owned(),
        sql_type::DATE => "DATE".to_owned(),
        sql_type::TEXT | sql_type::VARYING if parameter.is_octets() => {
            format!("VARCHAR({length}) CHARACTER SET OCTETS")
        }
        sql_type::VARYING => format!("VARCHAR({}) CHARACTER SET UTF8", length / 4),
        sql_type::BLOB if parameter.subtype == 1 => {
            "BLOB SUB_TYPE TEXT CHARACTER SET UTF8".to_owned()
        }
        sql_type::BLOB => "BLOB SUB_TYPE BINARY".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_the_parameters_of_its_rows() {
        let field = |ty, length| FieldDescription { ty, length, ..FieldDescription::default() };
        let fields = [field(sql_type::INT64, 8), field(sql_type::VARYING, 160)];
        assert_eq!(rows(&fields), Some(32));
        assert_eq!(rows(&[field(sql_type::VARYING, 32_000)]), None);
        let insert = "INSERT INTO \"VALUES (\" (A, B) VALUES (?, ?)";
        assert_eq!(
            text(insert, &fields, 2).unwrap(),
            "EXECUTE BLOCK (P0_0 BIGINT = ?, P0_1 VARCHAR(40) CHARACTER SET UTF8 = ?, P1_0 BIGINT = ?, \
             P1_1 VARCHAR(40) CHARACTER SET UTF8 = ?) AS BEGIN \
             INSERT INTO \"VALUES (\" (A, B) VALUES (:P0_0, :P0_1); \
             INSERT INTO \"VALUES (\" (A, B) VALUES (:P1_0, :P1_1); END"
        );
        assert_eq!(text(insert, &[field(sql_type::TIMESTAMP, 8)], 2), None);
    }
}
