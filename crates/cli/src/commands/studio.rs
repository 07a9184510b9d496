//! `bobak studio`: opens databases in the browser.

use super::serve::{ServeCommand, SignInLink};
use crate::error::Result;
use crate::output::Terminal;
use clap::Args;

/// Open databases in the browser: browse, query and change them.
///
/// As `bobak serve`, with all of its flags; and it opens the browser with a link that signs in once. The variable BROWSER
/// names another program to open it with.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct StudioCommand {
    /// Print the link, and open no browser
    #[arg(long)]
    no_browser: bool,

    #[command(flatten)]
    serve: ServeCommand,
}

const EXAMPLES: &str = "\
Examples:
  bobak studio app.db
  bobak studio app.db stock=stock.db --track orders
  bobak studio app.db --no-browser --http 127.0.0.1:9000";

impl StudioCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// As `bobak serve`.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        let link = if self.no_browser { SignInLink::Print } else { SignInLink::Open };
        self.serve.serve(screen, link)
    }
}
