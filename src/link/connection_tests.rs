//! Connections to a broker that a test plays.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::Handle;

use super::{
    Connection, Connector, LinkConfig, LinkError, LinkFault, Observer, Readiness, Route,
    SharedConnection, Tasks,
};
use crate::config::HostPort;
use crate::io::SystemClock;
use crate::wire::api_versions::ApiVersion;
use crate::wire::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, ErrorCode, FetchRequest, HeartbeatRequest,
    HeartbeatResponse, Message, RequestHeader, encode_response,
};

/// A limit that no test reaches.
const LONG: Duration = Duration::from_mins(1);

/// The broker's side of a connection.
struct Peer(TcpStream);

/// A request that the peer has read.
struct Asked {
    key: ApiKey,
    version: i16,
    correlation_id: i32,
}

impl Peer {
    /// Reads the next request.
    fn asked(&mut self) -> Asked {
        let mut prefix = [0; 4];
        self.0.read_exact(&mut prefix).unwrap();
        let mut frame = vec![0; usize::try_from(u32::from_be_bytes(prefix)).unwrap()];
        self.0.read_exact(&mut frame).unwrap();
        let (header, _) = RequestHeader::decode(&frame).unwrap();
        let RequestHeader { api_key: key, version, correlation_id, .. } = header;
        Asked { key, version, correlation_id }
    }

    fn answer<R: Message>(&mut self, asked: &Asked, response: &R::Response) {
        let frame = encode_response::<R>(asked.correlation_id, asked.version, response).unwrap();
        self.0.write_all(&frame.into_bytes()).unwrap();
    }

    /// Answers a heartbeat so that its answer can be told from other answers.
    fn beat(&mut self, asked: &Asked, mark: i32) {
        assert_eq!(asked.key, ApiKey::Heartbeat);
        let response = HeartbeatResponse { throttle_time_ms: mark, error_code: ErrorCode::None };
        self.answer::<HeartbeatRequest>(asked, &response);
    }

    /// Answers the first request of a connection: heartbeats are supported, fetches are not.
    fn agree(&mut self) {
        let asked = self.asked();
        assert_eq!((asked.key, asked.version), (ApiKey::ApiVersions, 4));
        let row =
            ApiVersion { api_key: ApiKey::Heartbeat.number(), min_version: 1, max_version: 3 };
        let response = ApiVersionsResponse { api_keys: vec![row], ..Default::default() };
        self.answer::<ApiVersionsRequest>(&asked, &response);
    }
}

/// An observer that records its notifications.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn add(&self, note: String) {
        self.0.lock().unwrap().push(note);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Notes {
    fn opened(&self, _: &HostPort) {
        self.add("opened".to_owned());
    }

    fn refused(&self, error: &LinkError) {
        self.add(format!("refused: {}", error.fault));
    }

    fn ended(&self, reason: &LinkError) {
        self.add(format!("ended: {}", reason.fault));
    }
}

/// A listening broker, the connector to it, and the notes of its observer.
struct Setting {
    listener: TcpListener,
    address: HostPort,
    connector: Connector,
    notes: Arc<Notes>,
}

impl Setting {
    fn new(request_timeout: Duration, version_max: fn(ApiKey) -> i16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = HostPort::new("127.0.0.1", listener.local_addr().unwrap().port());
        let config = LinkConfig {
            client_id: "test".to_owned(),
            connect_timeout: LONG,
            request_timeout,
            backoff: Duration::from_millis(1),
            backoff_max: Duration::from_millis(1),
            version_max,
            network: None,
        };
        let notes = Arc::new(Notes::default());
        let observer: Arc<dyn Observer> = Arc::<Notes>::clone(&notes);
        let tasks = Tasks::on(Handle::current(), || {});
        let connector = Connector::new(config, Arc::new(SystemClock), tasks, observer);
        Self { listener, address, connector, notes }
    }

    /// Plays the broker of the next connection.
    fn play<T: Send + 'static>(
        &self,
        part: impl FnOnce(Peer) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let listener = self.listener.try_clone().unwrap();
        thread::spawn(move || part(Peer(listener.accept().unwrap().0)))
    }

    /// Plays a broker that negotiates versions and then stays.
    fn play_open(&self) -> JoinHandle<Peer> {
        self.play(|mut peer| {
            peer.agree();
            peer
        })
    }

    async fn connect(&self) -> Connection {
        self.connector.connect(&self.address).await.unwrap()
    }
}

