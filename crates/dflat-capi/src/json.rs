//! Payloads from and to JSON, by the descriptors of their tables.

use dflat_engine::Error;
use dflat_workspace::JsonType;
use serde::de::DeserializeSeed;

use crate::boundary::{Bytes, In, OutHandle, Text, export, invalid};
use crate::buffer::BufferHandle;
use crate::table::TableHandle;

fn cannot(what: &str, table: &TableHandle, error: &serde_json::Error) -> Error {
    let name = &table.0.type_name;
    invalid(format!("cannot {what} {name}: {error}"))
}

export! {
    fn dflat_json_write(
        table: In<'_, TableHandle>,
        payload: Bytes<'_>,
        json: OutHandle<'_, BufferHandle>,
    ) {
        json.begin()?;
        let table = table.get()?;
        let value = JsonType::of(&table.0).value(payload.get("payload")?);
        let text = serde_json::to_vec(&value)
            .map_err(|error| cannot("write the JSON of", table, &error))?;
        json.set(BufferHandle(text));
    }

    fn dflat_json_read(
        table: In<'_, TableHandle>,
        json: Text<'_>,
        payload: OutHandle<'_, BufferHandle>,
    ) {
        payload.begin()?;
        let table = table.get()?;
        let mut text = serde_json::Deserializer::from_str(json.get("json")?);
        let read = JsonType::of(&table.0).deserialize(&mut text);
        let read = read.and_then(|read| text.end().map(|()| read));
        let read = read.map_err(|error| cannot("read the JSON of", table, &error))?;
        payload.set(BufferHandle(read));
    }
}
