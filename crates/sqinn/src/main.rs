//! `bobak-sqinn`: SQLite over stdin and stdout, for clients of Sqinn.

#[cfg(unix)]
use bobak_sqinn::SpinningPipe;
use bobak_sqinn::{
    Command, Database, HELP, Log, ProtocolError, RunOptions, parse, selftest, serve,
};
use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;

/// The capacity of pipes, on systems that can set it. With 256 KiB instead of 64, a minimal client reads 1 M rows a tenth
/// faster. One mebibyte gains little more, and 32 processes would exhaust the kernel's limit per user.
#[cfg(target_os = "linux")]
const PIPE_CAPACITY: usize = 256 * 1024;

fn main() -> ExitCode {
    let command = match parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("bobak-sqinn: {error}; see `bobak-sqinn help`");
            return ExitCode::from(2);
        }
    };
    let result = match command {
        Command::Run(options) => run(&options),
        Command::Test(options) => {
            log(&options).and_then(|log| selftest(&log)).and_then(|()| print("test ok\n"))
        }
        Command::Version => print(concat!("bobak-sqinn v", env!("CARGO_PKG_VERSION"), "\n")),
        Command::Sqlite => print(&format!("{}\n", bobak_sqlite::raw::version())),
        Command::Help => print(HELP),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bobak-sqinn: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &RunOptions) -> Result<(), String> {
    let log = log(options)?;
    log.info(|| format!("bobak-sqinn v{} starts", env!("CARGO_PKG_VERSION")));
    let database = Database::open(&options.db);
    if let Err(error) = &database {
        log.info(|| format!("the database can't be opened: {error}"));
    }
    let (input, output) = pipes().map_err(|error| format!("standard input and output: {error}"))?;
    let ended = serve(input, output, database, &log);
    match &ended {
        Ok(()) => log.info(|| "the client has quit"),
        Err(error) => log.info(|| error.to_string()),
    }
    match ended {
        Ok(()) | Err(ProtocolError::EndOfInput) => Ok(()),
        // The client has disconnected, which is no error.
        Err(ProtocolError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Standard input and output, without the buffers of the standard library.
#[cfg(unix)]
fn pipes() -> io::Result<(SpinningPipe, File)> {
    use std::os::fd::AsFd;
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    // Larger pipes let client and server work at the same time. Setting the capacity fails for other
    // files, and if the user has too many pipes; the program works without it.
    #[cfg(target_os = "linux")]
    for pipe in [&input, &output] {
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_CAPACITY);
    }
    Ok((SpinningPipe::new(File::from(input)), File::from(output)))
}

#[cfg(windows)]
fn pipes() -> io::Result<(File, File)> {
    use std::os::windows::io::AsHandle;
    let input = io::stdin().as_handle().try_clone_to_owned()?;
    let output = io::stdout().as_handle().try_clone_to_owned()?;
    Ok((File::from(input), File::from(output)))
}

fn log(options: &RunOptions) -> Result<Log, String> {
    Log::new(options.level, options.logfile.as_deref(), options.logstderr)
        .map_err(|error| format!("the log file can't be opened: {error}"))
}

fn print(text: &str) -> Result<(), String> {
    io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string())
}
