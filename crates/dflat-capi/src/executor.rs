//! Executors: threads of the program that run jobs of the library.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use dflat_engine::callback::Job;
use dflat_engine::engine::TransactionExecutor;

use crate::boundary::{KeptCallback, Kind, Owned, export_release};

/// A job for an executor.
pub(crate) struct JobHandle(Mutex<Job>);

impl Kind for JobHandle {
    const TAG: u64 = 0xDF1A_700E;
    const NAME: &'static str = "dflat_job";
}

/// The function of `dflat_executor`.
pub(crate) type ExecutorCall = extern "C" fn(*mut c_void, Owned<JobHandle>);

/// An executor that gives its jobs to a callback.
pub(crate) fn executor_of(callback: KeptCallback<ExecutorCall>) -> TransactionExecutor {
    TransactionExecutor::new(move |job| {
        callback.run(|call, context| call(context, Owned::new(JobHandle(Mutex::new(job)))));
    })
}

export_release! {
    fn dflat_job_run(job: Owned<JobHandle>) {
        if let Some(job) = job.take()? {
            let run = job.0.into_inner().unwrap_or_else(PoisonError::into_inner);
            run();
        }
    }

    fn dflat_job_release(job: Owned<JobHandle>) {
        drop(job.take()?);
    }
}
