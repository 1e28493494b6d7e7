//! Fetches in the name of a broker.

use bytes::Bytes;

use streamlog::wire::ErrorCode;
use streamlog::wire::fetch::{FetchRequest, ReplicaState};

use crate::support::LocalBroker;

#[test]
fn a_fetch_in_the_name_of_a_broker_is_refused_without_its_key() {
    let broker = LocalBroker::new(1, &[]);
    let mut client = broker.connect();
    for replica_id in 0..3 {
        for replica_epoch in -1..4 {
            for key in [&[][..], &[0; 16], &[0; 17]] {
                let request = FetchRequest {
                    replica_state: ReplicaState { replica_id, replica_epoch },
                    replica_key: Bytes::copy_from_slice(key),
                    ..Default::default()
                };
                let answer = client.call(18, &request).unwrap();
                assert_eq!(answer.error_code, ErrorCode::ClusterAuthorizationFailed);
                assert_eq!(answer.session_id, 0);
            }
        }
        let request = FetchRequest { replica_id, ..Default::default() };
        let answer = client.call(11, &request).unwrap();
        assert_eq!(answer.error_code, ErrorCode::ClusterAuthorizationFailed, "an older version");
    }
    broker.stop().unwrap();
}
