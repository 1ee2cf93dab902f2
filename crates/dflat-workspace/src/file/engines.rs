//! The engines of this process, by file.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use dflat_engine::dictionary::{Dictionary, WeakDictionary};
use dflat_engine::engine::{Engine, EngineOptions, WeakEngine};
use dflat_engine::storage::Backend;
use dflat_model::TableDescriptor;
use dflat_sqlite::{SqliteBackend, SqliteOptions};

use super::options::{FileOptions, Values};
use crate::{Error, ErrorKind, Result};

/// An engine that may have ended.
struct Entry {
    engine: WeakEngine,
    backend: Weak<SqliteBackend>,
    dictionary: WeakDictionary,
    options: Values,
}

static ENGINES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// The engine on a file, shared with the other workspaces of this process on the file. If no
/// workspace of this process is open on the file, a new engine is made.
pub(crate) fn on_file(
    path: &Path,
    options: &FileOptions,
) -> Result<(Dictionary, Engine, Arc<SqliteBackend>)> {
    check_present(path, options.values())?;
    let mut engines = ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
    engines.retain(|entry| entry.backend.strong_count() > 0);
    for entry in engines.iter() {
        let backend = entry
            .backend
            .upgrade()
            .filter(|backend| backend.is_on(path));
        let Some(backend) = backend else { continue };
        if entry.engine.is_of_parent() {
            let message = format!(
                "cannot open {}: the parent process had it open when this process was forked",
                path.display()
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        if !entry.engine.is_open() {
            continue;
        }
        if let Some(name) = options.difference(&entry.options) {
            let message = format!(
                "cannot open {}: it is open in this process with another value of the option `{name}`",
                path.display()
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        if let Some(engine) = entry.engine.new_client() {
            // Each workspace holds the dictionary for as long as it holds the engine.
            let dictionary = entry.dictionary.share(engine.clone());
            let new = || new_dictionary(&engine, &entry.options);
            return Ok((dictionary.unwrap_or_else(new), engine, backend));
        }
    }
    let options = options.values();
    let sqlite = SqliteOptions {
        stands_on_pack: options.base.is_some(),
        ..options.sqlite.clone()
    };
    let backend = SqliteBackend::open(path, sqlite)?;
    let file = Arc::clone(&backend) as Arc<dyn Backend>;
    let storage = match &options.base {
        Some(base) => {
            refuse_versioned(&backend)?;
            base.stand(file)
        }
        None => file,
    };
    let suspended = Arc::clone(&backend);
    let engine = Engine::with_entrance(
        storage,
        EngineOptions {
            busy_timeout: options.sqlite.busy_timeout,
            ..options.engine.clone()
        },
        Box::new(move || suspended.wait_while_suspended()),
    );
    let dictionary = new_dictionary(&engine, options);
    engines.push(Entry {
        dictionary: dictionary.downgrade(),
        engine: engine.downgrade(),
        backend: Arc::downgrade(&backend),
        options: options.to_compare(),
    });
    Ok((dictionary, engine, backend))
}

fn new_dictionary(engine: &Engine, options: &Values) -> Dictionary {
    let new = match options.sqlite.read_only {
        true => Dictionary::read_only,
        false => Dictionary::new,
    };
    new(engine.clone(), options.dictionary_keys_max)
}

/// Fails if the file is opened for reading only, must be there, and is missing.
fn check_present(path: &Path, options: &Values) -> Result<()> {
    let must_exist = options.sqlite.read_only && !options.allow_missing;
    // An error of this check is met again when the file is opened, with its cause.
    if !must_exist || path.try_exists().unwrap_or(true) {
        return Ok(());
    }
    let path = path.display();
    let message = format!("cannot open {path} for reading only: there is no such file");
    Err(Error::new(ErrorKind::NotFound, message))
}

/// Fails if a file that is to stand on a pack has versioned types. No program could read their
/// history later, because a workspace that stands on a pack keeps none.
fn refuse_versioned(file: &SqliteBackend) -> Result<()> {
    let is_versioned = |(_, bytes): &(String, Vec<u8>)| TableDescriptor::is_versioned(bytes);
    let stored = file.stored_descriptors()?;
    let Some((name, _)) = stored.into_iter().find(is_versioned) else {
        return Ok(());
    };
    if file.stands_on_pack()? {
        return Ok(());
    }
    let message = format!(
        "cannot open {} on a pack: the objects of its table {name} are versioned, and a workspace \
         that stands on a pack keeps no history",
        file.path().display()
    );
    Err(Error::new(ErrorKind::InvalidArgument, message))
}
