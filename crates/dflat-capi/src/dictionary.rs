//! The dictionary: small values by key.

use std::ffi::c_void;

use dflat_engine::Result;
use dflat_engine::dictionary::{Dictionary, Event, Pattern, TABLE, Value};

use crate::boundary::{
    Bytes, Callback, Given, In, KeptCallback, Kind, Lent, List, Out, OutHandle, Owned, Text,
    export, export_release, invalid, waits_for_calls,
};
use crate::callbacks::TransactionHandle;
use crate::number;
use crate::observe::SubscriptionHandle;
use crate::table::TableHandle;
use crate::workspace::WorkspaceHandle;

/// A value of the dictionary, for the caller.
pub(crate) struct EntryHandle(Value);

impl Kind for EntryHandle {
    const TAG: u64 = 0xDF1A_700C;
    const NAME: &'static str = "dflat_entry";
}

/// A value that the caller gives: `dflat_entry_value`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawEntryValue<'a> {
    kind: i32,
    integer: i64,
    number: f64,
    text: Text<'a>,
    bytes: Bytes<'a>,
}

impl RawEntryValue<'_> {
    fn get(&self) -> Result<Value> {
        let text = || self.text.get("text");
        let bytes = || self.bytes.get("bytes");
        Ok(match self.kind {
            number::ENTRY_BOOL => Value::Bool(self.integer != 0),
            number::ENTRY_INT64 => Value::I64(self.integer),
            number::ENTRY_UINT64 => Value::U64(self.integer.cast_unsigned()),
            number::ENTRY_FLOAT => Value::F32(self.number as f32),
            number::ENTRY_DOUBLE => Value::F64(self.number),
            number::ENTRY_TEXT => Value::Text(text()?.into()),
            number::ENTRY_CODABLE => Value::Codable(bytes()?.into()),
            number::ENTRY_FLATBUFFERS => Value::FlatBuffers {
                version: text()?.into(),
                bytes: bytes()?.into(),
            },
            kind => return Err(invalid(format!("value: {kind} is no kind of an entry"))),
        })
    }
}

/// A value that the library gives, with the same members.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct GivenEntryValue {
    kind: i32,
    integer: i64,
    number: f64,
    text: Given,
    bytes: Given,
}

impl GivenEntryValue {
    const NONE: Self = Self {
        kind: 0,
        integer: 0,
        number: 0.0,
        text: Given::text(""),
        bytes: Given::text(""),
    };

    fn of(value: &Value) -> Self {
        let none = Self::NONE;
        let integer = |kind, integer| Self {
            kind,
            integer,
            ..none
        };
        let number = |kind, number| Self {
            kind,
            number,
            ..none
        };
        match value {
            Value::Bool(value) => integer(number::ENTRY_BOOL, (*value).into()),
            Value::I64(value) => integer(number::ENTRY_INT64, *value),
            Value::U64(value) => integer(number::ENTRY_UINT64, value.cast_signed()),
            Value::F32(value) => number(number::ENTRY_FLOAT, (*value).into()),
            Value::F64(value) => number(number::ENTRY_DOUBLE, *value),
            Value::Text(text) => Self {
                kind: number::ENTRY_TEXT,
                text: Given::text(text),
                ..none
            },
            Value::Codable(bytes) => Self {
                kind: number::ENTRY_CODABLE,
                bytes: Given::bytes(bytes),
                ..none
            },
            Value::FlatBuffers { version, bytes } => Self {
                kind: number::ENTRY_FLATBUFFERS,
                text: Given::text(version),
                bytes: Given::bytes(bytes),
                ..none
            },
        }
    }
}

/// The function of `dflat_entry_callback`: the key, its value or NULL, and whether it is the first
/// value of a subscription.
type EntryCallback = extern "C" fn(*mut c_void, Given, Option<&GivenEntryValue>, i32);

fn space(workspace: In<'_, WorkspaceHandle>, name: Text<'_>) -> Result<Dictionary> {
    let dictionary = workspace.get()?.0.dictionary();
    Ok(match name.get("space")? {
        "" => (**dictionary).clone(),
        name => dictionary.namespace(name),
    })
}

