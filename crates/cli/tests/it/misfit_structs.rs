use bobak::prelude::*;
use bobak::relation::ToMany;

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "fitting")]
pub struct Fitting {
    pub id: i64,
    pub small: Option<i8>,
    pub flag: Option<bool>,
    pub token: Option<Uuid>,
    pub r: Option<f64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "misfit")]
pub struct Misfit {
    pub id: i64,
    pub small: Option<i64>, // declared TINYINT: holds integers
    #[record(default = 0)]
    pub flag: i64, // declared BOOLEAN: holds integers
    pub token: Value<'static>, // declared UUID: holds values of any type
    pub n: Value<'static>, // declared INTEGER: holds values of any type
    pub name: Value<'static>, // declared TEXT: holds values of any type
    pub r: Value<'static>, // declared REAL: holds values of any type
    pub b: Value<'static>, // declared BLOB: holds values of any type
    #[record(max = 3)]
    pub code: Option<String>,
    #[record(check = "u > 0")]
    pub u: Option<i64>, // declared SMALLINT: holds integers
    #[record(generated = "n % 7 + 1")]
    pub total: Option<i64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "odd_key")]
pub struct OddKey {
    pub id: Value<'static>, // declared UUID: holds values of any type
    pub v: Option<i64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "wide_key")]
pub struct WideKey {
    #[record(key = "given")]
    pub id: i64, // declared TINYINT: holds integers
    #[record(references = WideKey)]
    pub parent: Option<i64>, // declared TINYINT: holds integers
}

#[allow(dead_code)]
impl WideKey {
    pub const WIDE_KEY: ToMany<Self, WideKey> = WideKey::PARENT_REF.inverse();
}
