//! The text of the page, and of the paragraph in README.

use std::fmt::Write;

use crate::figures::{Apart, Figures, OURS, Scenario, Unit};
use crate::losses::{Loss, ahead};
use crate::{Result, floors};

/// The groups of scenarios, their headings, and a paragraph about each.
const GROUPS: [(&str, &str, &str); 10] = [
    (
        "objects",
        "Objects",
        "The scenarios are those of the benchmark of Dflat for Swift, with objects of 1 KiB.",
    ),
    (
        "threads",
        "Threads",
        "Each of four threads has a table of its own in the same file.",
    ),
    (
        "indexes",
        "Indexes",
        "A store of bytes has a table for each index, which the program keeps up to date in the same transaction.",
    ),
    (
        "sizes",
        "Sizes of objects",
        "The number of objects stays 10,000.",
    ),
    (
        "counts",
        "Numbers of objects",
        "The size of an object stays 1 KiB.",
    ),
    (
        "nested",
        "Nested objects",
        "rusqlite keeps the parts in two tables with foreign keys; the other stores have them inside the object.",
    ),
    (
        "mixed",
        "Reads mixed with writes",
        "The figure is the time of all operations divided by their number. The table of latencies has the times of single operations.",
    ),
    (
        "files",
        "Files",
        "The files are new in each run. A file that is not in memory was dropped from the memory of the operating system before it was opened.",
    ),
    (
        "memory",
        "Memory",
        "The C library counts the bytes that Rust and C hold.",
    ),
    (
        "subscriptions",
        "Subscriptions",
        "Dflat delivers results. native_db sends an event for each object. The program on rusqlite has an update hook; after a commit it runs each query again, or reads each changed row.",
    ),
];
/// The group with a heading of its own for the dictionary.
const DICTIONARY: (&str, &str, &str) = (
    "dictionary",
    "Dictionary",
    "Small values by key, as a program keeps its settings. The other stores have a table of keys and values.",
);

/// The scenarios and stores of the table in README.
const README: [&str; 7] = [
    "insert",
    "fetch_all",
    "fetch_by_key",
    "update_each",
    "fetch_by_index",
    "deliver_results",
    "deliver_ranges",
];

/// A figure with its unit, in three digits.
#[must_use]
pub fn amount(value: f64, unit: Unit) -> String {
    let (value, unit) = match unit {
        Unit::Ns if value < 1e3 => (value, " ns"),
        Unit::Ns if value < 1e6 => (value / 1e3, " us"),
        Unit::Ns if value < 1e9 => (value / 1e6, " ms"),
        Unit::Ns => (value / 1e9, " s"),
        Unit::Bytes if value < 1024.0 => (value, " B"),
        Unit::Bytes => (value / 1024.0, " KiB"),
        Unit::Number => (value, ""),
    };
    format!("{}{unit}", digits(value))
}

