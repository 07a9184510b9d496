//! `bobak mcp`: tools for language models over standard input and output.

use crate::commands::arguments::database_url;
use crate::database;
use crate::error::Result;
use crate::output::Terminal;
use bobak_http::{HttpServer, Settings, SqlAccess};
use clap::Args;
use std::io::{BufReader, stdin, stdout};

/// Give a language model tools to read a database: the Model Context Protocol over standard input and output.
///
/// A client such as an editor starts this command; its configuration names it. The tools list and describe tables, read
/// rows, and run SQL that only reads. Nothing can be changed without --write. A server that runs already has the same tools
/// at POST /mcp, with the permissions of the token that the client sends.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct McpCommand {
    /// Database: an SQLite file, such as flights.db, or a URL
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    database: String,

    /// Add tools that insert, update and delete rows; SQL only reads all the same
    #[arg(long)]
    write: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak mcp app.db
  bobak mcp app.db --write
  bobak mcp postgres://reader@localhost/shop

In the configuration of a client:
  {\"mcpServers\": {\"shop\": {\"command\": \"bobak\", \"args\": [\"mcp\", \"/data/app.db\"]}}}";

impl McpCommand {
    /// Runs the command, until standard input ends.
    ///
    /// # Errors
    /// If the database can't be opened, or standard input fails.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        let db = if self.write {
            database::open_existing(&self.database)?
        } else {
            database::open_to_read(&self.database)?
        };
        let mut settings = Settings::default();
        settings.sql = SqlAccess::Read;
        settings.mcp_write = self.write;
        let builder = HttpServer::builder().settings(settings);
        let server = builder.shared_database("main", db.engine()?).start()?;
        screen.note("serving the Model Context Protocol on standard input");
        server.serve_mcp(BufReader::new(stdin()), stdout())?;
        server.stop();
        Ok(())
    }
}
