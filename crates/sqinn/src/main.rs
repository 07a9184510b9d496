//! `bobak-sqinn`: SQLite over stdin and stdout, for clients of Sqinn.

#[cfg(unix)]
use bobak_sqinn::Eager;
use bobak_sqinn::{Broken, Command, Database, HELP, Log, Run, parse, selftest, serve};
use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;

/// How much a pipe holds, where it can be said. With 256 KiB instead of 64 a bare client has 1 M rows a tenth sooner; a
/// whole mebibyte brings little more, and would use up what the kernel allows a user after 32 processes.
#[cfg(target_os = "linux")]
const PIPE: usize = 256 * 1024;

fn main() -> ExitCode {
    let command = match parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(why) => {
            eprintln!("bobak-sqinn: {why}; `bobak-sqinn help` explains");
            return ExitCode::from(2);
        }
    };
    let done = match command {
        Command::Run(options) => run(&options),
        Command::Test(options) => {
            log(&options).and_then(|log| selftest(&log)).and_then(|()| print("test ok\n"))
        }
        Command::Version => print(concat!("bobak-sqinn v", env!("CARGO_PKG_VERSION"), "\n")),
        Command::Sqlite => print(&format!("{}\n", bobak_sqlite::raw::version())),
        Command::Help => print(HELP),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("bobak-sqinn: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Run) -> Result<(), String> {
    let log = log(options)?;
    log.info(|| format!("bobak-sqinn v{} begins", env!("CARGO_PKG_VERSION")));
    let database = Database::open(&options.db);
    if let Err(why) = &database {
        log.info(|| format!("the database can't be opened: {why}"));
    }
    let (input, output) = pipes().map_err(|error| format!("standard input and output: {error}"))?;
    let ended = serve(input, output, database, &log);
    match &ended {
        Ok(()) => log.info(|| "the client has said that it is done"),
        Err(broken) => log.info(|| broken.to_string()),
    }
    match ended {
        Ok(()) | Err(Broken::End) => Ok(()),
        // A client that is gone does not want the rest.
        Err(Broken::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(broken) => Err(broken.to_string()),
    }
}

/// Standard input and output, without the buffers that the standard library puts before them.
#[cfg(unix)]
fn pipes() -> io::Result<(Eager, File)> {
    use std::os::fd::AsFd;
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    // A quarter of a mebibyte lets client and server work at the same time. It is refused where the
    // user has many pipes, and for what is no pipe: then things are as they are.
    #[cfg(target_os = "linux")]
    for pipe in [&input, &output] {
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE);
    }
    Ok((Eager::new(File::from(input)), File::from(output)))
}

#[cfg(windows)]
fn pipes() -> io::Result<(File, File)> {
    use std::os::windows::io::AsHandle;
    let input = io::stdin().as_handle().try_clone_to_owned()?;
    let output = io::stdout().as_handle().try_clone_to_owned()?;
    Ok((File::from(input), File::from(output)))
}

fn log(options: &Run) -> Result<Log, String> {
    Log::new(options.level, options.logfile.as_deref(), options.logstderr)
        .map_err(|error| format!("the log file can't be opened: {error}"))
}

fn print(text: &str) -> Result<(), String> {
    io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string())
}
