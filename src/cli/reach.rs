//! How commands reach a cluster: options, then the environment, then the contexts file.

use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::cli::context::Context;
use crate::cli::{CommandError, Output};
use crate::client::{Client, ClientSettings, Signals};
use crate::config::ConfigError;

/// The variable that names the brokers to ask first.
const BOOTSTRAP_VARIABLE: &str = "STREAMLOG_BOOTSTRAP";

/// What every command that asks a cluster takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Reach {
    /// Brokers to ask first; else `STREAMLOG_BOOTSTRAP`, the context, or 127.0.0.1:9092
    #[arg(short, long, global = true, value_name = "HOST:PORT,...", help_heading = "Cluster")]
    bootstrap: Option<String>,
    /// Context of the contexts file to use; else `STREAMLOG_CONTEXT`
    #[arg(long, global = true, value_name = "NAME", help_heading = "Cluster")]
    context: Option<String>,
    /// One setting of the client, under Kafka's name
    #[arg(
        short = 'X',
        long = "set",
        global = true,
        value_name = "KEY=VALUE",
        help_heading = "Cluster"
    )]
    settings: Vec<String>,
    /// Form of the answer
    #[arg(short, long, global = true, value_enum, default_value_t)]
    pub(crate) output: Output,
}

impl Reach {
    /// The settings: those of the context, over them the environment, over them the options.
    pub(crate) fn settings(&self) -> Result<ClientSettings, ConfigError> {
        let mut settings = ClientSettings::default();
        let context = Context::read(self.context.as_deref())?;
        settings.set_all(context.rows())?;
        let variable = std::env::var(BOOTSTRAP_VARIABLE).ok();
        if let Some(bootstrap) = self.bootstrap.as_deref().or(variable.as_deref()) {
            settings.set_all([("bootstrap.servers", bootstrap)])?;
        }
        for setting in &self.settings {
            let (key, value) = setting
                .split_once('=')
                .ok_or_else(|| ConfigError::single(setting, "expected --set KEY=VALUE"))?;
            settings.set_all([(key.trim(), value)])?;
        }
        Ok(settings)
    }

    /// A client of the cluster, and the settings for what is made from it. Ctrl-C ends its waits.
    pub(crate) fn connect(&self) -> Result<(Client, ClientSettings), CommandError> {
        let mut settings = self.settings()?;
        settings.client.signals = Some(CtrlC::watched()?);
        Ok((Client::connect(settings.client.clone())?, settings))
    }
}

/// Whether a person pressed Ctrl-C.
#[derive(Debug)]
struct CtrlC {
    is_pressed: Arc<AtomicBool>,
}

impl CtrlC {
    /// Watches until the process ends: there is one command in it.
    fn watched() -> io::Result<&'static Self> {
        let is_pressed = Arc::new(AtomicBool::new(false));
        // The first press ends the wait, a second one the process, whatever it is doing.
        flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&is_pressed))?;
        flag::register(SIGINT, Arc::clone(&is_pressed))?;
        Ok(Box::leak(Box::new(Self { is_pressed })))
    }
}

impl Signals for CtrlC {
    /// The flag tells enough.
    fn watch(&self, _pipe: RawFd) -> Option<RawFd> {
        Some(-1)
    }

    fn restore(&self, _before: RawFd, _missed: &[u8]) {}

    fn gives_up(&self) -> bool {
        self.is_pressed.load(Ordering::Relaxed)
    }
}
