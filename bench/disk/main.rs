//! Measures a disk under a broker's workload: flushes of many files, and appends during flushes.
//!
//! Prints lines of JSON. *Flush*: some files are given fresh bytes, and the time is taken until
//! all are durable: by one fdatasync after another, by threads that share the files, by one
//! syncfs. *Append*: one thread appends at a fixed pace while another flushes now and then, like
//! shard and flusher; the percentiles are those of the appends.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use nix::unistd::syncfs;

#[derive(Parser)]
struct Options {
    /// An empty directory on the disk.
    directory: PathBuf,
    #[arg(long, default_value_t = 100)]
    files: usize,
    /// Bytes written to each file before each flush, and in each append.
    #[arg(long, default_value_t = 16 << 10)]
    bytes: usize,
    #[arg(long, default_value_t = 15)]
    rounds: u64,
    /// Appends, one each 200 microseconds (80 MB a second at 16 KB).
    #[arg(long, default_value_t = 50_000)]
    appends: u64,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    flushes(&options)?;
    for every in [Duration::from_millis(5), Duration::from_millis(50), Duration::from_secs(1)] {
        appends(&options, every)?;
    }
    Ok(())
}

fn flushes(options: &Options) -> io::Result<()> {
    let open = |number| create(options, &format!("flush-{number}"));
    let files = (0..options.files).map(open).collect::<io::Result<Vec<_>>>()?;
    let threads = |count: usize| {
        let files = &files;
        move || -> io::Result<()> {
            thread::scope(|scope| {
                let share = files.len().div_ceil(count);
                let flushing: Vec<_> =
                    files.chunks(share).map(|part| scope.spawn(|| one_by_one(part))).collect();
                flushing.into_iter().try_for_each(|thread| thread.join().expect("it ran"))
            })
        }
    };
    let ways: [(&str, &dyn Fn() -> io::Result<()>); 4] = [
        ("one by one", &|| one_by_one(&files)),
        ("4 threads", &threads(4)),
        ("16 threads", &threads(16)),
        ("syncfs", &|| Ok(syncfs(files[0].as_fd())?)),
    ];
    let mut times = [const { Vec::new() }; 4];
    let block = vec![7; options.bytes];
    for round in 0..options.rounds {
        for ((_, flush), times) in ways.iter().zip(&mut times) {
            for file in &files {
                file.write_all_at(&block, round * options.bytes as u64)?;
            }
            let began = Instant::now();
            flush()?;
            times.push(began.elapsed());
        }
    }
    for ((name, _), mut times) in ways.iter().zip(times) {
        println!("{{\"flush\": \"{name}\", \"files\": {}, {}}}", files.len(), show(&mut times));
    }
    Ok(())
}

fn one_by_one(files: &[File]) -> io::Result<()> {
    files.iter().try_for_each(File::sync_data)
}

fn appends(options: &Options, every: Duration) -> io::Result<()> {
    let file = create(options, &format!("append-{}", every.as_millis()))?;
    let block = vec![7; options.bytes];
    let done = AtomicBool::new(false);
    let mut times = Vec::with_capacity(options.appends as usize);
    thread::scope(|scope| {
        let flushing = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                thread::sleep(every);
                file.sync_data()?;
            }
            io::Result::Ok(())
        });
        for number in 0..options.appends {
            let began = Instant::now();
            file.write_all_at(&block, number * options.bytes as u64)?;
            times.push(began.elapsed());
            thread::sleep(Duration::from_micros(200).saturating_sub(began.elapsed()));
        }
        done.store(true, Ordering::Relaxed);
        flushing.join().expect("it ran")
    })?;
    println!(
        "{{\"append\": {}, \"flush_ms\": {}, {}}}",
        options.bytes,
        every.as_millis(),
        show(&mut times)
    );
    Ok(())
}

fn create(options: &Options, name: &str) -> io::Result<File> {
    fs::create_dir_all(&options.directory)?;
    let path = options.directory.join(name);
    File::options().write(true).create_new(true).open(path)
}

fn show(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let micros = |part: f64| {
        let rank = (times.len() as f64 * part) as usize;
        times[rank.min(times.len() - 1)].as_nanos() as f64 / 1e3
    };
    format!(
        "\"p50_us\": {:.0}, \"p99_us\": {:.0}, \"p999_us\": {:.0}, \"max_us\": {:.0}",
        micros(0.5),
        micros(0.99),
        micros(0.999),
        micros(1.0)
    )
}