/// Waits until a played broker has ended, while the runtime serves the connections.
async fn played<T: Send + 'static>(part: JoinHandle<T>) -> T {
    tokio::task::spawn_blocking(|| part.join().unwrap()).await.unwrap()
}

fn any_version(_: ApiKey) -> i16 {
    i16::MAX
}

fn heartbeat() -> HeartbeatRequest {
    HeartbeatRequest::default()
}

#[tokio::test]
async fn pipelined_requests_get_their_own_answers() {
    let setting = Setting::new(LONG, any_version);
    let broker = setting.play(|mut peer| {
        peer.agree();
        let asked = [peer.asked(), peer.asked(), peer.asked()];
        for (asked, mark) in asked.iter().zip(1..) {
            peer.beat(asked, mark);
        }
    });
    let connection = setting.connect().await;
    let replies = [(); 3].map(|()| connection.submit(&heartbeat()).unwrap());
    let mut marks = Vec::new();
    for reply in replies {
        marks.push(reply.answer().await.unwrap().throttle_time_ms);
    }
    assert_eq!(marks, [1, 2, 3]);
    played(broker).await;
}

#[tokio::test]
async fn the_highest_common_version_is_used_up_to_the_callers_and_the_connectors_limit() {
    for (limit, expected) in [(any_version as fn(ApiKey) -> i16, 3), (|_| 2, 2)] {
        let setting = Setting::new(LONG, limit);
        let broker = setting.play(|mut peer| {
            peer.agree();
            let asked = peer.asked();
            peer.beat(&asked, 0);
            (asked.version, peer)
        });
        let connection = setting.connect().await;
        assert_eq!(connection.version_of::<HeartbeatRequest>(1).unwrap(), 1);
        connection.submit(&heartbeat()).unwrap().answer().await.unwrap();
        let (version, _peer) = played(broker).await;
        assert_eq!(version, expected);
        let missing = connection.version_of::<FetchRequest>(i16::MAX).unwrap_err();
        assert!(matches!(missing.fault, LinkFault::UnsupportedVersion { api: "Fetch", .. }));
        assert!(connection.is_open(), "other requests are still possible");
    }
}

#[tokio::test]
async fn an_old_broker_is_asked_again_in_a_version_that_it_knows() {
    let setting = Setting::new(LONG, any_version);
    let broker = setting.play(|mut peer| {
        let first = peer.asked();
        let key = ApiKey::ApiVersions.number();
        let response = ApiVersionsResponse {
            error_code: ErrorCode::UnsupportedVersion,
            api_keys: vec![ApiVersion { api_key: key, min_version: 0, max_version: 2 }],
            ..Default::default()
        };
        // Such a broker answers in version 0 (KIP-511).
        let old = Asked { version: 0, ..first };
        peer.answer::<ApiVersionsRequest>(&old, &response);
        let second = peer.asked();
        peer.answer::<ApiVersionsRequest>(&second, &ApiVersionsResponse::default());
        (first.version, second.version, peer)
    });
    setting.connect().await;
    let (first, second, _peer) = played(broker).await;
    assert_eq!((first, second), (4, 2));
}

#[tokio::test]
async fn silence_fails_all_pending_requests_with_one_reason() {
    let setting = Setting::new(Duration::from_millis(200), any_version);
    let broker = setting.play(|mut peer| {
        peer.agree();
        // Nothing is answered until this side is closed.
        let mut rest = Vec::new();
        let _ = peer.0.read_to_end(&mut rest);
    });
    let connection = setting.connect().await;
    let first = connection.submit(&heartbeat()).unwrap();
    let second = connection.submit(&heartbeat()).unwrap();
    let late = first.answer().await.unwrap_err();
    assert!(matches!(late.fault, LinkFault::AnswerTimeout(_)), "{late}");
    assert_eq!(second.answer().await.unwrap_err().to_string(), late.to_string());
    assert_eq!(connection.submit(&heartbeat()).unwrap_err().to_string(), late.to_string());
    assert!(!connection.is_open());
    let told = ["opened".to_owned(), format!("ended: {}", late.fault)];
    assert_eq!(setting.notes.take(), told);
    played(broker).await;
}

#[tokio::test]
async fn an_answer_to_no_request_ends_the_connection() {
    let setting = Setting::new(LONG, any_version);
    let broker = setting.play(|mut peer| {
        peer.agree();
        let asked = peer.asked();
        let wrong = Asked { correlation_id: asked.correlation_id + 1, ..asked };
        peer.beat(&wrong, 0);
    });
    let connection = setting.connect().await;
    let mixed_up = connection.submit(&heartbeat()).unwrap().answer().await.unwrap_err();
    assert!(matches!(mixed_up.fault, LinkFault::UnexpectedResponse), "{mixed_up}");
    assert_eq!(mixed_up.address, setting.address);
    played(broker).await;
}

