//! Workbooks (`.xlsx`) as input and output. The inputs are made of the parts that the format's standard (ECMA-376) names,
//! as other programs write them.

use crate::program::Program;
use std::io::{Cursor, Write as _};

const CONTENT_TYPES: &str = r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>"#;
const MAIN: &str = r#"xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main""#;

/// The style 1 is a date, 2 a date-time, 3 a time, 4 a duration.
const STYLES: &str = r#"<cellXfs count="5"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="21"/><xf numFmtId="46"/></cellXfs>"#;

/// A workbook of sheets: names, and the rows' XML.
fn workbook(sheets: &[(&str, &str)], properties: &str) -> Vec<u8> {
    let relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let mut files = vec![
        ("[Content_Types].xml".to_owned(), CONTENT_TYPES.to_owned()),
        ("xl/styles.xml".to_owned(), format!("<styleSheet {MAIN}>{STYLES}</styleSheet>")),
        (
            "xl/sharedStrings.xml".to_owned(),
            format!(
                "<sst {MAIN}><si><t>shared</t></si><si><r><t>rich</t></r><r><t>text</t></r></si></sst>"
            ),
        ),
    ];
    let (mut list, mut targets) = (String::new(), String::new());
    for (number, (name, rows)) in (1..).zip(sheets) {
        list += &format!(r#"<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>"#);
        targets += &format!(
            r#"<Relationship Id="rId{number}" Type="{relation}/worksheet" Target="worksheets/sheet{number}.xml"/>"#
        );
        let sheet = format!("<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>");
        files.push((format!("xl/worksheets/sheet{number}.xml"), sheet));
    }
    let book = format!(
        r#"<workbook {MAIN} xmlns:r="{relation}">{properties}<sheets>{list}</sheets></workbook>"#
    );
    files.push(("xl/workbook.xml".to_owned(), book));
    let package = "http://schemas.openxmlformats.org/package/2006/relationships";
    let root = format!(
        r#"<Relationship Id="rId1" Type="{relation}/officeDocument" Target="xl/workbook.xml"/>"#
    );
    for (file, targets) in [("_rels/.rels", root), ("xl/_rels/workbook.xml.rels", targets)] {
        let text = format!(r#"<Relationships xmlns="{package}">{targets}</Relationships>"#);
        files.push((file.to_owned(), text));
    }
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).expect("starts");
        zip.write_all(text.as_bytes()).expect("writes");
    }
    zip.finish().expect("finishes").into_inner()
}

const SALES: &str = r#"
<row r="2"><c r="A2" t="inlineStr"><is><t>code</t></is></c><c r="B2" t="inlineStr"><is><t>sold</t></is></c>
  <c r="D2" t="inlineStr"><is><t>amount</t></is></c><c r="E2" t="inlineStr"><is><t>paid</t></is></c></row>
<row r="4"><c r="A4" t="inlineStr"><is><t>007</t></is></c><c r="B4" s="1"><v>41640</v></c><c r="C4" t="s"><v>1</v></c>
  <c r="D4"><v>19.99</v></c><c r="E4" t="b"><v>1</v></c></row>
<row r="5"><c r="A5" t="str"><f>"0"&amp;"08"</f><v>008</v></c><c r="C5" t="str"><f>""</f><v></v></c><c r="B5" s="2"><v>41640.75</v></c><c r="D5"><v>20</v></c></row>"#;

#[test]
fn cells_keep_their_types() {
    let program = Program::new();
    program.file("sales.xlsx", workbook(&[("Sheet1", SALES)], ""));
    program.ok(&["import", "a.db", "sales.xlsx"]);
    let rows = program.ok(&["query", "a.db", "SELECT * FROM sales", "--format", "csv"]);
    assert_eq!(
        rows,
        "id,code,sold,column_3,amount,paid\n1,007,2014-01-01T00:00:00,richtext,19.99,true\n\
         2,008,2014-01-01T18:00:00,,20,\n"
    );
    let types = ["--type", "amount=currency", "--columns", "a,b,c,amount,e", "--table", "t"];
    // Names of one's own make the first row one of values.
    program.fails(
        1,
        "column amount: \"amount\" is not",
        &[&["import", "b.db", "sales.xlsx"], &types[..]].concat(),
    );
}

#[test]
fn times_durations_and_other_calendars_are_read() {
    let rows = r#"<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1"><v>2026</v></c><c r="C1" t="d"><v>x</v></c></row>
        <row r="2"><c r="A2" s="3"><v>0.5</v></c><c r="B2" s="4"><v>1.25</v></c><c r="C2" s="1"><v>41640</v></c></row>"#;
    let program = Program::new();
    let old = r#"<workbookPr date1904="1"/>"#;
    program
        .file("t.xlsx", workbook(&[("a", rows)], ""))
        .file("o.xlsx", workbook(&[("a", rows)], old));
    let shown = |file: &str| {
        program.ok(&["import", "t.db", file]);
        let table = file.trim_end_matches(".xlsx");
        program.ok(&["query", "t.db", &format!("SELECT * FROM {table}"), "--format", "csv"])
    };
    assert_eq!(shown("t.xlsx"), "id,shared,2026,x\n1,12:00:00,30:00:00,2014-01-01\n");
    assert_eq!(shown("o.xlsx"), "id,shared,2026,x\n1,12:00:00,30:00:00,2018-01-02\n");
}

