//! The page of the figures.

use std::fmt::Write;
use std::fs;

use crate::Options;
use crate::round::{Measured, Row};

pub(crate) fn text(all: &[Measured], options: &Options) -> String {
    let mut text = String::from(
        "# Figures of packs\n\n\
         The program `packs` of `crates/dflat-bench-rivals` has written this page: packs beside \
         other stores with the same keys and values.\n\
         Each figure is the best of interleaved rounds of one run, with all files in the memory of \
         the operating system unless a line states otherwise.\n\
         Each read sums all bytes of its value.\n",
    );
    let _ = writeln!(text, "The machine has {}.\n", machine());
    for measured in all {
        let _ = size(&mut text, measured, options);
    }
    text
}

/// The processors and the operating system.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let processors = read("/proc/cpuinfo");
    let names = processors
        .lines()
        .filter(|line| line.starts_with("model name"));
    let names: Vec<&str> = names.filter_map(|line| line.split(": ").nth(1)).collect();
    let name = names.first().unwrap_or(&"an unknown processor");
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel = kernel.split('-').next().unwrap_or_default();
    format!(
        "{} cores of {name}, shared with others, and Linux {kernel}",
        names.len()
    )
}

fn size(text: &mut String, measured: &Measured, options: &Options) -> std::fmt::Result {
    let Measured { size, objects, .. } = measured;
    writeln!(text, "## Objects of {size} bytes\n")?;
    writeln!(
        text,
        "{objects} objects, {} look-ups in each of {} rounds, at a load of {:.1} of the machine.",
        options.gets, options.rounds, measured.load
    )?;
    writeln!(
        text,
        "Times are nanoseconds for one object; bytes written and the size are for each byte of the \
         values.\n"
    )?;
    writeln!(
        text,
        "| Store | get | get of 16 | absent key | in order | build | written | size | |"
    )?;
    writeln!(text, "|---|--:|--:|--:|--:|--:|--:|--:|---|")?;
    for row in &measured.rows {
        let many = row
            .get_many
            .map_or_else(String::new, |many| format!("{many:.0}"));
        writeln!(
            text,
            "| {} | {:.0} | {many} | {:.0} | {:.0} | {:.0} | {:.2} | {:.3} | {} |",
            row.name,
            row.get,
            row.absent,
            row.scan,
            row.built.time,
            row.built.written,
            row.built.size,
            row.note
        )?;
    }
    writeln!(text)?;
    goals(text, measured)
}

fn goals(text: &mut String, measured: &Measured) -> std::fmt::Result {
    let is_large = measured.size >= 1024;
    writeln!(text, "| Goal | Figure | Goal met |")?;
    writeln!(text, "|---|--:|---|")?;
    let mut line = |name: &str, figure: Option<f64>, goal: f64, is_upper: bool| {
        let Some(figure) = figure else {
            return Ok(());
        };
        let is_met = match is_upper {
            true => figure <= goal,
            false => figure >= goal,
        };
        let (bound, met) = (
            if is_upper { "at most" } else { "at least" },
            if is_met { "yes" } else { "no" },
        );
        writeln!(text, "| {name}: {bound} {goal} | {figure:.2} | {met} |")
    };
    let row = |name: &str| measured.rows.iter().find(|row| row.name == name);
    let pack = row("Pack, mapped");
    let ratio =
        |ours: &str, other: &str, of: fn(&Row) -> f64| Some(of(row(other)?) / of(row(ours)?));
    let get: fn(&Row) -> f64 = |row| row.get;
    let scan: fn(&Row) -> f64 = |row| row.scan;
    let rocks = ["RocksDB", "RocksDB, tuned", "RocksDB, mapped"];
    let best = |ours: &str| {
        let others = rocks.iter().filter_map(|name| ratio(ours, name, get));
        others.reduce(f64::min)
    };
    if is_large {
        let default = ratio("Pack, mapped", "RocksDB", get);
        line("get, times RocksDB by default", default, 4.0, false)?;
        line(
            "get, times the best RocksDB",
            best("Pack, mapped"),
            2.4,
            false,
        )?;
        let bifurcan = ratio("Pack, mapped", "Bifurcan", get);
        line("get, times Bifurcan", bifurcan, 4.0, false)?;
    } else {
        line(
            "get, times the best RocksDB",
            best("Pack, mapped"),
            12.0,
            false,
        )?;
        for (ours, goals) in [
            ("Pack, mapped", [10.0, 4.0]),
            ("Pack, mapped, typed", [7.0, 3.0]),
            ("Pack, mapped, checked", [7.0, 3.0]),
        ] {
            if ours != "Pack, mapped" {
                line(
                    &format!("{ours}: get, times the best RocksDB"),
                    best(ours),
                    7.0,
                    false,
                )?;
            }
            for (other, goal) in ["SQLite", "LMDB (heed)"].into_iter().zip(goals) {
                let ratio = ratio(ours, other, get);
                line(&format!("{ours}: get, times {other}"), ratio, goal, false)?;
            }
        }
    }
    let many = pack.and_then(|pack| Some(pack.get / pack.get_many?));
    line("get of 16, times a get", many, 3.0, false)?;
    line(
        "absent key, nanoseconds",
        pack.map(|pack| pack.absent),
        80.0,
        true,
    )?;
    let in_order = ratio("Pack, mapped", "RocksDB", scan);
    line("in order, times RocksDB by default", in_order, 3.5, false)?;
    let in_order = ratio("Pack, mapped", "SQLite", scan);
    line("in order, times SQLite", in_order, 1.5, false)?;
    let in_order = ratio("Pack, mapped", "Bifurcan", scan);
    line("in order, times Bifurcan", in_order, 2.5, false)?;
    let layers = row("Pack, mapped, 8 layers").zip(pack);
    let layers = layers.map(|(layers, pack)| layers.get / pack.get);
    line("get under 8 layers, times a get", layers, 1.3, true)?;
    let size = if is_large { 1.03 } else { 1.10 };
    line(
        "size, times the values",
        pack.map(|pack| pack.built.size),
        size,
        true,
    )?;
    if let Some(cold) = &measured.cold {
        line(
            "build of sorted objects, bytes written",
            Some(cold.sorted),
            1.05,
            true,
        )?;
        line(
            "build of unsorted objects, bytes written",
            Some(cold.unsorted),
            2.1,
            true,
        )?;
        if is_large {
            let [read, mapped] = cold.amplification;
            line("cold look-ups, bytes read", Some(read), 4.2, true)?;
            line(
                "cold look-ups in a map, bytes read",
                Some(mapped),
                4.2,
                true,
            )?;
        }
        line("`verify`, GB/s", Some(cold.verify), 2.0, false)?;
        line("two threads, times one", Some(cold.threads), 1.8, false)?;
        let [read, mapped] = cold.micros;
        writeln!(
            text,
            "\nA cold look-up takes {read:.0} microseconds, and {mapped:.0} in a map.\n"
        )?;
    }
    Ok(())
}
