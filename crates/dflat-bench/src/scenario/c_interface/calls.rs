//! The functions of the C interface, called as a program in C calls them.
#![allow(
    unsafe_code,
    reason = "the C interface, called without a layer between: that is what is measured"
)]

use std::ffi::c_void;
use std::path::Path;
use std::{mem, ptr, slice};

use dflat::codegen::Encoder;
// The library's functions, which the linker finds by their names.
use dflat_capi as _;
use dflat_engine::object::Writer;

use crate::Result;
use crate::workload::BenchDocData;

/// A pointer to a handle, or to something else that only the library reads.
type Handle = *mut c_void;

/// `dflat_bytes` and `dflat_text`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Bytes {
    data: *const u8,
    length: usize,
}

impl Bytes {
    const fn of(bytes: &[u8]) -> Self {
        let (data, length) = (bytes.as_ptr(), bytes.len());
        Self { data, length }
    }
}

/// `dflat_object`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawObject {
    chunk: *const c_void,
    span: u64,
}

const NO_OBJECT: RawObject = RawObject {
    chunk: ptr::null(),
    span: 0,
};

/// `dflat_view`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct View {
    payload: *const u8,
    length: usize,
    row_id: i64,
    object: RawObject,
}

impl View {
    pub(super) const fn payload(&self) -> &[u8] {
        // SAFETY: the library gives the payload with its length, and its object is held.
        unsafe { slice::from_raw_parts(self.payload, self.length) }
    }
}

/// `dflat_source`.
#[repr(C)]
struct Source {
    workspace: Handle,
    snapshot: Handle,
    transaction: Handle,
}

/// `dflat_value`.
#[repr(C)]
struct Value {
    kind: i32,
    integer: i64,
    number: f64,
    text: Bytes,
}

/// A callback: its context, the function to call, and the one that drops the context.
#[repr(C)]
struct Callback<F> {
    context: *mut c_void,
    call: F,
    drop: Option<extern "C" fn(*mut c_void)>,
}

type HandlerCall = extern "C" fn(*mut c_void, Handle, *mut Handle) -> i32;
type ResultCall = extern "C" fn(*mut c_void, i32, Handle, Handle);

unsafe extern "C" {
    fn dflat_workspace_open(path: Bytes, options: Handle, to: *mut Handle, error: Handle) -> i32;
    fn dflat_workspace_release(workspace: Handle) -> i32;
    fn dflat_workspace_table(from: Handle, name: Bytes, to: *mut Handle, error: Handle) -> i32;
    fn dflat_table_release(table: Handle) -> i32;
    fn dflat_query_new(table: Handle, encoded: Bytes, to: *mut Handle, error: Handle) -> i32;
    fn dflat_query_window(
        query: Handle,
        offset: u64,
        objects_max: u64,
        to: *mut Handle,
        error: Handle,
    ) -> i32;
    fn dflat_query_release(query: Handle) -> i32;
    fn dflat_fetch(source: Source, query: Handle, result: *mut Handle, error: Handle) -> i32;
    fn dflat_result_views(
        result: Handle,
        views: *mut *const View,
        count: *mut usize,
        error: Handle,
    ) -> i32;
    fn dflat_result_release(result: Handle) -> i32;
    fn dflat_get(
        source: Source,
        table: Handle,
        key: *const Value,
        count: usize,
        view: *mut View,
        error: Handle,
    ) -> i32;
    fn dflat_object_release(object: RawObject) -> i32;
    fn dflat_perform_and_wait(
        workspace: Handle,
        tables: *const Handle,
        count: usize,
        flags: u32,
        handler: Callback<HandlerCall>,
        error: Handle,
    ) -> i32;
    fn dflat_transaction_submit(
        transaction: Handle,
        table: Handle,
        operation: i32,
        flags: u32,
        base: RawObject,
        payload: Bytes,
        result: *mut i32,
        view: *mut View,
        error: *mut Handle,
    ) -> i32;
    fn dflat_subscribe_query(
        workspace: Handle,
        query: Handle,
        known: Handle,
        flags: u32,
        callback: Callback<ResultCall>,
        subscription: *mut Handle,
        error: Handle,
    ) -> i32;
    fn dflat_subscription_cancel(subscription: Handle, error: Handle) -> i32;
    fn dflat_subscription_release(subscription: Handle) -> i32;
    fn dflat_delivery_result(delivery: Handle, result: *mut Handle, error: Handle) -> i32;
}