fn deliver(callback: &KeptCallback<EntryCallback>, event: &Event) {
    callback.run(|call, context| {
        let value = event.value.as_ref().map(GivenEntryValue::of);
        let key = Given::text(&event.key);
        call(context, key, value.as_ref(), event.is_initial.into());
    });
}

export! {
    fn dflat_dictionary_table(table: OutHandle<'_, TableHandle>) {
        table.begin()?;
        table.set(TableHandle(TABLE));
    }

    fn dflat_dictionary_get(
        workspace: In<'_, WorkspaceHandle>,
        transaction: Lent<'_, TransactionHandle>,
        space: Text<'_>,
        key: Text<'_>,
        entry: OutHandle<'_, EntryHandle>,
    ) {
        entry.begin()?;
        let dictionary = self::space(workspace, space)?;
        let key = key.get("key")?;
        let value = match transaction.is_none() {
            true => dictionary.get(key)?,
            false => transaction.get()?.0.keys(&dictionary).get(key)?,
        };
        if let Some(value) = value {
            entry.set(EntryHandle(value));
        }
    }

    fn dflat_dictionary_set(
        workspace: In<'_, WorkspaceHandle>,
        transaction: Lent<'_, TransactionHandle>,
        space: Text<'_>,
        key: Text<'_>,
        value: List<'_, RawEntryValue<'_>>,
    ) {
        let dictionary = self::space(workspace, space)?;
        let key = key.get("key")?;
        let value = match value.is_none() {
            true => None,
            false => value.get(1, "value")?.first().map(RawEntryValue::get).transpose()?,
        };
        match transaction.is_none() {
            true => {
                let _order = waits_for_calls();
                dictionary.set(key, value)?;
            }
            false => transaction.get()?.0.keys(&dictionary).set(key, value.as_ref())?,
        }
    }

    fn dflat_dictionary_each(
        workspace: In<'_, WorkspaceHandle>,
        space: Text<'_>,
        prefix: Text<'_>,
        callback: Callback<EntryCallback>,
    ) {
        let callback = callback.kept("callback")?;
        let entries = self::space(workspace, space)?.entries(prefix.get("prefix")?)?;
        for (key, value) in entries {
            let value = Some(value);
            let is_initial = true;
            let event = Event { key, value, is_initial };
            deliver(&callback, &event);
        }
    }

    fn dflat_dictionary_subscribe(
        workspace: In<'_, WorkspaceHandle>,
        space: Text<'_>,
        key: Text<'_>,
        flags: u32,
        callback: Callback<EntryCallback>,
        subscription: OutHandle<'_, SubscriptionHandle>,
    ) {
        subscription.begin()?;
        let callback = callback.kept("callback")?;
        let key = key.get("key")?.into();
        let pattern = match flags {
            0 => Pattern::Key(key),
            number::DICTIONARY_PREFIX => Pattern::Prefix(key),
            _ => return Err(invalid(format!("flags: {flags:#x} has an unknown flag"))),
        };
        let function = Box::new(move |event: Event| deliver(&callback, &event));
        let keys = self::space(workspace, space)?.subscribe(pattern, function)?;
        subscription.set(SubscriptionHandle::Keys(keys));
    }

    fn dflat_dictionary_remove_all(workspace: In<'_, WorkspaceHandle>, space: Text<'_>) {
        let _order = waits_for_calls();
        self::space(workspace, space)?.remove_all()?;
    }

    fn dflat_dictionary_synchronize(workspace: In<'_, WorkspaceHandle>) {
        let _order = waits_for_calls();
        workspace.get()?.0.dictionary().synchronize()?;
    }
}

export_release! {
    fn dflat_entry_read(entry: In<'_, EntryHandle>, value: Out<'_, GivenEntryValue>) {
        value.begin("value", GivenEntryValue::NONE)?;
        value.set(GivenEntryValue::of(&entry.get()?.0));
    }

    fn dflat_entry_release(entry: Owned<EntryHandle>) {
        drop(entry.take()?);
    }
}
