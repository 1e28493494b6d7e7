//! Exit codes for cases that a single broker never causes: denying a request, and not answering. A
//! gate between the command and the broker causes them for some APIs, or counts the requests.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use streamlog::wire::{
    ApiKey, CreateTopicsRequest, CreateTopicsResponse, DescribeLogDirsRequest,
    DescribeLogDirsResponse, ErrorCode, ListGroupsRequest, ListGroupsResponse, Message,
    ProduceRequest, ProduceResponse, RequestHeader, create_topics, encode_response, produce,
};

use crate::support::{LocalBroker, TOPIC};

/// The treatment of a guarded request.
#[derive(Clone, Copy)]
pub(super) enum Gate {
    Refuses,
    KeepsSilent,
    /// Passes everything and counts the requests for offsets.
    Counts(&'static AtomicUsize),
}

/// Commands that depend on a guarded request.
const GUARDED: [&[&str]; 4] =
    [&["topic", "create", "new"], &["group", "list"], &["node", "list"], &["produce", TOPIC]];

impl Gate {
    /// A broker that is only reachable through the gate.
    pub(super) fn with_broker(self) -> (LocalBroker, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let advertised = format!("PLAINTEXT://{address}");
        let broker = LocalBroker::new(1, &[("advertised.listeners", &advertised)]);
        let behind = broker.address();
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                // A connection ends when either side closes it.
                thread::spawn(move || self.guard(client, TcpStream::connect(behind)?));
            }
        });
        (broker, address)
    }

    fn guard(self, mut client: TcpStream, mut broker: TcpStream) -> io::Result<()> {
        loop {
            let request = read_frame(&mut client)?;
            match (self, refusal(&request[4..])) {
                (Self::Refuses, Some(refusal)) => client.write_all(&refusal)?,
                (Self::KeepsSilent, Some(_)) => {}
                (Self::Counts(_), _) | (_, None) => {
                    if let Self::Counts(count) = self
                        && is_for_offsets(&request[4..])
                    {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    broker.write_all(&request)?;
                    client.write_all(&read_frame(&mut broker)?)?;
                }
            }
        }
    }
}

/// A frame with its length prefix.
fn read_frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    stream.read_exact(&mut frame)?;
    let length = u32::from_be_bytes(frame[..].try_into().unwrap());
    frame.resize(4 + length as usize, 0);
    stream.read_exact(&mut frame[4..])?;
    Ok(frame)
}

fn is_for_offsets(request: &[u8]) -> bool {
    RequestHeader::decode(request).unwrap().0.api_key == ApiKey::ListOffsets
}

/// The answer that denies a guarded request.
fn refusal(request: &[u8]) -> Option<Vec<u8>> {
    let (header, mut body) = RequestHeader::decode(request).unwrap();
    match header.api_key {
        ApiKey::CreateTopics => {
            let request: CreateTopicsRequest = header.decode_body(&mut body).unwrap();
            let row = create_topics::Topic {
                name: request.topics[0].name.clone(),
                error_code: ErrorCode::TopicAuthorizationFailed,
                ..Default::default()
            };
            let answer = CreateTopicsResponse { topics: vec![row], ..Default::default() };
            Some(encoded::<CreateTopicsRequest>(&header, &answer))
        }
        ApiKey::ListGroups => {
            let error_code = ErrorCode::GroupAuthorizationFailed;
            let answer = ListGroupsResponse { error_code, ..Default::default() };
            Some(encoded::<ListGroupsRequest>(&header, &answer))
        }
        ApiKey::DescribeLogDirs => {
            let error_code = ErrorCode::ClusterAuthorizationFailed;
            let answer = DescribeLogDirsResponse { error_code, ..Default::default() };
            Some(encoded::<DescribeLogDirsRequest>(&header, &answer))
        }
        ApiKey::Produce => {
            let error_code = ErrorCode::TopicAuthorizationFailed;
            let partition = produce::Partition { error_code, ..Default::default() };
            let row = produce::Topic {
                name: TOPIC.to_owned(),
                partitions: vec![partition],
                ..Default::default()
            };
            let answer = ProduceResponse { topics: vec![row], ..Default::default() };
            Some(encoded::<ProduceRequest>(&header, &answer))
        }
        _ => None,
    }
}

fn encoded<R: Message>(header: &RequestHeader<'_>, answer: &R::Response) -> Vec<u8> {
    let frame = encode_response::<R>(header.correlation_id, header.version, answer).unwrap();
    frame.into_bytes().to_vec()
}

/// Runs a command with a line of input and a short timeout.
fn run(arguments: &[&str], address: SocketAddr) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
    command.args(arguments).args(["-X", "default.api.timeout.ms=1000"]);
    command.args(["-X", "delivery.timeout.ms=1000", "-X", "request.timeout.ms=500"]);
    command.args(["-b", &address.to_string()]);
    command.env("STREAMLOG_CONFIG", "/no/such/file").env_remove("STREAMLOG_CONTEXT");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that reads nothing may exit before its input is written.
    let _ = child.stdin.take().unwrap().write_all(b"line\n");
    child.wait_with_output().unwrap()
}

fn assert_ends(gate: Gate, code: i32, words: &str) {
    let (_broker, address) = gate.with_broker();
    for arguments in GUARDED {
        let output = run(arguments, address);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    // All other requests pass through the gate.
    assert_eq!(run(&["topic", "list"], address).status.code(), Some(0));
}

#[test]
fn a_denied_request_ends_with_exit_code_4() {
    assert_ends(Gate::Refuses, 4, "AUTHORIZATION_FAILED");
}

#[test]
fn a_request_without_an_answer_ends_with_exit_code_124() {
    assert_ends(Gate::KeepsSilent, 124, "after 1.");
}

#[test]
fn a_trimmed_topic_with_fewer_records_than_asked_for_is_not_read_again_and_again() {
    static REQUESTS: AtomicUsize = AtomicUsize::new(0);
    let (_broker, address) = Gate::Counts(&REQUESTS).with_broker();
    for _ in 0..3 {
        assert_eq!(run(&["produce", TOPIC], address).status.code(), Some(0));
    }
    let trim = ["topic", "trim", TOPIC, "--before", "2", "--yes"];
    assert_eq!(run(&trim, address).status.code(), Some(0));
    REQUESTS.store(0, Ordering::Relaxed);
    let tail = run(&["tail", TOPIC, "-n", "10"], address);
    assert_eq!((tail.status.code(), &tail.stdout[..]), (Some(0), &b"line\n"[..]));
    // Three find the range to read, two more that nothing lies before it.
    let requests = REQUESTS.load(Ordering::Relaxed);
    assert!(requests < 10, "{requests} requests for offsets");
}
