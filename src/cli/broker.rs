//! `streamlog broker`: runs a broker until a signal or its disk ends it.
//!
//! Standard output gets one line, `ready HOST:PORT`, once the broker answers; logs go to standard
//! error. SIGTERM and SIGINT stop it cleanly with exit code 0; a second one ends it at once.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::broker::{Broker, BrokerConfig, BrokerError};
use crate::cli::Exit;
use crate::config::{ConfigError, read_properties, read_toml};
use crate::io::read_text;

/// Runs a broker.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Address to listen on; port 0 takes any free one [default: 127.0.0.1:9092]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Address to tell clients; by default the one each of them reached
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<String>,
    /// Directory for records and metadata [default: streamlog-data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// Number of this broker [default: 1]
    #[arg(long, value_name = "N")]
    broker_id: Option<String>,
    /// Settings: TOML, or Kafka's form if it ends in .properties
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting; wins over the file
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// What to log, as LEVEL or TARGET=LEVEL,...
    #[arg(long, value_name = "FILTER", env = "STREAMLOG_LOG", default_value = "info")]
    log: String,
}

impl Options {
    /// Runs the broker.
    pub(crate) fn run(self) -> Exit {
        start_logging(&self.log);
        match self.settings().and_then(|config| serve(config).map_err(Failure::from)) {
            Ok(()) => Exit::Done,
            Err(Failure::Usage(error)) => {
                complain(&error.to_string());
                Exit::Usage
            }
            Err(Failure::Broker(error)) => {
                complain(&error.to_string());
                Exit::Failed
            }
        }
    }
}
