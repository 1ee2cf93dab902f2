//! The engines of this process, by file.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use dflat_engine::engine::{Engine, EngineOptions, WeakEngine};
use dflat_engine::storage::Backend;
use dflat_sqlite::{SqliteBackend, SqliteOptions};

use crate::{Error, ErrorKind, Result};

/// How a file is used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) sqlite: SqliteOptions,
    pub(crate) engine: EngineOptions,
}

/// An option that was set: its name, and whether two have the same.
pub(crate) type Choice = (&'static str, fn(&Options, &Options) -> bool);

/// An engine that may have ended.
struct Entry {
    engine: WeakEngine,
    backend: Weak<SqliteBackend>,
    options: Options,
}

static ENGINES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// A share in the engine on a file, which is there, or is made now.
pub(crate) fn on_file(
    path: &Path,
    options: &Options,
    chosen: &[Choice],
) -> Result<(Engine, Arc<SqliteBackend>)> {
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
            return Ok((engine, backend));
        }
    }
    let backend = SqliteBackend::open(path, options.sqlite.clone())?;
    let engine = Engine::new(Arc::clone(&backend) as Arc<dyn Backend>, options.engine);
    engines.push(Entry {
        engine: engine.downgrade(),
        backend: Arc::downgrade(&backend),
        options: options.clone(),
    });
    Ok((engine, backend))
}