/// A number in three digits.
pub(crate) fn digits(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The page.
///
/// # Errors
/// If a group has no heading.
pub fn page(figures: &Figures, losses: &[Loss]) -> Result<String> {
    let mut text = String::new();
    head(&mut text, figures)?;
    for group in figures.groups() {
        let known = GROUPS
            .iter()
            .chain([&DICTIONARY])
            .find(|known| known.0 == group);
        let (_, heading, about) = known.ok_or_else(|| format!("{group} has no heading"))?;
        let scenarios: Vec<_> = figures.of_group(group).collect();
        write!(
            text,
            "\n## {heading}\n\n{about}\n\n![{heading}: ratios to Dflat](benchmarks/{group}.svg)\n\n"
        )?;
        if group == "counts" {
            writeln!(
                text,
                "![The time of an object in small and large tables of Dflat](benchmarks/scaling.svg)\n"
            )?;
        }
        table(&mut text, figures, &scenarios)?;
        latencies(&mut text, &scenarios)?;
        absences(&mut text, &scenarios)?;
        apart(&mut text, &scenarios)?;
        explained(&mut text, &scenarios, losses)?;
    }
    floors::section(&mut text, &figures.floors)?;
    figures.compiled.section(&mut text)?;
    Ok(text)
}

/// The sentence about scenarios that have too many objects.
fn left_out(figures: &Figures) -> String {
    let most = figures.options.get("objects_max");
    let most = most.and_then(|text| text.parse::<usize>().ok());
    let is_over = |most: usize| figures.scenarios.iter().any(|s| s.objects > most);
    match most {
        Some(most) if !is_over(most) => {
            format!("Scenarios with more than {most} objects were left out.\n")
        }
        _ => String::new(),
    }
}

fn head(text: &mut String, figures: &Figures) -> Result<()> {
    let machine = &figures.machine;
    let option = |name: &str| figures.options.get(name).map_or("?", String::as_str);
    write!(
        text,
        "# Benchmarks\n\n\
         <!-- @generated by `cargo xtask bench --write` from benchmarks/figures.json and benchmarks/floors.jsonl -->\n\n\
         Dflat beside other stores that a Rust program can embed, at the same work, with the same objects.\n\
         Less is better in every table and chart.\n\
         In each cell stands the median, and in brackets this median divided by that of Dflat: above 1, Dflat is ahead.\n\
         Dflat keeps 16 MiB of a file's pages in memory for each connection, redb up to 1 GiB, and the others their defaults; SQLite's is 2 MiB.\n\
         `benchmarks/figures.json` also has the minimum and the 99th percentile of each figure.\n\
         `cargo xtask bench` measures again, and `cargo xtask bench --write` writes this page.\n\n\
         ## How it was measured\n\n\
         The machine has {} cores ({}) and {} GiB of memory, with {}.\n\
         The commit is `{}`, compiled by {}.\n\
         The load of the machine was {} before the run and {} at its end; a load of 0 before the run is a quiet machine.\n\
         On a machine with load, compare ratios, and take ratios near 1 for equal.\n\
         The stores took turns in {} rounds after one to warm up; a store had no further turn at a scenario after {} seconds.\n\
         {}\
         Every result was compared with an oracle before its time counted.\n\
         The bars in the charts go from the 10th to the 90th percentile.\n\
         The reasons where others are ahead come from reading code and file formats, and from profiles where the text says so.\n\n",
        machine.cores,
        machine.processor,
        machine.memory_gib,
        machine.system,
        machine.commit,
        machine.compiler,
        digits(machine.load_before),
        digits(machine.load_after),
        option("rounds"),
        option("seconds"),
        left_out(figures),
    )?;
    writeln!(
        text,
        "| Store | Use | Durability of a commit | Versions | Licence |\n|---|---|---|---|---|"
    )?;
    for store in &figures.stores {
        let version = |name: &String| {
            let version = figures.versions.get(name).map_or("?", String::as_str);
            format!("{name} {version}")
        };
        let versions: Vec<_> = store.crates.iter().map(version).collect();
        let (name, usage, durability) = (&store.name, &store.usage, &store.durability);
        writeln!(
            text,
            "| {name} | {usage} | {durability} | {} | {} |",
            versions.join(", "),
            store.licence
        )?;
    }
    write!(
        text,
        "\nAll four users of SQLite have version {}.\n\
         SurrealDB is left out because its licence restricts use, Turso because it is not yet stable, and ObjectBox because its core is closed.\n",
        figures.versions.get("SQLite").map_or("?", String::as_str)
    )?;
    Ok(())
}

/// The stores that have a figure in one of the scenarios.
fn stores<'f>(figures: &'f Figures, scenarios: &[&Scenario]) -> Vec<&'f str> {
    let names = figures.stores.iter().map(|store| store.name.as_str());
    names
        .filter(|name| scenarios.iter().any(|s| s.of(name).is_some()))
        .collect()
}

fn heads(text: &mut String, first: &str, stores: &[&str]) -> Result<()> {
    writeln!(text, "| {first} | {} |", stores.join(" | "))?;
    Ok(writeln!(text, "|---{}|", "|---".repeat(stores.len()))?)
}

fn table(text: &mut String, figures: &Figures, scenarios: &[&Scenario]) -> Result<()> {
    let stores = stores(figures, scenarios);
    heads(text, "Scenario", &stores)?;
    for scenario in scenarios {
        let cells = stores
            .iter()
            .map(|store| cell(scenario, store))
            .collect::<Vec<_>>();
        writeln!(
            text,
            "| `{}`: {} | {} |",
            scenario.scenario,
            scenario.about,
            cells.join(" | ")
        )?;
    }
    Ok(())
}

fn cell(scenario: &Scenario, store: &str) -> String {
    let Some(figure) = scenario.of(store) else {
        return "-".to_owned();
    };
    let median = amount(figure.median, scenario.unit);
    match scenario.ratio(store) {
        Some(ratio) if store != OURS => format!("{median} ({})", digits(ratio)),
        _ => median,
    }
}

