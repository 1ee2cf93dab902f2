//! Subscriptions to objects, queries and counts.

use std::ffi::c_void;
use std::sync::Arc;

use dflat_engine::dictionary::KeySubscription;
use dflat_engine::engine::Subject;
use dflat_engine::object::RawObject;
use dflat_engine::observe::{DeliveryOptions, Event, ObjectEvent, ResultUpdate, Subscription};
use dflat_engine::{Error, Result};
use dflat_model::Table;
use dflat_workspace::{is_silent_count, is_silent_result};

use super::delivery::DeliveryHandle;
use crate::boundary::{
    Callback, ErrorHandle, In, KeptCallback, Kind, OK, OutHandle, Owned, RawView, export,
    export_release, invalid, lend_handle, lent_view_of, waits_for_calls,
};
use crate::number::{DELETED, SUBSCRIBE_WITHOUT_INITIAL, UPDATED};
use crate::object::borrow;
use crate::read::{PreparedQuery, QueryHandle, ResultHandle};
use crate::table::TableHandle;
use crate::workspace::WorkspaceHandle;

/// A subscription for the caller.
pub(crate) enum SubscriptionHandle {
    Live(Subscription),
    Keys(KeySubscription),
}

impl Kind for SubscriptionHandle {
    const TAG: u64 = 0xDF1A_7009;
    const NAME: &'static str = "dflat_subscription";
}

type ObjectCallback = extern "C" fn(*mut c_void, i32, RawView);
type ResultCallback = extern "C" fn(*mut c_void, i32, In<'_, ErrorHandle>, In<'_, DeliveryHandle>);
type CountCallback = extern "C" fn(*mut c_void, i32, In<'_, ErrorHandle>, u64);

/// Whether the subscriber wants the state at the beginning.
fn wants_initial(flags: u32) -> Result<bool> {
    match flags {
        0 => Ok(true),
        SUBSCRIBE_WITHOUT_INITIAL => Ok(false),
        _ => Err(invalid(format!("flags: {flags:#x} has an unknown flag"))),
    }
}

fn subscribe(
    workspace: In<'_, WorkspaceHandle>,
    table: &Table,
    subject: Subject,
    function: impl FnMut(Event) + Send + 'static,
) -> Result<SubscriptionHandle> {
    let options = DeliveryOptions {
        executor: None,
        capacity: 1,
    };
    let engine = workspace.get()?.0.engine();
    let live = engine.observe(table, subject, options, Box::new(function))?;
    Ok(SubscriptionHandle::Live(live))
}

/// Calls a callback with a code and an error.
fn with_failure(error: Error, call: impl FnOnce(i32, In<'_, ErrorHandle>)) {
    let error = ErrorHandle::new(error);
    let code = error.code();
    lend_handle(error, |error| call(code, error));
}

fn deliver_object(callback: &KeptCallback<ObjectCallback>, event: Event) {
    let Event::Object(event) = event else {
        return;
    };
    callback.run(|call, context| match event {
        ObjectEvent::Updated(object) => {
            call(context, UPDATED, lent_view_of(&object));
        }
        ObjectEvent::Deleted => call(context, DELETED, RawView::NONE),
    });
}

/// Delivers results, unless nothing has changed.
fn deliver_results(
    callback: KeptCallback<ResultCallback>,
    prepared: Arc<PreparedQuery>,
    known: Option<ResultHandle>,
    initial: bool,
) -> impl FnMut(Event) + Send + 'static {
    let mut last = known.map(|known| known.fetched.objects);
    move |event| {
        let Event::Result(event) = event else {
            return;
        };
        match event {
            Err(error) => with_failure(error, |code, error| {
                callback.run(|call, context| call(context, code, error, In::NONE));
            }),
            Ok(update) => {
                let ResultUpdate {
                    query,
                    fetched,
                    difference,
                    commits,
                } = *update;
                let before = last.replace(Arc::clone(&fetched.objects));
                let before = before.as_deref().map(Vec::as_slice);
                let live = (&prepared.table, &query);
                if is_silent_result(live, before, &fetched.objects, commits, initial) {
                    return;
                }
                let result = ResultHandle::new(fetched, Arc::clone(&prepared));
                let delivery = DeliveryHandle::new(result, difference, commits);
                lend_handle(delivery, |delivery| {
                    callback.run(|call, context| call(context, OK, In::NONE, delivery));
                });
            }
        }
    }
}

/// Delivers counts, unless nothing has changed.
fn deliver_counts(
    callback: KeptCallback<CountCallback>,
    initial: bool,
) -> impl FnMut(Event) + Send + 'static {
    let mut last = None;
    move |event| {
        let Event::Count(count, commits) = event else {
            return;
        };
        let before = std::mem::replace(&mut last, count.as_ref().ok().copied());
        if is_silent_count(before, last, commits, initial) {
            return;
        }
        callback.run(|call, context| match count {
            Ok(count) => call(context, OK, In::NONE, count as u64),
            Err(error) => with_failure(error, |code, error| call(context, code, error, 0)),
        });
    }
}

