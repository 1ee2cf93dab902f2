//! Builds first trees on a thread of the engine.

use dflat_engine::Result;
use dflat_engine::engine::{Engine, Length};
use dflat_model::Table;

use super::batch::{build_batch, needs_batch};

/// Builds the first trees of these tables in the background, unless they have few objects or a
/// commit has their trees. A type is versioned from its first batch on. If a batch fails, or the
/// program ends, the first commit or the next call goes on.
///
/// # Errors
/// Those of [`needs_batch`], and of starting a thread.
pub fn build_in_background(engine: &Engine, tables: &[Table]) -> Result<()> {
    for table in tables {
        if needs_batch(engine, table)? {
            queue(engine, table)?;
        }
    }
    Ok(())
}

/// Adds the first batches of the trees that [`build_in_background`] has not begun yet, so that
/// their types are versioned. `versioned` are those that are already. Returns whether there were
/// others.
///
/// # Errors
/// Those of [`needs_batch`] and [`build_batch`].
pub fn begin_builds(engine: &Engine, versioned: &[Table]) -> Result<bool> {
    let wanted = engine.history().map(|history| history.wanted());
    let mut has_begun = false;
    for table in wanted.into_iter().flatten() {
        let is_versioned = versioned.iter().any(|known| known.is_stored_as(&table));
        if !is_versioned && needs_batch(engine, &table)? {
            build_batch(engine, &table)?;
            has_begun = true;
        }
    }
    Ok(has_begun)
}

/// Queues the next batch. It fails if the program has shut the engine down by then.
fn queue(engine: &Engine, table: &Table) -> Result<()> {
    let (of_call, table_of_call) = (engine.clone(), table.clone());
    let call = Box::new(move || run(&of_call, &table_of_call));
    let operation = format_args!("build the tree of {}", table.type_name);
    engine
        .call_in_background(Length::Long, operation, call)
        .map(drop)
}

fn run(engine: &Engine, table: &Table) {
    let history = engine.history();
    // The history may have ended, or a commit may have the tree by now.
    let goes_on = history.is_some_and(|history| history.is_wanted(&table.name) == Some(true))
        && needs_batch(engine, table).is_ok_and(|needs| needs)
        && build_batch(engine, table).is_ok_and(|is_done| !is_done);
    if goes_on {
        // Without a thread, the first commit goes on.
        let _ = queue(engine, table);
    }
}
