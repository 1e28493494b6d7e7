//! A coordinator that was named is there: whoever learns its address can use it at once, also
//! while others make the internal topic.

use std::sync::Barrier;
use std::thread;

use streamlog::wire::ErrorCode;
use streamlog::wire::describe_groups::DescribeGroupsRequest;
use streamlog::wire::find_coordinator::FindCoordinatorRequest;

use crate::support::{LocalBroker, seeds};

/// Clients that ask at the same moment, of which one makes the internal topic.
const CLIENTS: usize = 8;

/// Brokers on which nobody has used a group before.
const BROKERS: u64 = 40;

#[test]
fn who_is_told_its_coordinator_is_not_sent_away_by_it() {
    for seed in seeds(BROKERS) {
        let broker = LocalBroker::new(seed, &[]);
        let together = Barrier::new(CLIENTS);
        let ask = |client: usize| {
            let group = format!("group-{client}");
            let find = FindCoordinatorRequest { key: group.clone(), ..Default::default() };
            let describe = DescribeGroupsRequest { groups: vec![group], ..Default::default() };
            let mut connection = broker.connect();
            together.wait();
            assert_eq!(connection.call(3, &find).unwrap().error_code, ErrorCode::None);
            connection.call(5, &describe).unwrap().groups[0].error_code
        };
        thread::scope(|scope| {
            let asked: Vec<_> =
                (0..CLIENTS).map(|client| scope.spawn(move || ask(client))).collect();
            for client in asked {
                let code = client.join().unwrap();
                assert_ne!(code, ErrorCode::NotCoordinator, "STREAMLOG_SEED={seed}");
            }
        });
        broker.stop().unwrap();
    }
}
