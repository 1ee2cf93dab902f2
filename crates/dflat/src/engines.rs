//! The engines of this process, by file.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use dflat_engine::dictionary::{Dictionary, WeakDictionary};
use dflat_engine::engine::{Engine, EngineOptions, WeakEngine};
use dflat_engine::storage::Backend;
use dflat_sqlite::{SqliteBackend, SqliteOptions};

use crate::{Error, ErrorKind, Result};

/// How a file is used.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) sqlite: SqliteOptions,
    pub(crate) engine: EngineOptions,
    pub(crate) dictionary_keys_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sqlite: SqliteOptions::default(),
            engine: EngineOptions::default(),
            dictionary_keys_max: usize::MAX,
        }
    }
}

/// An option that was set: its name, and whether two have the same.
pub(crate) type Choice = (&'static str, fn(&Options, &Options) -> bool);

/// An engine that may have ended.
struct Entry {
    engine: WeakEngine,
    backend: Weak<SqliteBackend>,
    dictionary: WeakDictionary,
    options: Options,
}

static ENGINES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// A share in the engine on a file, which is there, or is made now.
pub(crate) fn on_file(
    path: &Path,
    options: &Options,
    chosen: &[Choice],
) -> Result<(Dictionary, Engine, Arc<SqliteBackend>)> {
    let mut engines = ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
    engines.retain(|entry| entry.backend.strong_count() > 0);
    for entry in engines.iter() {
        let backend = entry
            .backend
            .upgrade()
            .filter(|backend| backend.is_on(path));
        let Some(backend) = backend else { continue };
        if !entry.engine.is_open() {
            continue;
        }
        let differs = chosen
            .iter()
            .find(|(_, same)| !same(&entry.options, options));
        if let Some((name, _)) = differs {
            let message = format!(
                "cannot open {}: it is open in this process with another {name}",
                path.display()
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        if let Some(engine) = entry.engine.share() {
            // Each workspace holds it for as long as its share of the engine.
            let dictionary = entry.dictionary.share(engine.clone());
            let new = || Dictionary::new(engine.clone(), entry.options.dictionary_keys_max);
            return Ok((dictionary.unwrap_or_else(new), engine, backend));
        }
    }
    let backend = SqliteBackend::open(path, options.sqlite.clone())?;
    let engine = Engine::new(Arc::clone(&backend) as Arc<dyn Backend>, options.engine);
    let dictionary = Dictionary::new(engine.clone(), options.dictionary_keys_max);
    engines.push(Entry {
        dictionary: dictionary.downgrade(),
        engine: engine.downgrade(),
        backend: Arc::downgrade(&backend),
        options: options.clone(),
    });
    Ok((dictionary, engine, backend))
}