export! {
    fn dflat_subscribe_object(
        workspace: In<'_, WorkspaceHandle>,
        table: In<'_, TableHandle>,
        object: RawObject,
        callback: Callback<ObjectCallback>,
        subscription: OutHandle<'_, SubscriptionHandle>,
    ) {
        subscription.begin()?;
        let callback = callback.kept("callback")?;
        let object = borrow(object).ok_or_else(|| invalid("object: there is none"))?;
        let subject = Subject::Object((*object).clone());
        let function = move |event| deliver_object(&callback, event);
        subscription.set(subscribe(workspace, &table.get()?.0, subject, function)?);
    }

    fn dflat_subscribe_query(
        workspace: In<'_, WorkspaceHandle>,
        query: In<'_, QueryHandle>,
        known: In<'_, ResultHandle>,
        flags: u32,
        callback: Callback<ResultCallback>,
        subscription: OutHandle<'_, SubscriptionHandle>,
    ) {
        subscription.begin()?;
        let callback = callback.kept("callback")?;
        let prepared = &query.get()?.0;
        let known = known.or_none()?.map(ResultHandle::another);
        if known.as_ref().is_some_and(|known| !known.is_of(prepared)) {
            return Err(invalid("known: it is the result of another query"));
        }
        let subject = Subject::Result {
            query: prepared.shaped(),
            known: known.as_ref().map(|known| known.fetched.clone()),
        };
        let initial = wants_initial(flags)?;
        let function = deliver_results(callback, Arc::clone(prepared), known, initial);
        subscription.set(subscribe(workspace, &prepared.table, subject, function)?);
    }

    fn dflat_subscribe_count(
        workspace: In<'_, WorkspaceHandle>,
        query: In<'_, QueryHandle>,
        flags: u32,
        callback: Callback<CountCallback>,
        subscription: OutHandle<'_, SubscriptionHandle>,
    ) {
        subscription.begin()?;
        let callback = callback.kept("callback")?;
        let prepared = &query.get()?.0;
        let subject = Subject::Count(prepared.shaped());
        let function = deliver_counts(callback, wants_initial(flags)?);
        subscription.set(subscribe(workspace, &prepared.table, subject, function)?);
    }

    fn dflat_subscription_cancel(subscription: In<'_, SubscriptionHandle>) {
        let _order = waits_for_calls();
        match subscription.get()? {
            SubscriptionHandle::Live(live) => live.cancel(),
            SubscriptionHandle::Keys(keys) => keys.cancel(),
        }
    }

    fn dflat_subscription_outcome(subscription: In<'_, SubscriptionHandle>) {
        if let SubscriptionHandle::Live(live) = subscription.get()?
            && let Some(error) = live.error()
        {
            return Err(error);
        }
    }
}

export_release! {
    fn dflat_subscription_release(subscription: Owned<SubscriptionHandle>) {
        let _order = waits_for_calls();
        drop(subscription.take()?);
    }
}
