//! A load generator for the baseline, or for any broker of the protocol.
//!
//! Prints a line of JSON: the rate, and the server's processor time per record if its process id
//! is given, or the percentiles of the latency. Any error in a response ends the load with an
//! error, so that no figure stands for work that was not done.

mod fetch;
mod frames;
mod latency;
mod produce;
mod server;
mod spread;

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};

use produce::{Plan, Produced};

#[derive(Parser)]
struct Options {
    /// The server's address.
    address: String,
    #[command(subcommand)]
    work: Work,
    /// The process whose processor time is counted.
    #[arg(long, global = true)]
    pid: Option<u32>,
    #[arg(long, global = true, default_value = "bench")]
    topic: String,
    /// Create the topic first; the baseline has it already.
    #[arg(long, global = true)]
    create: bool,
    #[arg(long, global = true, default_value_t = 1_000_000)]
    records: u64,
    #[arg(long, global = true, default_value_t = 200)]
    record_bytes: usize,
    /// 1, -1 for all in-sync replicas, or 0 for none: then a produce ends when its last record
    /// can be read.
    #[arg(long, global = true, default_value_t = 1, allow_negative_numbers = true)]
    acks: i16,
    /// The longest time that a produce or a fetch goes on.
    #[arg(long, global = true, default_value_t = 3600.0)]
    seconds: f64,
    /// Print the progress of a produce too.
    #[arg(long, global = true)]
    series: bool,
}

#[derive(Subcommand)]
enum Work {
    /// Produce as fast as the server accepts records.
    Produce {
        /// Records in each batch.
        #[arg(long, default_value_t = 1)]
        batch: usize,
        /// Requests sent before the first response.
        #[arg(long, default_value_t = 1000)]
        in_flight: u64,
        /// Partitions for the requests, in turn.
        #[arg(long, default_value_t = 1)]
        partitions: u32,
        /// Connections that share the requests in flight.
        #[arg(long, default_value_t = 1)]
        connections: u64,
    },
    /// Read from the start with one fetch after another.
    Fetch {
        #[arg(long, default_value_t = 1 << 20)]
        max_bytes: i32,
    },
    /// Produce one by one at a fixed rate and time each record until it is consumed.
    Latency {
        /// Records a second.
        #[arg(long)]
        rate: f64,
    },
    /// Produce one by one, fetching after each, to and from a different partition each time.
    Spread {
        #[arg(long)]
        partitions: u32,
    },
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    if options.create {
        create(&options)?;
    }
    let before = options.pid.map(server::cpu_time).transpose()?;
    let (records, figures) = work(&options)?;
    let mut line = figures;
    if let (Some(pid), Some(before)) = (options.pid, before) {
        let used = server::cpu_time(pid)?.saturating_sub(before);
        line += &format!(", \"cpu_ns\": {:.1}", used.as_nanos() as f64 / records as f64);
    }
    println!("{{\"records\": {records}, {line}}}");
    Ok(())
}

fn work(options: &Options) -> io::Result<(u64, String)> {
    let plan = |batch, in_flight, partitions| Plan {
        topic: &options.topic,
        acks: options.acks,
        records: options.records,
        record_bytes: options.record_bytes,
        batch,
        in_flight,
        partitions,
        limit: Duration::from_secs_f64(options.seconds),
    };
    let rate = |records, took: Duration| {
        (records, format!("\"per_second\": {:.0}", records as f64 / took.as_secs_f64()))
    };
    Ok(match options.work {
        Work::Produce { batch, in_flight, partitions, connections } => {
            let produced = produce(options, connections, &plan(batch, in_flight, partitions))?;
            let (records, figures) = rate(produced.records, produced.took);
            let progress = if options.series { series(&produced.series) } else { String::new() };
            (records, figures + &progress)
        }
        Work::Fetch { max_bytes } => {
            let limit = Duration::from_secs_f64(options.seconds);
            let (topic, records) = (options.topic.as_str(), options.records);
            let plan = fetch::Plan { topic, records, max_bytes, limit };
            let (count, took) = fetch::run(connect(options)?, &plan)?;
            rate(count, took)
        }
        Work::Latency { rate } => {
            let latencies = latency::run(|| connect(options), &plan(1, 1, 1), rate)?;
            (latencies.len() as u64, percentiles("", latencies))
        }
        Work::Spread { partitions } => {
            let spread::Latencies { produce, fetch } =
                spread::run(connect(options)?, &plan(1, 1, partitions))?;
            let figures = [percentiles("produce_", produce), percentiles("fetch_", fetch)];
            (options.records, figures.join(", "))
        }
    })
}

/// Produces until all records are acknowledged, or visible if nothing is.
fn produce(options: &Options, connections: u64, plan: &Plan<'_>) -> io::Result<Produced> {
    let streams = (0..connections).map(|_| connect(options)).collect::<io::Result<_>>()?;
    if plan.acks != 0 {
        return produce::run(streams, plan);
    }
    let acknowledged = Plan { acks: 1, ..*plan };
    let before = latency::send_first(&connect(options)?, &acknowledged)?;
    let began = Instant::now();
    let sent = produce::run(streams, plan)?;
    fetch::wait_for(connect(options)?, plan.topic, before + sent.records as i64)?;
    Ok(Produced { took: began.elapsed(), ..sent })
}

fn series(samples: &[(u64, Duration)]) -> String {
    let pairs: Vec<String> = samples
        .iter()
        .map(|(records, took)| format!("[{records}, {:.4}]", took.as_secs_f64()))
        .collect();
    format!(", \"series\": [{}]", pairs.join(", "))
}

fn connect(options: &Options) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(&options.address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    Ok(stream)
}

/// Has the broker create the topic, and returns when it leads its partition.
fn create(options: &Options) -> io::Result<()> {
    let mut stream = connect(options)?;
    let mut buffer = Vec::new();
    for _ in 0..100 {
        stream.write_all(&frames::metadata(&options.topic))?;
        if frames::has_leader(&options.topic, frames::read_answer(&stream, &mut buffer)?) {
            // An offset beyond every log is answered at once.
            stream.write_all(&frames::fetch(&options.topic, 0, i64::MAX, 1))?;
            if frames::is_led(&options.topic, frames::read_answer(&stream, &mut buffer)?) {
                return Ok(());
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(io::Error::other(format!("topic {} did not come to be", options.topic)))
}

fn percentiles(prefix: &str, mut latencies: Vec<Duration>) -> String {
    latencies.sort_unstable();
    let micros = |part: f64| {
        let rank = (latencies.len() as f64 * part) as usize;
        latencies[rank.min(latencies.len() - 1)].as_nanos() as f64 / 1e3
    };
    format!(
        "\"{prefix}p50_us\": {:.1}, \"{prefix}p99_us\": {:.1}, \"{prefix}p999_us\": {:.1}",
        micros(0.5),
        micros(0.99),
        micros(0.999)
    )
}