const TEXT: i32 = 4;
const CREATE: i32 = 1;
const INVALID_ARGUMENT: i32 = 21;
const WITHOUT_INITIAL: u32 = 1;

fn succeed(code: i32, call: &str) -> Result<()> {
    match code {
        0 => Ok(()),
        code => Err(format!("{call} gives {code}").into()),
    }
}

/// A file with one table, as a program in C has it.
pub(super) struct Opened {
    workspace: Handle,
    table: Handle,
    query: Handle,
}

impl Opened {
    /// Opens a file with a table.
    pub(super) fn new(path: &Path, table: &str) -> Result<Self> {
        let none = ptr::null_mut();
        let mut opened = Self {
            workspace: none,
            table: none,
            query: none,
        };
        let path = path.to_str().ok_or("the path is not Unicode")?;
        let (path, name) = (Bytes::of(path.as_bytes()), Bytes::of(table.as_bytes()));
        // SAFETY: the texts live during the calls, and the places are those of `opened`, which
        // releases what they get.
        unsafe {
            let code = dflat_workspace_open(path, none, &raw mut opened.workspace, none);
            succeed(code, "dflat_workspace_open")?;
            let code = dflat_workspace_table(opened.workspace, name, &raw mut opened.table, none);
            succeed(code, "dflat_workspace_table")?;
            let code = dflat_query_new(opened.table, Bytes::of(&[]), &raw mut opened.query, none);
            succeed(code, "dflat_query_new")?;
        }
        Ok(opened)
    }

    const fn source(&self) -> Source {
        Source {
            workspace: self.workspace,
            snapshot: ptr::null_mut(),
            transaction: ptr::null_mut(),
        }
    }

    /// Fetches all objects, reads each in place, and releases them.
    pub(super) fn fetch(&self, mut read: impl FnMut(&[u8])) -> Result<()> {
        let (mut result, none) = (ptr::null_mut(), ptr::null_mut());
        let (mut views, mut count) = (ptr::null(), 0);
        // SAFETY: the handles are live, the places are valid, and the views are used before their
        // result is released.
        unsafe {
            let code = dflat_fetch(self.source(), self.query, &raw mut result, none);
            succeed(code, "dflat_fetch")?;
            let code = dflat_result_views(result, &raw mut views, &raw mut count, none);
            succeed(code, "dflat_result_views")?;
            for view in slice::from_raw_parts(views, count) {
                read(view.payload());
            }
            succeed(dflat_result_release(result), "dflat_result_release")
        }
    }

    /// Gets an object by its key, reads it in place, and releases it.
    pub(super) fn get<R>(&self, key: &str, read: impl FnOnce(&[u8]) -> R) -> Result<R> {
        let key = Value {
            kind: TEXT,
            integer: 0,
            number: 0.0,
            text: Bytes::of(key.as_bytes()),
        };
        let mut view = View {
            payload: ptr::null(),
            length: 0,
            row_id: 0,
            object: NO_OBJECT,
        };
        let none = ptr::null_mut();
        // SAFETY: the handles are live, the places are valid, and the view is used before its
        // object is released.
        unsafe {
            let code = dflat_get(
                self.source(),
                self.table,
                &raw const key,
                1,
                &raw mut view,
                none,
            );
            succeed(code, "dflat_get")?;
            if view.payload.is_null() {
                return Err("the object is missing".into());
            }
            let read = read(view.payload());
            succeed(dflat_object_release(view.object), "dflat_object_release")?;
            Ok(read)
        }
    }

