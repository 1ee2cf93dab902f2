//! Measures the program `dflat` on a file of many objects, as whole processes, beside `sqlite3` on
//! the same file and the library in this process. Fails if the program takes 64 MiB of memory.
#![allow(clippy::print_stdout, reason = "the report is what the program is for")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use dflat::Workspace;
use dflat_bench::Result;
use dflat_bench::workload::{Ranked, RankedChangeRequest, RankedData};
use dflat_workspace::{Fetch, JsonType, Source};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::json;

/// The memory that each command may take.
const MEMORY_MAX: u64 = 64 << 20;
/// The objects of a transaction, here and in the program.
const BATCH: usize = 10_000;
/// The number of runs of a short command, and of one that reads all objects.
const RUNS: usize = 21;
const SCANS: usize = 5;

/// Measures the program `dflat`, built with `cargo build --release -p dflat-cli`.
#[derive(Parser)]
struct Arguments {
    /// The number of objects.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    objects: usize,
    /// The program; the one beside this program, unless given.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// The directory of the files. Defaults to the system's directory for temporary files.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

fn data(number: usize) -> RankedData {
    // The ranks are spread, so that an insertion does not append to the index.
    let rank = number.wrapping_mul(7919) % 100_000;
    RankedData {
        title: format!("title {number}"),
        rank: i32::try_from(rank).unwrap_or_default(),
        text: Some(format!("the text of the object with the number {number}")),
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let program = match arguments.program {
        Some(program) => program,
        None => std::env::current_exe()?.with_file_name("dflat"),
    };
    if !program.exists() {
        let program = program.display();
        return Err(format!("{program} is missing: cargo build --release -p dflat-cli").into());
    }
    let folder = arguments.dir.unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::tempdir_in(folder)?;
    let bench = Bench {
        program,
        folder: folder.path().to_owned(),
        objects: arguments.objects,
    };
    bench.run()
}

struct Bench {
    program: PathBuf,
    folder: PathBuf,
    objects: usize,
}

impl Bench {
    fn run(&self) -> Result<()> {
        self.write_lines()?;
        fs::write(
            self.path("ranked.fbs"),
            include_str!("../../schemas/ranked.fbs"),
        )?;
        println!("{} objects; times of whole processes", self.objects);
        // Order: the memory of a child counts that of this process before the child's start, so
        // that the commands run before this process reads objects itself.
        let begin = processor(UsageWho::RUSAGE_CHILDREN)?;
        let import = self.timed(&[
            "import",
            "a.db",
            "--schema",
            "ranked.fbs",
            "Ranked",
            "--from",
        ])?;
        let import_work = processor(UsageWho::RUSAGE_CHILDREN)? - begin;
        let key = format!("title {}", self.objects / 2);
        let get = self.median(&["get", "a.db", "Ranked", &key, "--json"])?;
        let condition = "rank >= 50000 && rank < 50100";
        let query = [
            "query", "a.db", "Ranked", condition, "--order", "rank", "--limit", "20", "--json",
        ];
        let query = self.median(&query)?;
        let count = self.median(&["count", "a.db", "Ranked", condition])?;
        let begin = processor(UsageWho::RUSAGE_CHILDREN)?;
        let export = self.median_of(SCANS, &["export", "a.db", "Ranked"])?;
        // One run more measures the memory.
        let export_work = (processor(UsageWho::RUSAGE_CHILDREN)? - begin) / (SCANS as u32 + 1);
        let sqlite = self.sqlite(&key)?;
        let begin = processor(UsageWho::RUSAGE_SELF)?;
        let api = self.api_import()?;
        let api_work = processor(UsageWho::RUSAGE_SELF)? - begin;
        let begin = processor(UsageWho::RUSAGE_SELF)?;
        let scan = self.scan()?;
        let scan_work = (processor(UsageWho::RUSAGE_SELF)? - begin) / SCANS as u32;
        report("get by key", get, "15 ms", sqlite.get);
        report("indexed query --limit 20", query, "15 ms", sqlite.query);
        report("count by index", count, "30 ms", sqlite.count);
        report("import", import, "", sqlite.import);
        report("export", export, "", sqlite.export);
        compare("import", (import, import_work), (api, api_work), 0.6);
        compare("export", (export, export_work), (scan, scan_work), 0.8);
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write_lines(&self) -> Result<()> {
        let mut out = BufWriter::new(File::create(self.path("lines.jsonl"))?);
        for number in 0..self.objects {
            let RankedData { title, rank, text } = data(number);
            let line = json!({"title": title, "rank": rank, "text": text});
            writeln!(out, "{line}")?;
        }
        Ok(out.flush()?)
    }

    /// Runs a command once. Its last word is followed by the path of the lines if it is `--from`.
    fn timed(&self, words: &[&str]) -> Result<Duration> {
        let lines = self.path("lines.jsonl");
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(&self.folder);
        if words.last() == Some(&"--from") {
            command.arg(lines);
        }
        let taken = timed(&mut command)?;
        let memory = children_memory()?;
        if memory > MEMORY_MAX {
            return Err(format!("{words:?} took {} MiB of memory", memory >> 20).into());
        }
        println!(
            "memory of {:<8} at most {:>5.1} MiB",
            words[0],
            mebibytes(memory)
        );
        Ok(taken)
    }

    fn median(&self, words: &[&str]) -> Result<Duration> {
        self.median_of(RUNS, words)
    }

    fn median_of(&self, runs: usize, words: &[&str]) -> Result<Duration> {
        self.timed(words)?;
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(&self.folder);
        median(runs, &mut command)
    }

    /// The same by `sqlite3`, on the same file; the import into a table of its own file.
    fn sqlite(&self, key: &str) -> Result<Floor> {
        let run = |runs: usize, file: &str, sql: &str| {
            let mut command = Command::new("sqlite3");
            command.arg(self.path(file)).arg(sql);
            median(runs, &mut command)
        };
        let within = "f6 >= 50000 AND f6 < 50100";
        let joined = format!(
            "SELECT hex(p) FROM ranked JOIN ranked__f6 USING (rowid) \
             WHERE {within} ORDER BY f6 LIMIT 20"
        );
        let import = format!(
            "CREATE TABLE lines (line); CREATE TABLE ranked \
             (id INTEGER PRIMARY KEY, title TEXT UNIQUE, rank INTEGER, text TEXT); \
             CREATE INDEX by_rank ON ranked (rank);\n\
             .mode ascii\n.separator \"\\037\" \"\\n\"\n.import {} lines\n\
             INSERT INTO ranked SELECT NULL, line->>'title', line->>'rank', line->>'text' \
             FROM lines;\n",
            self.path("lines.jsonl").display()
        );
        let script = self.path("import.sql");
        fs::write(&script, import)?;
        let mut command = Command::new("sqlite3");
        command.arg(self.path("b.db")).stdin(File::open(&script)?);
        let get = format!("SELECT hex(p) FROM ranked WHERE __pk0 = '{key}'");
        let count = format!("SELECT count(*) FROM ranked__f6 WHERE {within}");
        Ok(Floor {
            import: timed(&mut command)?,
            get: run(RUNS, "a.db", &get)?,
            query: run(RUNS, "a.db", &joined)?,
            count: run(RUNS, "a.db", &count)?,
            export: run(3, "a.db", "SELECT hex(p) FROM ranked")?,
        })
    }

    /// The time in which the library inserts the same objects, in as large transactions.
    fn api_import(&self) -> Result<Duration> {
        let start = Instant::now();
        let workspace = Workspace::open(self.path("c.db"))?;
        for first in (0..self.objects).step_by(BATCH) {
            let last = (first + BATCH).min(self.objects);
            workspace.perform_changes_blocking([Ranked::TABLE], |tx| {
                (first..last).try_for_each(|number| {
                    tx.submit(RankedChangeRequest::creation(data(number)))
                        .map(drop)
                })
            })?;
        }
        let stored = workspace.fetch::<Ranked>().count()?;
        workspace.shutdown()?;
        let taken = start.elapsed();
        match stored == self.objects {
            true => Ok(taken),
            false => Err(format!("{stored} objects instead of {}", self.objects).into()),
        }
    }

    /// The time in which the library reads all objects and writes them as JSON, in this process.
    fn scan(&self) -> Result<Duration> {
        let table = Ranked::TABLE;
        let mut times = Vec::new();
        for _ in 0..SCANS {
            let start = Instant::now();
            let mut options = dflat_workspace::FileOptions::default();
            options.read_only(true);
            let workspace = dflat_workspace::Workspace::open(self.path("a.db"), &options)?;
            let mut out = BufWriter::with_capacity(1 << 16, null()?);
            let source = Source::Workspace(workspace.engine());
            let mut found = 0;
            for object in Fetch::new(source, table.clone()).rows()? {
                let object = object?;
                let value = JsonType::of(&table).value(object.payload());
                serde_json::to_writer(&mut out, &value)?;
                out.write_all(b"\n")?;
                found += 1;
            }
            out.flush()?;
            workspace.shutdown_with(Default::default())?;
            times.push(start.elapsed());
            if found != self.objects {
                return Err(format!("{found} objects instead of {}", self.objects).into());
            }
        }
        Ok(middle(times))
    }
}

/// The times of `sqlite3`.
struct Floor {
    import: Duration,
    get: Duration,
    query: Duration,
    count: Duration,
    export: Duration,
}

fn report(name: &str, taken: Duration, bound: &str, floor: Duration) {
    let ratio = taken.as_secs_f64() / floor.as_secs_f64();
    let bound = match bound {
        "" => String::new(),
        bound => format!(" (bound {bound})"),
    };
    println!("{name:<26} {taken:>9.2?}{bound}; sqlite3 {floor:.2?}, ratio {ratio:.2}");
}

/// Compares a command with the library, by time and by the time of processors, which other programs
/// on the machine hardly change.
fn compare(name: &str, command: (Duration, Duration), library: (Duration, Duration), bound: f64) {
    let rate = |of: Duration, by: Duration| by.as_secs_f64() / of.as_secs_f64();
    println!(
        "{name} beside the library: {:.2} of its rate, {:.2} by processor time (bound {bound}); \
         {:.2?} and {:.2?}, {:.2?} and {:.2?} of processors",
        rate(command.0, library.0),
        rate(command.1, library.1),
        command.0,
        library.0,
        command.1,
        library.1,
    );
}

/// The time of processors that this process, or its children, have taken so far.
fn processor(who: UsageWho) -> Result<Duration> {
    let used = getrusage(who)?;
    let times = [used.user_time(), used.system_time()].into_iter();
    let micros = times.map(|time| time.tv_sec() * 1_000_000 + time.tv_usec());
    Ok(Duration::from_micros(u64::try_from(micros.sum::<i64>())?))
}

fn null() -> Result<File> {
    Ok(File::options().write(true).open(Path::new("/dev/null"))?)
}

fn timed(command: &mut Command) -> Result<Duration> {
    let start = Instant::now();
    let status = command.stdout(Stdio::from(null()?)).status()?;
    let taken = start.elapsed();
    match status.success() {
        true => Ok(taken),
        false => Err(format!("{command:?} ended with {status}").into()),
    }
}

fn median(runs: usize, command: &mut Command) -> Result<Duration> {
    let times: Result<Vec<_>> = (0..runs).map(|_| timed(command)).collect();
    Ok(middle(times?))
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The most memory that a child of this process has taken so far, in bytes.
fn children_memory() -> Result<u64> {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
    let used = u64::try_from(used)?;
    // Apple counts bytes, other systems kibibytes.
    Ok(if cfg!(target_vendor = "apple") {
        used
    } else {
        used << 10
    })
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
