//! Rules whose types do not fit, and a pattern without its feature.

mod bobak {
    pub use bobak_core::*;
    pub use bobak_derive::*;
    pub mod __private {
        pub use bobak_core::*;
        pub use std::sync::Arc;
    }
}

use bobak::Record;

#[derive(Record)]
#[record(crate = "crate::bobak")]
struct Person {
    id: i64,
    #[record(range = 0..="9")]
    age: i64,
    #[record(validate = check)]
    name: String,
    #[record(pattern = "[a-z]+")]
    code: String,
}

fn check(_: &i64) -> Result<(), String> {
    Ok(())
}

fn main() {}