    /// Encodes and creates objects in one transaction.
    pub(super) fn insert(&self, values: Vec<BenchDocData>) -> Result<()> {
        let mut insertion = Insertion {
            table: self.table,
            values,
        };
        let handler = Callback {
            context: ptr::from_mut(&mut insertion).cast(),
            call: insert as HandlerCall,
            drop: None,
        };
        // SAFETY: the handles and the context live during the call, which blocks.
        let code = unsafe {
            let tables = &raw const self.table;
            dflat_perform_and_wait(self.workspace, tables, 1, 0, handler, ptr::null_mut())
        };
        succeed(code, "dflat_perform_and_wait")
    }

    /// Follows the first objects: `seen` is called with the views of each new result.
    pub(super) fn follow<'a>(
        &'a self,
        objects_max: u64,
        seen: &'a (dyn Fn(&[View]) + Sync),
    ) -> Result<Followed<'a>> {
        let context = Box::new(Follower(seen));
        let callback = Callback {
            context: ptr::from_ref(&*context).cast_mut().cast(),
            call: follow as ResultCall,
            drop: None,
        };
        let none = ptr::null_mut();
        let (mut subscription, mut first) = (none, none);
        // SAFETY: the query is live, and the place is valid.
        let code = unsafe { dflat_query_window(self.query, 0, objects_max, &raw mut first, none) };
        succeed(code, "dflat_query_window")?;
        // SAFETY: the handles are live, and the context lives until the subscription has ended.
        let code = unsafe {
            let to = &raw mut subscription;
            let flags = WITHOUT_INITIAL;
            let code =
                dflat_subscribe_query(self.workspace, first, none, flags, callback, to, none);
            dflat_query_release(first);
            code
        };
        succeed(code, "dflat_subscribe_query")?;
        Ok(Followed {
            subscription,
            _context: context,
        })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: the handles are released once; NULL is allowed.
        unsafe {
            dflat_query_release(self.query);
            dflat_table_release(self.table);
            dflat_workspace_release(self.workspace);
        }
    }
}

struct Insertion {
    table: Handle,
    values: Vec<BenchDocData>,
}

extern "C" fn insert(context: *mut c_void, transaction: Handle, error: *mut Handle) -> i32 {
    // SAFETY: the context is the one that `Opened::insert` gave, and the handler runs once.
    let insertion = unsafe { &mut *context.cast::<Insertion>() };
    let mut writer = Writer::new();
    // As on the side of Rust, each value is dropped after its object was created.
    for data in mem::take(&mut insertion.values) {
        Encoder::encode_root(&mut writer, &data);
        let Ok(payload) = writer.finish().map(Bytes::of) else {
            return INVALID_ARGUMENT;
        };
        // SAFETY: the handles are live, and no result is wanted.
        let code = unsafe {
            dflat_transaction_submit(
                transaction,
                insertion.table,
                CREATE,
                0,
                NO_OBJECT,
                payload,
                ptr::null_mut(),
                ptr::null_mut(),
                error,
            )
        };
        if code != 0 {
            return code;
        }
    }
    0
}

struct Follower<'a>(&'a (dyn Fn(&[View]) + Sync));

/// A subscription, and the context of its callback.
pub(super) struct Followed<'a> {
    subscription: Handle,
    // Order: released after the subscription has ended.
    _context: Box<Follower<'a>>,
}

impl Drop for Followed<'_> {
    fn drop(&mut self) {
        // SAFETY: after the cancellation no call of the callback runs. The handle is released once.
        unsafe {
            dflat_subscription_cancel(self.subscription, ptr::null_mut());
            dflat_subscription_release(self.subscription);
        }
    }
}

extern "C" fn follow(context: *mut c_void, code: i32, _error: Handle, delivery: Handle) {
    if code != 0 {
        return;
    }
    let (mut result, none) = (ptr::null_mut(), ptr::null_mut());
    let (mut views, mut count) = (ptr::null(), 0);
    // SAFETY: the context is the one that `Opened::follow` gave, the delivery is lent, and the
    // views are used before their result is released.
    unsafe {
        dflat_delivery_result(delivery, &raw mut result, none);
        dflat_result_views(result, &raw mut views, &raw mut count, none);
        if !views.is_null() {
            (*context.cast::<Follower<'_>>()).0(slice::from_raw_parts(views, count));
        }
        dflat_result_release(result);
    }
}