#[tokio::test]
async fn either_side_may_close() {
    let setting = Setting::new(LONG, any_version);
    let broker = setting.play(|mut peer| {
        peer.agree();
        peer.asked();
    });
    let connection = setting.connect().await;
    let lost = connection.submit(&heartbeat()).unwrap().answer().await.unwrap_err();
    assert!(matches!(lost.fault, LinkFault::ClosedByPeer), "{lost}");
    played(broker).await;

    let broker = setting.play(|mut peer| {
        peer.agree();
        let mut rest = Vec::new();
        peer.0.read_to_end(&mut rest).is_ok()
    });
    let connection = setting.connect().await;
    let reply = connection.submit(&heartbeat()).unwrap();
    drop(connection);
    assert!(matches!(reply.answer().await.unwrap_err().fault, LinkFault::Closed));
    assert!(played(broker).await, "the stream has ended");
}

#[tokio::test]
async fn a_shared_connection_is_opened_once_and_again_after_a_loss() {
    let setting = Setting::new(LONG, any_version);
    let shared = SharedConnection::new(setting.address.clone(), setting.connector.clone());
    let broker = setting.play(|mut peer| {
        peer.agree();
        peer.asked();
    });
    let (one, other) = tokio::join!(shared.get(), shared.get());
    let (one, other) = (one.unwrap(), other.unwrap());
    assert!(Arc::ptr_eq(&one, &other));
    one.submit(&heartbeat()).unwrap().answer().await.unwrap_err();
    played(broker).await;

    let broker = setting.play_open();
    assert!(!Arc::ptr_eq(&one, &shared.get().await.unwrap()));
    played(broker).await;
}

#[tokio::test]
async fn a_refused_attempt_is_reported_and_the_next_one_is_made() {
    let setting = Setting::new(LONG, any_version);
    let shared = SharedConnection::new(setting.address.clone(), setting.connector.clone());
    let broker = setting.play(drop);
    let refused = shared.get().await.unwrap_err();
    played(broker).await;
    assert_eq!(setting.notes.take(), [format!("refused: {}", refused.fault)]);

    let broker = setting.play_open();
    assert!(shared.get().await.is_ok());
    played(broker).await;
}

#[tokio::test]
async fn a_route_bounds_the_requests_in_flight_and_pauses_after_a_failure() {
    let setting = Setting::new(LONG, any_version);
    let broker = setting.play_open();
    let (start, later) = (Duration::from_secs(1), Duration::from_secs(2));
    let mut route = Route::new(setting.connector.backoff());
    assert!(matches!(route.readiness(start, 2), Readiness::Connect));
    assert!(matches!(route.readiness(start, 2), Readiness::Busy), "one attempt at a time");
    route.failed(start);
    let Readiness::NotBefore(time) = route.readiness(start, 2) else { panic!("{route:?}") };
    assert!(time > start);
    assert!(matches!(route.readiness(later, 2), Readiness::Connect));
    let connection = setting.connect().await;
    let _peer = played(broker).await;
    route.connected(connection);
    for _ in 0..2 {
        assert!(matches!(route.readiness(later, 2), Readiness::Ready(_)));
        route.sent();
    }
    assert!(matches!(route.readiness(later, 2), Readiness::Busy));
    route.answered();
    assert!(matches!(route.readiness(later, 2), Readiness::Ready(_)));
    route.abandon();
    assert!(matches!(route.readiness(later, 2), Readiness::Connect), "no pause is needed");
}

#[tokio::test]
async fn stopping_ends_every_task() {
    let tasks = Tasks::on(Handle::current(), || {});
    tasks.start(std::future::pending());
    let token = tasks.token();
    assert!(!tasks.is_stopping());
    tasks.stop();
    tasks.stopped().await;
    tasks.ended().await;
    assert!(tasks.is_stopping() && token.is_cancelled());
}

#[tokio::test]
async fn a_task_that_panics_is_reported_and_stops_the_others() {
    let reported = Arc::new(AtomicBool::new(false));
    let noting = Arc::clone(&reported);
    let tasks = Tasks::on(Handle::current(), move || noting.store(true, Ordering::Relaxed));
    tasks.start(std::future::pending());
    tasks.start(async { panic!("broken by the test") });
    tasks.stopped().await;
    tasks.ended().await;
    assert!(reported.load(Ordering::Relaxed));
}
