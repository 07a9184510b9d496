use bobak_derive::FromRow;

#[derive(FromRow)]
enum Choice {
    A,
}

#[derive(FromRow)]
struct Unit;

#[derive(FromRow)]
struct Borrowed<'a> {
    name: &'a str,
}

#[derive(FromRow)]
#[row(column = "x", table = "y")]
struct Name {
    #[row(column = "LAST", crate = "x", skip = true)]
    first: String,
    last: String,
    #[row(column = "last")]
    again: String,
    #[row(column = "x", skip)]
    skipped: String,
    #[row(column)]
    nothing: String,
    #[row(columns = "x")]
    unknown: String,
}

#[derive(FromRow)]
struct Pair(#[row(column = "x")] String, i64);

fn main() {}
