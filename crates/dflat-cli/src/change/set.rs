//! New values of fields of one object.

use dflat_engine::fetch::KeyParts;
use dflat_engine::transaction::Outcome as Submitted;
use dflat_model::Value;
use dflat_workspace::{Error, ErrorKind, JsonType, Operation};
use serde::de::DeserializeSeed;

use super::assign::assign;
use super::{perform, report};
use crate::arguments::SetArguments;
use crate::failure::{Failure, Found, Outcome, note};
use crate::file::OpenFile;
use crate::mistake::nearest;
use crate::object::keys;

/// Sets fields.
pub(crate) fn set(arguments: &SetArguments) -> Outcome {
    let file = OpenFile::write_existing(&arguments.file, arguments.write.dry_run)?;
    let table = &file.types.to_write(&arguments.type_name)?.table.clone();
    let parts = table.primary_key.len().min(arguments.rest.len());
    let (key, assignments) = arguments.rest.split_at(parts);
    let keys = keys(table, key)?;
    if assignments.is_empty() {
        return Err(Failure::usage("there is no assignment `field=value`"));
    }
    let key_parts: KeyParts<'_> = keys.iter().flatten().map(Value::as_ref).collect();
    let mut refused = None;
    let outcome = perform(&file.workspace, table, |context| {
        let Some(object) = context.source().get(table, &key_parts)? else {
            return Ok(None);
        };
        let changed = with_assignments(table, object.payload(), assignments);
        let payload = changed.map_err(|failure| {
            refused = Some(failure);
            Error::new(ErrorKind::InvalidArgument, "an assignment is wrong")
        })?;
        let operation = Operation::Update {
            base: &object,
            payload: &payload,
        };
        Ok(Some(context.submit(table, operation, None)?))
    });
    if let Some(refused) = refused {
        return Err(refused);
    }
    let outcome = outcome?;
    file.close()?;
    let counts = match outcome {
        None => {
            let (name, key) = (&table.type_name, key.join(", "));
            note(&format!("there is no {name} with the key {key}"));
            return Ok(Found::No);
        }
        Some(Submitted::Identity(_)) => [("updated", 0), ("unchanged", 1)],
        Some(_) => [("updated", 1), ("unchanged", 0)],
    };
    report(&arguments.write, &counts)?;
    Ok(Found::Yes)
}

/// A payload with new values.
fn with_assignments(
    table: &dflat_model::Table,
    payload: &[u8],
    assignments: &[String],
) -> Result<Vec<u8>, Failure> {
    let ty = JsonType::of(table);
    let wrong = |error: serde_json::Error| {
        let error = error.to_string();
        let help =
            nearest(table, &error).map_or_else(String::new, |help| format!("\nhelp: {help}"));
        Failure::usage(format!("{error}{help}"))
    };
    let mut json = serde_json::to_value(ty.value(payload)).map_err(wrong)?;
    for assignment in assignments {
        let Some((path, value)) = assignment.split_once('=') else {
            return Err(Failure::usage(format!(
                "`{assignment}` is no assignment `field=value`"
            )));
        };
        assign(table, &mut json, path, value)?;
    }
    ty.deserialize(json).map_err(wrong)
}
