//! Objects from one file to another.

use dflat_workspace::{Fetch, Source};

use super::batch::{Importer, Item};
use super::position::Position;
use crate::arguments::{CopyArguments, FileArguments, OnConflict};
use crate::confirm::confirm;
use crate::failure::{Failure, Found, Outcome};
use crate::file::OpenFile;
use crate::progress;
use crate::record::report;
use crate::session::Session;

/// The number of objects of a batch, and of bytes.
const BATCH: (usize, usize) = (10_000, 8 << 20);

/// Copies objects.
pub(crate) fn copy(arguments: &CopyArguments, session: &Session) -> Outcome {
    let from = session.read(&arguments.file)?;
    let chosen = from.types.chosen(&arguments.types)?;
    let mut tables = Vec::new();
    for known in chosen {
        tables.push(from.types.to_write(&known.table.name)?.table.clone());
    }
    let (path, write) = (arguments.to.display(), &arguments.write);
    let question = format!("replace objects of {path} that have the same keys?");
    let destroys = arguments.on_conflict == OnConflict::Replace && arguments.to.exists();
    if destroys && !confirm(session, &question, arguments.yes || write.dry_run)? {
        return Ok(Found::Yes);
    }
    let to = OpenFile::write(&FileArguments::of(arguments.to.clone()), write.dry_run)?;
    let importer = Importer {
        file: &to,
        tables: tables.clone(),
        on_conflict: arguments.on_conflict,
        may_reject: false,
        stored: None,
    };
    let snapshot = from.workspace.engine().snapshot()?;
    let fetch = |table| Fetch::new(Source::Snapshot(&snapshot), table);
    let bar = progress::of_objects(|| {
        let counts = tables.iter();
        let counts = counts.map(|table| Ok(fetch(table.clone()).count()? as u64));
        counts.sum()
    })?;
    let mut position = Position::default();
    for table in &tables {
        let (mut items, mut bytes) = (Vec::new(), 0);
        for object in fetch(table.clone()).rows()? {
            session.check()?;
            let payload = object?.payload().to_vec();
            bytes += payload.len();
            items.push(Item {
                line: None,
                text: String::new(),
                table: table.clone(),
                payload,
            });
            if items.len() >= BATCH.0 || bytes >= BATCH.1 {
                position = commit(&importer, &items, &position)?;
                bar.inc(items.len() as u64);
                (items, bytes) = (Vec::new(), 0);
            }
        }
        position = commit(&importer, &items, &position)?;
        bar.inc(items.len() as u64);
    }
    bar.finish_and_clear();
    drop(snapshot);
    drop(importer);
    from.close()?;
    to.close()?;
    let counts = [
        ("inserted", position.inserted),
        ("updated", position.updated),
        ("unchanged", position.unchanged),
        ("skipped", position.skipped),
    ];
    report(write.format.get(), write.dry_run, &counts)?;
    Ok(Found::Yes)
}

fn commit(
    importer: &Importer<'_>,
    items: &[Item],
    position: &Position,
) -> Result<Position, Failure> {
    if items.is_empty() {
        return Ok(position.clone());
    }
    let committed = importer.commit(items, position, false, &mut |_| Ok(()))?;
    Ok(committed.position)
}
