//! The tasks of all leaders, started and ended as the metadata changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::engine::EngineState;
use crate::link::{Connector, LinkConfig, Network, Observer, Tasks};
use crate::replica_manager::followed::{Followed, followed};
use crate::replica_manager::hand_overs::{DamagedLeaders, PreferredLeaders};
use crate::replica_manager::in_sync_changes::InSyncChanges;
use crate::replica_manager::leader_fetcher::LeaderFetcher;
use crate::replica_manager::leader_link::any_version;
use crate::replica_manager::log_reporter::LogReporter;
use crate::replica_manager::repairs::Repairs;
use crate::replica_manager::{Elections, ReplicaConfig};
use crate::types::BrokerId;

/// The part of `replica.fetch.backoff.ms` that the first pause takes.
const FIRST_PAUSE: u32 = 20;

/// The name by which the connections to leaders are reported.
const CONNECTIONS: &str = "the connections to leaders";

/// Starts the tasks that run until this broker stops. They fetch the partitions that it follows,
/// repair their damage, and send the changes of in-sync sets of partitions that it leads. They also
/// hand over partitions that are damaged or have another preferred leader, those that `elections`
/// asks for first, and report the logs of partitions without a leader.
pub(crate) fn start(
    engine: &Arc<EngineState>,
    config: &ReplicaConfig,
    elections: &Arc<Elections>,
    network: Option<&Arc<dyn Network>>,
) {
    let (managing, config, network) = (Arc::clone(engine), config.clone(), network.cloned());
    let returning = PreferredLeaders {
        engine: Arc::clone(engine),
        config: config.clone(),
        elections: Arc::clone(elections),
    };
    engine.control.start(returning.run());
    engine.control.start(DamagedLeaders { engine: Arc::clone(engine) }.run());
    engine.control.start(LogReporter::new(Arc::clone(engine)).run());
    engine.control.start(async move {
        let failure = Arc::clone(&managing.failure);
        let connections = Tasks::on(Handle::current(), move || failure.notice_task(CONNECTIONS));
        if let Some(requested) = managing.in_sync_changes.take_receiver() {
            let sending = InSyncChanges::new(Arc::clone(&managing), requested, config.lag_max);
            managing.control.start(sending.run());
        }
        let connector = connector(&managing, &config, network.as_ref(), connections.clone());
        let repairs = Repairs::new(Arc::clone(&managing), connector.clone(), config.clone());
        managing.control.start(repairs.run());
        let manager = Manager { connector, engine: managing, config, leaders: BTreeMap::new() };
        manager.run().await;
        connections.stop();
        connections.ended().await;
    });
}

struct Manager {
    engine: Arc<EngineState>,
    config: ReplicaConfig,
    connector: Connector,
    /// The tasks of the leaders; a task ends when its sender is dropped.
    leaders: BTreeMap<BrokerId, watch::Sender<Arc<Followed>>>,
}

impl Manager {
    async fn run(mut self) {
        let stopping = self.engine.stopping.clone();
        let mut applied = self.engine.applied.subscribe();
        loop {
            applied.mark_unchanged();
            self.follow();
            let changed = stopping.run_until_cancelled(applied.changed()).await;
            if !matches!(changed, Some(Ok(()))) {
                return;
            }
        }
    }

    /// Brings the tasks in line with the partitions that this broker follows now.
    fn follow(&mut self) {
        let mut followed = followed(&self.engine, self.config.listener.as_deref());
        self.leaders.retain(|leader, task| match followed.remove(leader) {
            Some(followed) => {
                task.send_if_modified(|known| {
                    let differs = **known != followed;
                    if differs {
                        *known = Arc::new(followed);
                    }
                    differs
                });
                true
            }
            None => false,
        });
        for (leader, followed) in followed {
            let (task, watch) = watch::channel(Arc::new(followed));
            let (engine, connector) = (Arc::clone(&self.engine), self.connector.clone());
            let fetcher = LeaderFetcher::new(engine, leader, watch, connector, self.config.clone());
            self.engine.control.start(fetcher.run());
            self.leaders.insert(leader, task);
        }
    }
}

/// Opens connections to other brokers, as part of `tasks`, through the system's network or another.
pub(crate) fn connector(
    engine: &EngineState,
    config: &ReplicaConfig,
    network: Option<&Arc<dyn Network>>,
    tasks: Tasks,
) -> Connector {
    let link = LinkConfig {
        client_id: format!("replica-{}", engine.config.broker_id),
        connect_timeout: config.answer_timeout,
        request_timeout: config.answer_timeout,
        backoff: config.backoff / FIRST_PAUSE,
        backoff_max: config.backoff,
        version_max: any_version,
        network: network.cloned(),
    };
    Connector::new(link, Arc::clone(&engine.clock), tasks, Arc::new(Unobserved))
}

/// The observer of connections whose users report faults themselves.
#[derive(Debug)]
struct Unobserved;

impl Observer for Unobserved {}
