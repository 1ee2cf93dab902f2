//! The options of a workspace on a file.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dflat_engine::Result;
use dflat_engine::storage::Durability;
use dflat_engine::transaction::Concurrency;
use dflat_sqlite::{FileProtection, Reclaim};
use dflat_workspace::FileOptions;

use crate::boundary::{Callback, In, Kind, OutHandle, Owned, export, export_release, invalid};
use crate::executor::{ExecutorCall, executor_of};
use crate::number;

/// Options for the caller.
pub(crate) struct OptionsHandle(Mutex<FileOptions>);

impl Kind for OptionsHandle {
    const TAG: u64 = 0xDF1A_7004;
    const NAME: &'static str = "dflat_options";
}

impl OptionsHandle {
    pub(crate) fn get(&self) -> FileOptions {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// A value as a number that is not negative.
fn count<T: TryFrom<i64>>(value: i64) -> Result<T> {
    T::try_from(value).map_err(|_| invalid(format!("value: {value} is out of range")))
}

fn flag(value: i64) -> Result<bool> {
    match value {
        0 | 1 => Ok(value == 1),
        _ => Err(invalid(format!("value: {value} is neither 0 nor 1"))),
    }
}

fn milliseconds(value: i64) -> Result<Duration> {
    Ok(Duration::from_millis(count(value)?))
}

/// The protection of a file by its number; `None` for that of the directory.
fn protection(value: i64) -> Result<Option<FileProtection>> {
    Ok(match value {
        0 => None,
        1 => Some(FileProtection::None),
        2 => Some(FileProtection::CompleteUntilFirstUserAuthentication),
        3 => Some(FileProtection::CompleteUnlessOpen),
        4 => Some(FileProtection::Complete),
        _ => return Err(invalid(format!("value: {value} is no file protection"))),
    })
}

fn set(options: &mut FileOptions, option: i32, value: i64) -> Result<()> {
    match option {
        number::OPTION_FULL_DURABILITY => options.durability(match flag(value)? {
            false => Durability::Normal,
            true => Durability::Full,
        }),
        number::OPTION_SINGLE_WRITER => options.concurrency(match flag(value)? {
            false => Concurrency::MultiWriter,
            true => Concurrency::SingleWriter,
        }),
        number::OPTION_BUSY_TIMEOUT => options.busy_timeout(milliseconds(value)?),
        number::OPTION_THREADS_MAX => options.threads_max(count::<usize>(value)?.max(1)),
        number::OPTION_READERS_MAX => options.readers_max(count::<usize>(value)?.max(1)),
        number::OPTION_DICTIONARY_KEYS_MAX => options.dictionary_keys_max(count(value)?),
        number::OPTION_LOG_BYTES_MAX => options.log_bytes_max(count(value)?),
        number::OPTION_READ_ONLY => options.read_only(flag(value)?),
        number::OPTION_ALLOW_MISSING => options.allow_missing(flag(value)?),
        number::OPTION_RECLAIM => options.reclaim(match flag(value)? {
            false => Reclaim::Never,
            true => Reclaim::default(),
        }),
        number::OPTION_FILE_PROTECTION => options.file_protection(protection(value)?),
        number::OPTION_FOLLOW_PROCESSES => options.follow_processes(flag(value)?),
        number::OPTION_FOLLOW_BYTES_MAX => options.follow_bytes_max(count(value)?),
        number::OPTION_CHANGE_LOG => options.change_log(flag(value)?),
        number::OPTION_SNAPSHOT_AGE_MAX => options.snapshot_age_max(Some(milliseconds(value)?)),
        number::OPTION_SUBSCRIBER_PATIENCE => options.subscriber_patience(milliseconds(value)?),
        number::OPTION_INDEX_ON_READ => options.index_on_read(flag(value)?),
        number::OPTION_CHANGE_LOG_BYTES_MAX => options.change_log_bytes_max(count(value)?),
        number::OPTION_CHANGE_LOG_AGE_MAX => {
            options.change_log_age_max(Some(milliseconds(value)?));
        }
        number::OPTION_PAGE_CACHE_BYTES => options.page_cache_bytes(count(value)?),
        _ => return Err(invalid(format!("option: {option} is no option"))),
    }
    Ok(())
}

export! {
    fn dflat_options_new(options: OutHandle<'_, OptionsHandle>) {
        options.begin()?;
        options.set(OptionsHandle(Mutex::default()));
    }

    fn dflat_options_set(options: In<'_, OptionsHandle>, option: i32, value: i64) {
        let mut inner = options.get()?.0.lock().unwrap_or_else(PoisonError::into_inner);
        set(&mut inner, option, value)?;
    }

    fn dflat_options_set_executor(
        options: In<'_, OptionsHandle>,
        executor: Callback<ExecutorCall>,
    ) {
        let executor = executor.kept("executor")?;
        let options = &options.get()?.0;
        let executor = executor_of(executor);
        let mut inner = options.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = inner.clone();
        changed.executor(Some(executor));
        let before = std::mem::replace(&mut *inner, changed);
        drop(inner);
        // Order: the release of the executor before may be a call of the program, and use the
        // options.
        drop(before);
    }
}

export_release! {
    fn dflat_options_release(options: Owned<OptionsHandle>) {
        drop(options.take()?);
    }
}