#[test]
fn wrong_workbooks_are_rejected() {
    let program = Program::new();
    let one = |rows: &str| workbook(&[("a", rows)], "");
    let header = r#"<row r="1"><c r="A1" t="s"><v>0</v></c></row>"#;
    let with = |cell: &str| one(&format!("{header}<row r=\"2\">{cell}</row>"));
    let zero = format!("{header}<row r=\"2\"><c r=\"A2\" s=\"1\"><v>0</v></c></row>");
    program
        .file("two.xlsx", workbook(&[("a", header), ("b c", header)], ""))
        .file("empty.xlsx", one(""))
        .file(
            "twice.xlsx",
            one(r#"<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>0</v></c></row>"#),
        )
        .file("error.xlsx", with(r#"<c r="A2" t="e"><v>#DIV/0!</v></c>"#))
        .file("day.xlsx", with(r#"<c r="A2" s="1"><v>60</v></c>"#))
        .file("late.xlsx", with(r#"<c r="A2" s="1"><v>2958466</v></c>"#))
        .file("formula.xlsx", with(r#"<c r="A2"><f>1+1</f></c>"#))
        .file("zero.xlsx", workbook(&[("a", &zero)], r#"<workbookPr date1904="1"/>"#))
        .file(
            "large.xlsx",
            with(&format!("<c t=\"inlineStr\"><is><t>{}</t></is></c>", "a".repeat(300 << 20))),
        )
        .file("text.xlsx", "a\n1\n")
        .file("broken.xlsx", one("<row><c t=\"s\"><v>9</row>"))
        .file("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and more")
        .file("t.csv", "a\n1\n");
    let fails = |code, sentence: &str, arguments: &[&str]| {
        program.fails(code, sentence, &[&["import", "t.db"], arguments].concat());
        assert!(!program.path("t.db").exists(), "{arguments:?}");
    };
    fails(2, "two.xlsx has 2 sheets: choose one with --sheet (a, b c)", &["two.xlsx"]);
    fails(1, "two.xlsx has no sheet x, but a, b c", &["two.xlsx", "--sheet", "x"]);
    fails(1, "the sheet a is empty", &["empty.xlsx"]);
    fails(1, "two columns named \"shared\"", &["twice.xlsx"]);
    fails(1, "error.xlsx, row 2, column 1: the cell holds the error #DIV/0!", &["error.xlsx"]);
    fails(1, "the day 1900-02-29, which did not exist", &["day.xlsx"]);
    fails(1, "2958466 is not one", &["late.xlsx"]);
    fails(
        1,
        "formula.xlsx, row 2, column 1: the cell has a formula without a result",
        &["formula.xlsx"],
    );
    fails(1, "both the day 1904-01-01 and midnight", &["zero.xlsx"]);
    fails(1, "its part xl/worksheets/sheet1.xml has 314", &["large.xlsx"]);
    fails(1, "text.xlsx is no workbook, in spite of its name", &["text.xlsx"]);
    fails(1, "could not read the workbook broken.xlsx: ", &["broken.xlsx"]);
    fails(1, "has a password or is of Excel 2003", &["old.xls"]);
    fails(2, "t.csv is not a workbook: omit --sheet", &["t.csv", "--sheet", "a"]);
    fails(2, "--delimiter and --null are for CSV", &["two.xlsx", "--null", "NA"]);
    program.ok(&["import", "t.db", "two.xlsx", "--sheet", "b c", "--columns", "name"]);
    assert_eq!(
        program.ok(&["query", "t.db", "SELECT name FROM two", "--format", "csv"]),
        "name\nshared\n"
    );
}

#[test]
fn exported_values_are_those_of_the_table() {
    let program = Program::new();
    let csv = "id,n,day,at,ok,big,none\n1,1.5,2014-01-01,2014-01-01T18:00:00.25,true,12345678901234567,\n";
    program.file("t.csv", csv);
    program.ok(&["import", "t.db", "t.csv"]);
    program.ok(&["export", "t.db", "--table", "t", "--output", "t.xlsx"]);
    program.ok(&["query", "t.db", "SELECT * FROM t", "--output", "q.xlsx"]);
    for file in ["t.xlsx", "q.xlsx"] {
        let database = format!("{file}.db");
        program.ok(&["import", &database, file, "--table", "t", "--type", "big=i64"]);
        let sql = "SELECT * FROM t";
        assert_eq!(program.ok(&["query", &database, sql, "--format", "csv"]), csv, "{file}");
    }
}

#[test]
fn texts_that_are_too_long_are_not_exported() {
    let program = Program::new();
    program.file("t.csv", format!("id,a\n1,{}\n2,{}x\n", "é".repeat(32_767), "é".repeat(32_767)));
    program.ok(&["import", "t.db", "t.csv"]);
    let sentence = "row 2, column a: a cell has room for 32767 characters: choose --format csv";
    program.fails(1, sentence, &["export", "t.db", "--table", "t", "--output", "t.xlsx"]);
    assert!(!program.path("t.xlsx").exists());
}
