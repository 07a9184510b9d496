use bobak_derive::Field;

#[derive(Field)]
enum Undecided {
    A,
}

#[derive(Field)]
#[field(store = "json", rename_all = "Title Case", rename = "x")]
enum Attributes {
    #[field(store = "text", rename)]
    A,
    #[field(name = "b")]
    B,
}

#[derive(Field)]
#[field(store = "text")]
enum Data {
    A(i64),
    B { b: i64 },
}

#[derive(Field)]
#[field(store = "text", rename_all = "lowercase")]
enum Same {
    A,
    #[field(rename = "a")]
    B,
    C,
    #[allow(non_camel_case_types)]
    c,
}

#[derive(Field)]
#[field(store = "integer", rename_all = "lowercase")]
#[repr(u64)]
enum Numbers {
    #[field(rename = "a")]
    A = 1 + 1,
    B = 18446744073709551615,
    C = 9223372036854775807,
    D,
}

#[derive(Field)]
#[field(store = "text")]
enum Never {}

#[derive(Field)]
#[field(store = "text")]
struct Newtype(#[field(rename = "x")] String);

#[derive(Field)]
struct Two(String, String);

#[derive(Field)]
struct Named {
    text: String,
}

#[derive(Field)]
struct Generic<T>(T);

fn main() {}
