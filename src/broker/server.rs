//! A running broker as a value: several may live in one process, and none ends its host.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::broker::acceptor::accept;
use crate::broker::context::Shared;
use crate::broker::shard::Shard;
use crate::broker::{BrokerConfig, BrokerError, HostPort};
use crate::io::{Clock, Disk, SystemClock, SystemDisk};

/// Threads that may wait for a disk on behalf of the control thread.
const BLOCKING_THREADS: usize = 4;

/// A broker that accepts connections until it is stopped, or its disk fails.
#[derive(Debug)]
pub struct Broker {
    shared: Arc<Shared>,
    address: SocketAddr,
    shards: Vec<JoinHandle<()>>,
    control: Option<JoinHandle<()>>,
    failure: Arc<OnceLock<String>>,
}
