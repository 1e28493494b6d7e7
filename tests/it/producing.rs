//! What a producer promises.

use std::time::Duration;

use streamlog::client::{ProducerConfig, ProducerRecord};

use crate::cluster::TestBroker;

#[test]
fn a_record_gets_the_offset_that_its_ticket_tells() {
    let broker = TestBroker::start();
    let client = broker.connect();
    client
        .admin()
        .create_topic("t", &NewTopic { partitions: Some(2), ..NewTopic::default() })
        .unwrap();
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for offset in 0..3 {
        let record = ProducerRecord {
            topic: "t",
            key: Some(b"k"),
            value: Some(b"v"),
            ..ProducerRecord::default()
        };
        let ticket = producer.send(&record).unwrap();
        let metadata = ticket.wait(Some(Duration::from_secs(5))).unwrap();
        assert_eq!(metadata.offset.unwrap().get(), offset);
    }
    producer.close(None).unwrap();
}
