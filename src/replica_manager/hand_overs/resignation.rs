//! The end of a broker that stops in order: other brokers lead its partitions before its session
//! ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::engine::EngineState;
use crate::replica_manager::hand_overs::moves::{Move, hand_over, moves};
use crate::types::WithCauses;

/// The longest wait for the store to note that this broker stops, and for other brokers to take
/// over. One limit for both: a store that takes long to answer must not keep a broker from that.
const HANDING_OVER_MAX: Duration = Duration::from_secs(5);
/// The pause after hand-overs of which some have failed.
const PAUSE: Duration = Duration::from_millis(100);

/// Hands over every partition that this broker leads and that another could lead. Called before the
/// broker stops; partitions that no broker takes over are led until then.
pub(crate) async fn resign(engine: &Arc<EngineState>) {
    if engine.stopping.is_cancelled() || due(engine).is_empty() {
        return;
    }
    let deadline = Instant::now() + HANDING_OVER_MAX;
    // The other brokers must know first, so that none hands a partition back to this broker.
    match timeout_at(deadline, engine.metadata.announce_stop()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!("no partition is handed over: {}", WithCauses(&error));
            return;
        }
        Err(_elapsed) => {
            tracing::warn!("no partition is handed over: the metadata store does not answer");
            return;
        }
    }
    let handing_over = async {
        loop {
            // Partitions may have been elected to this broker meanwhile.
            let due = due(engine);
            if due.is_empty() {
                return;
            }
            match hand_over(engine, due).await {
                Ok(0) => {}
                Ok(_) => sleep(PAUSE).await,
                Err(_stopping) => return,
            }
        }
    };
    if timeout_at(deadline, handing_over).await.is_err() {
        let left = due(engine).len();
        tracing::warn!(
            "{left} partitions were not handed over within {} s: others are elected when the \
             session ends",
            HANDING_OVER_MAX.as_secs()
        );
    }
}

/// The partitions that other brokers may lead, each with the first such replica.
fn due(engine: &EngineState) -> Vec<Move> {
    let (me, image) = (engine.config.broker_id, engine.image());
    moves(engine, &image, |partition| {
        let mut others = partition.replicas.iter().copied().filter(|replica| *replica != me);
        let intact = image.intact_successor(partition, me);
        intact.or_else(|| others.find(|replica| image.may_take_over(partition, *replica)))
    })
}
