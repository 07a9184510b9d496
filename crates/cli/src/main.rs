//! The program `bobak`. The library part of this crate does the work; this file sets the allocator
//! and returns the exit code.

use std::process::ExitCode;

/// Commands allocate and free millions of strings. mimalloc made such reads about a third faster
/// than the system allocator when measured. The library crates leave the choice to the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    bobak_cli::main(std::env::args_os())
}