fn latencies(text: &mut String, scenarios: &[&Scenario]) -> Result<()> {
    let with = |s: &&&Scenario| s.figures.iter().any(|figure| figure.latency.is_some());
    let scenarios: Vec<_> = scenarios.iter().filter(with).collect();
    if scenarios.is_empty() {
        return Ok(());
    }
    writeln!(
        text,
        "\nThe times that 50, 99 and 99.9 of 100 single operations do not exceed:\n"
    )?;
    let first = scenarios
        .first()
        .map(|s| s.figures.as_slice())
        .unwrap_or_default();
    let stores: Vec<_> = first.iter().map(|figure| figure.store.as_str()).collect();
    heads(text, "Scenario", &stores)?;
    for scenario in scenarios {
        let cell = |store: &&str| {
            let latency = scenario.of(store).and_then(|figure| figure.latency);
            latency.map_or_else(String::new, |times| {
                [times.p50, times.p99, times.p99_9]
                    .map(|ns| amount(ns, Unit::Ns))
                    .join(", ")
            })
        };
        let cells: Vec<_> = stores.iter().map(cell).collect();
        writeln!(text, "| `{}` | {} |", scenario.scenario, cells.join(" | "))?;
    }
    Ok(())
}

/// The reasons why stores have no figure, each once.
fn absences(text: &mut String, scenarios: &[&Scenario]) -> Result<()> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (store, reason) in scenarios.iter().flat_map(|scenario| &scenario.absent) {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, stores)) if stores.contains(&store.as_str()) => {}
            Some((_, stores)) => stores.push(store),
            None => reasons.push((reason, vec![store])),
        }
    }
    if !reasons.is_empty() {
        writeln!(text, "\nStores without a figure:\n")?;
    }
    for (reason, stores) in reasons {
        writeln!(text, "- {}: {reason}.", stores.join(", "))?;
    }
    Ok(())
}

/// The scenarios that were measured in runs of their own.
fn apart(text: &mut String, scenarios: &[&Scenario]) -> Result<()> {
    let mut runs: Vec<(&Apart, Vec<String>)> = Vec::new();
    for scenario in scenarios {
        let Some(run) = &scenario.apart else { continue };
        let name = format!("`{}`", scenario.scenario);
        match runs.iter_mut().find(|(known, _)| *known == run) {
            Some((_, names)) => names.push(name),
            None => runs.push((run, vec![name])),
        }
    }
    for (run, names) in runs {
        writeln!(
            text,
            "\nMeasured in a separate run, at the commit `{}`, with a load of {} before; after one round to warm up, each store had at most {} rounds, and no further round after {} s: {}.\nA store without a second round has the figure of its first round.",
            run.commit,
            digits(run.load_before),
            run.rounds,
            run.seconds,
            names.join(", ")
        )?;
    }
    Ok(())
}

fn explained(text: &mut String, scenarios: &[&Scenario], losses: &[Loss]) -> Result<()> {
    let lost: Vec<_> = scenarios
        .iter()
        .filter(|scenario| !ahead(scenario).is_empty())
        .collect();
    if lost.is_empty() {
        return Ok(());
    }
    writeln!(text, "\n### Where others are ahead\n")?;
    for scenario in lost {
        let stores = ahead(scenario);
        let stores = stores
            .iter()
            .map(|(store, ratio)| format!("{store} {}", digits(*ratio)));
        let name = &scenario.scenario;
        writeln!(
            text,
            "**`{name}`**: {}.",
            stores.collect::<Vec<_>>().join(", ")
        )?;
        if let Some(loss) = losses.iter().find(|loss| loss.scenarios.contains(name)) {
            writeln!(text, "{}\n{}\n", loss.why.trim(), loss.win.trim())?;
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    Ok(())
}

/// The picture and the table in README.
///
/// # Errors
/// If a scenario of the table has no figures.
pub fn paragraph(figures: &Figures) -> Result<String> {
    let find = |name: &&str| {
        let found = figures.scenarios.iter().find(|s| s.scenario == *name);
        found.ok_or_else(|| format!("{name} has no figures").into())
    };
    let scenarios = README.iter().map(find).collect::<Result<Vec<_>>>()?;
    let machine = &figures.machine;
    let mut text = format!(
        "The machine has {} cores; before the run, {} threads of other programs were running or ready to run, on average.\n\n\
         ![Ratios of other stores to Dflat](docs/benchmarks/readme.svg)\n\n",
        machine.cores,
        digits(machine.load_before),
    );
    table(&mut text, figures, &scenarios)?;
    Ok(text)
}

/// The scenarios of the picture in README.
#[must_use]
pub fn pictured(figures: &Figures) -> Vec<&Scenario> {
    let is_shown = |scenario: &&Scenario| README.contains(&scenario.scenario.as_str());
    figures.scenarios.iter().filter(is_shown).collect()
}
