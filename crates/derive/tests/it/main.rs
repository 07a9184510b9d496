//! The derives from outside: what they accept, what they make, what they reject.

mod compile_fail; // every mistake, with its message
mod enums; // #[derive(Field)] on enums
mod newtypes; // #[derive(Field)] on newtypes
mod record; // #[derive(Record)]: values, keys, reads
mod rows; // #[derive(FromRow)]
mod schema; // #[derive(Record)]: the table described

/// Stands for the crate `bobak`, which this crate can't depend on.
mod shim {
    pub mod __private {
        pub use bobak_core::*;
        pub use std::sync::Arc;
    }
}
