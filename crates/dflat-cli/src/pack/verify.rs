//! Checks of packs.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use dflat_pack::Pack;

use crate::arguments::{Format, VerifyArguments};
use crate::display::{Alignment, bytes, escaped};
use crate::failure::{Failure, Found, Outcome};
use crate::record::{Cell, RecordWriter, counted};
use crate::session::{Output, Session};
use crate::upkeep::with_spinner;

/// The extension of the files of a folder that are checked.
const EXTENSION: &str = "pack";

/// Checks packs.
pub(crate) fn verify(arguments: &VerifyArguments, session: &Session) -> Outcome {
    let paths = packs(&arguments.paths)?;
    let mut printer = Printer::new(arguments.format.get(), session)?;
    let mut faulty = 0;
    for path in &paths {
        session.check()?;
        let found = with_spinner("checking a pack", || Checked::of(path));
        faulty += u64::from(!found.problems.is_empty());
        printer.print(path, &found)?;
    }
    printer.end()?;
    match (faulty, paths.len()) {
        (0, _) => Ok(Found::Yes),
        (_, 1) => Err(Failure::file("the pack is not sound")),
        (1, of) => Err(Failure::file(format!("1 of {of} packs is not sound"))),
        (count, of) => Err(Failure::file(format!(
            "{count} of {of} packs are not sound"
        ))),
    }
}

/// The given packs, and those in the given folders by their names.
fn packs(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut packs = Vec::new();
    for path in given {
        if !path.is_dir() {
            packs.push(path.clone());
            continue;
        }
        let unreadable = |error| {
            Failure::file(format!(
                "cannot read the folder {}: {error}",
                path.display()
            ))
        };
        let mut inside = Vec::new();
        for entry in fs::read_dir(path).map_err(unreadable)? {
            let file = entry.map_err(unreadable)?.path();
            if file.extension().is_some_and(|found| found == EXTENSION) {
                inside.push(file);
            }
        }
        if inside.is_empty() {
            let path = path.display();
            return Err(Failure::file(format!("there is no pack in {path}")));
        }
        inside.sort();
        packs.append(&mut inside);
    }
    Ok(packs)
}

/// The outcome of the check of one pack.
struct Checked {
    /// The number of objects, and the size; `None` if the pack cannot be opened.
    counts: Option<(u64, u64)>,
    problems: Vec<String>,
}

impl Checked {
    fn of(path: &Path) -> Self {
        let pack = match Pack::open(path) {
            Ok(pack) => pack,
            Err(error) => {
                return Self {
                    counts: None,
                    problems: vec![error.to_string()],
                };
            }
        };
        let tables: Vec<_> = pack.tables().cloned().collect();
        let objects = tables.iter().filter_map(|table| pack.objects(table).ok());
        let objects = objects.map(|objects| objects.len()).sum();
        let problems = pack.problems();
        Self {
            counts: Some((objects, pack.size_bytes())),
            problems: problems.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Prints the outcomes.
enum Printer {
    Lines(Output),
    Records(RecordWriter<Output>),
}

impl Printer {
    fn new(format: Format, session: &Session) -> Result<Self, Failure> {
        if format == Format::Table {
            return Ok(Self::Lines(session.out()));
        }
        let columns = ["pack", "objects", "bytes", "problem"];
        let columns = columns.map(|name| (name.to_owned(), Alignment::Left));
        let writer = RecordWriter::new(format, session.out(), columns.to_vec())?;
        Ok(Self::Records(writer))
    }

    fn print(&mut self, path: &Path, found: &Checked) -> Result<(), Failure> {
        let path = path.display().to_string();
        let shown = escaped(&path);
        match self {
            Self::Lines(out) => {
                match found.counts.filter(|_| found.problems.is_empty()) {
                    Some((objects, size)) => {
                        let objects = counted(objects, "objects");
                        writeln!(out, "{shown}: sound, {objects}, {}", bytes(size))?;
                    }
                    None => writeln!(out, "{shown}: not sound")?,
                }
                for problem in &found.problems {
                    writeln!(out, "    {}", escaped(problem))?;
                }
            }
            Self::Records(writer) => {
                let count =
                    |count: Option<u64>| count.map_or(Cell::Missing, |count| Cell::of(&count));
                let row = |problem| {
                    [
                        Cell::Text(path.clone()),
                        count(found.counts.map(|(objects, _)| objects)),
                        count(found.counts.map(|(_, size)| size)),
                        problem,
                    ]
                };
                if found.problems.is_empty() {
                    writer.row(&row(Cell::Missing))?;
                }
                for problem in &found.problems {
                    writer.row(&row(Cell::Text(problem.clone())))?;
                }
            }
        }
        Ok(())
    }

    fn end(self) -> Result<(), Failure> {
        match self {
            Self::Lines(mut out) => Ok(out.flush()?),
            Self::Records(writer) => writer.end(),
        }
    }
}
