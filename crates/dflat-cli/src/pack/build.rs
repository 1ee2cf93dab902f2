//! Objects of a file into a pack.

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use dflat_pack::{BuildOptions, Compression, Pack, PackBuilder};
use dflat_workspace::Source;
use indicatif::ProgressBar;
use tempfile::TempDir;

use crate::arguments::{Compress, Format, PackArguments};
use crate::display::{Alignment, bytes, escaped};
use crate::failure::{Failure, Found, Outcome};
use crate::progress;
use crate::record::{Cell, RecordWriter, dry_note};
use crate::session::Session;

/// Makes a pack.
pub(crate) fn pack(arguments: &PackArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    let mut tables = Vec::new();
    for known in file.types.chosen(&arguments.types)? {
        tables.push(file.types.to_write(&known.table.name)?.table.clone());
    }
    let place = Place::new(&arguments.folder, arguments.copy.dry_run)?;
    let snapshot = file.workspace.engine().snapshot()?;
    let source = || Source::Snapshot(&snapshot);
    let bar = progress::of_objects(|| {
        let counts = tables.iter();
        counts
            .map(|table| Ok(session.fetch(source(), table).count()? as u64))
            .sum()
    })?;
    let options = options(&bar, session).compression(match arguments.compress {
        None => Compression::None,
        Some(Compress::Lz4) => Compression::Lz4,
        Some(Compress::Zstd) => Compression::Zstd,
    });
    let mut builder = PackBuilder::new(&place.folder, tables.clone(), options)?;
    for table in &tables {
        for object in session.fetch(source(), table).rows()? {
            builder.add(table, object?.payload())?;
        }
    }
    let objects = builder.len();
    let pack = builder.finish()?;
    bar.finish_and_clear();
    drop(snapshot);
    file.close()?;
    place.keep();
    report(&pack, objects, arguments, session)?;
    Ok(Found::Yes)
}

/// Options that show the progress, and end the build if the command is interrupted. The bar shows
/// the objects that are read, and then, if they have to be sorted, those that are written.
fn options(bar: &ProgressBar, session: &Session) -> BuildOptions {
    let (bar, control) = (bar.clone(), session.control());
    let all = bar.length().unwrap_or_default();
    BuildOptions::default().on_progress(move |progress| {
        bar.set_position(match progress.added < all {
            true => progress.added,
            false => progress.written,
        });
        let cancellation = control.cancellation.as_ref();
        match cancellation.is_some_and(|cancellation| cancellation.is_cancelled()) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })
}

/// The folder of a pack.
struct Place {
    folder: PathBuf,
    /// Whether this command has made the folder, and removes it if the command fails.
    is_new: bool,
    /// The folder of a dry run, deleted at the end.
    _temporary: Option<TempDir>,
}

impl Place {
    fn new(folder: &Path, is_dry: bool) -> Result<Self, Failure> {
        let failed = |folder: &Path, error| {
            Failure::file(format!("cannot make {}: {error}", folder.display()))
        };
        if is_dry {
            let temporary = tempfile::tempdir().map_err(|error| {
                Failure::file(format!("cannot make a temporary folder: {error}"))
            })?;
            return Ok(Self {
                folder: temporary.path().to_owned(),
                is_new: false,
                _temporary: Some(temporary),
            });
        }
        let is_new = !folder.exists();
        if !is_new && !folder.is_dir() {
            let folder = folder.display();
            return Err(Failure::usage(format!("{folder} is no folder")));
        }
        if is_new {
            fs::create_dir(folder).map_err(|error| failed(folder, error))?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            is_new,
            _temporary: None,
        })
    }

    fn keep(mut self) {
        self.is_new = false;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.is_new {
            // A folder that another program uses meanwhile is not empty, and stays.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// Prints the path, the number of objects and the size.
fn report(
    pack: &Pack,
    objects: u64,
    arguments: &PackArguments,
    session: &Session,
) -> Result<(), Failure> {
    let path = pack.digest().path_in(&arguments.folder);
    let path = path.display().to_string();
    let mut out = session.out();
    let format = arguments.copy.format.get();
    if format == Format::Table {
        let dry = dry_note(arguments.copy.dry_run);
        let size = bytes(pack.size_bytes());
        writeln!(out, "{}", escaped(&path))?;
        writeln!(out, "{objects} packed, {size}{dry}")?;
        return Ok(out.flush()?);
    }
    let columns = ["path", "digest", "objects", "bytes"];
    let columns = columns.map(|name| (name.to_owned(), Alignment::Left));
    let mut writer = RecordWriter::new(format, out, columns.to_vec())?;
    writer.row(&[
        Cell::Text(path),
        Cell::Text(pack.digest().to_string()),
        Cell::of(&objects),
        Cell::of(&pack.size_bytes()),
    ])?;
    writer.end()
}
