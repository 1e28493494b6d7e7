//! Nodes of any kind, states of partitions excepted, that somebody deletes or overwrites in the
//! metadata store, and puts right later.

use std::sync::Arc;
use std::time::Duration;

use streamlog::metadata::{MemoryStore, Node, Op, Store};
use tokio::time::sleep;

use crate::world::{TOPIC, World};

/// A node, and all below it if it is deleted, parents first.
type Nodes = [(String, Node)];

/// The value that nobody can read.
const NONSENSE: &str = "{";

/// The longest time until brokers have created a node again that they need.
const AGAIN_MAX: Duration = Duration::from_mins(1);

/// The interval of looks at the store.
const LOOK: Duration = Duration::from_millis(200);

/// The nodes that brokers create again, and that nobody else does. The controller's epoch is one
/// too, but only the next controller needs it.
const CREATED_BY_BROKERS: &[&str] = &[
    "/admin",
    "/admin/deleted_topics",
    "/cluster",
    "/cluster/id",
    "/config/topics",
    "/controller",
    "/streamlog/sessions",
];

/// Deletes or overwrites a node. Somebody restores what no broker creates again.
pub(super) async fn edit_node(world: Arc<World>) {
    let (path, number) = a_node(&world);
    let store = world.ensemble.person();
    let nodes = store.snapshot(&path).await.unwrap();
    let Some((_, node)) = nodes.first() else { return };
    let is_deletion = node.value.is_empty() || world.chance(2);
    let ops = if is_deletion {
        nodes.iter().rev().map(|(path, node)| Op::delete(path.clone(), node.version)).collect()
    } else {
        vec![Op::set(path, NONSENSE, node.version)]
    };
    if store.multi(ops).await.is_err() {
        // A broker has changed one of them meanwhile.
        return;
    }
    world.note(if is_deletion { "node deleted" } else { "node overwritten" }, &[number]);
    if is_deletion && !are_created_again(&world, &nodes).await {
        return;
    }
    sleep(world.millis(0, 9_000)).await;
    // A person who restores a copy of everything creates nodes that belong to no session.
    let restores_all = world.chance(3);
    while !mend(store, &nodes, restores_all).await {
        sleep(LOOK).await;
    }
    world.note("node mended", &[number]);
}

/// A node to edit, and its number in events.
fn a_node(world: &World) -> (String, i64) {
    let nodes = [
        format!("/brokers/topics/{TOPIC}"),
        format!("/config/topics/{TOPIC}"),
        "/config/topics".to_owned(),
        "/config/brokers".to_owned(),
        "/admin".to_owned(),
        "/controller".to_owned(),
        "/controller_epoch".to_owned(),
        "/cluster".to_owned(),
        "/cluster/id".to_owned(),
        format!("/brokers/ids/{}", world.index(world.machines.len())),
        "/streamlog/sessions".to_owned(),
        format!("/streamlog/sessions/{}", world.index(world.machines.len())),
    ];
    let index = world.index(nodes.len());
    (nodes[index].clone(), i64::try_from(index).unwrap())
}

/// Waits until brokers have created those of the nodes again that they need, or none runs: none
/// starts in a tree that may be another cluster's. Returns false if they do not.
async fn are_created_again(world: &World, nodes: &Nodes) -> bool {
    let begun = world.clock.elapsed();
    for (path, _) in nodes.iter().filter(|(path, _)| CREATED_BY_BROKERS.contains(&&**path)) {
        while world.ensemble.person().get(path).await.unwrap().is_none()
            && world.machines.iter().any(|machine| machine.broker().is_some())
        {
            if world.is_over("a node that every tree has is created again", begun, AGAIN_MAX) {
                return false;
            }
            sleep(LOOK).await;
        }
    }
    true
}

/// Restores what is missing of these nodes, of ephemeral ones if `restores_all`, and a value that
/// nobody can read. Returns false if somebody has changed a node at the same time.
async fn mend(store: &MemoryStore, nodes: &Nodes, restores_all: bool) -> bool {
    let mut ops = Vec::new();
    for (path, before) in nodes {
        let op = match store.get(path).await.unwrap() {
            None if before.owner.is_some() && !restores_all => continue,
            None => Op::create(path.clone(), before.value.clone()),
            // Its owner makes an ephemeral node again.
            Some(now) if now.value == NONSENSE && now.owner.is_some() => {
                Op::delete(path.clone(), now.version)
            }
            Some(now) if now.value == NONSENSE => {
                Op::set(path.clone(), before.value.clone(), now.version)
            }
            Some(_) => continue,
        };
        ops.push(op);
    }
    ops.is_empty() || store.multi(ops).await.is_ok()
}
