//! The statements that scan a range of a key, as SQL text.

use dflat_model::Direction;

use crate::layout::ddl::{IndexNames, Names};
use crate::layout::key_range::{KeyShape, Lower, ScanContent, Upper};

/// The rows of a range, in the order of the key's parts that are not fixed, then by row id; or
/// their numbers. `None` if the statement names an index or a part that the table lacks.
pub(super) fn scan_key(names: &Names, shape: KeyShape) -> Option<String> {
    if matches!(shape.content, ScanContent::Count | ScanContent::Groups) {
        return count_key(names, shape);
    }
    let Some(position) = shape.index else {
        let from = select(&names.main, "rowid", &names.key_columns, shape.content);
        return finished(from, &names.key_columns, "rowid", shape);
    };
    let index = names.indexes.get(position)?;
    let columns = qualified(index, "i");
    let is_ordered = shape.constant_count() < columns.len();
    if shape.direction == Direction::Descending && shape.ties && is_ordered {
        return descending(names, index, &columns, shape);
    }
    let mut from = select(
        &format!("{} AS i", index.table),
        "i.rowid",
        &columns,
        shape.content,
    );
    if shape.content == ScanContent::Payload {
        from.push_str(&join_main(names, "i"));
    }
    finished(from, &columns, "i.rowid", shape)
}

/// The number of rows of a range, or of each of its groups, in any order.
fn count_key(names: &Names, shape: KeyShape) -> Option<String> {
    let (table, row_id, columns) = match shape.index {
        None => (names.main.clone(), "rowid", names.key_columns.clone()),
        Some(position) => {
            let index = names.indexes.get(position)?;
            let table = format!("{} AS i", index.table);
            (table, "i.rowid", qualified(index, "i"))
        }
    };
    let values = match shape.content {
        ScanContent::Groups => columns.get(..=shape.prefix_count).unwrap_or(&columns),
        _ => &[],
    };
    let mut sql = String::from("SELECT count(*)");
    push_list(&mut sql, ", ", ", ", values);
    sql.push_str(" FROM ");
    sql.push_str(&table);
    push_list(
        &mut sql,
        " WHERE ",
        " AND ",
        &conditions(&columns, row_id, shape)?,
    );
    push_list(&mut sql, " GROUP BY ", ", ", values);
    Some(sql)
}

/// The columns of an index under an alias of its table.
fn qualified(index: &IndexNames, alias: &str) -> Vec<String> {
    let columns = index.columns.iter();
    columns.map(|column| format!("{alias}.{column}")).collect()
}

/// The rows of an index table with their payloads. `CROSS JOIN` fixes the order of the loops. The
/// scan uses the row id of the index table, by which its index is ordered: with that of the main
/// table, SQLite would sort.
fn join_main(names: &Names, alias: &str) -> String {
    format!(" CROSS JOIN {} AS m ON m.rowid = {alias}.rowid", names.main)
}

/// The beginning of a statement.
fn select(table: &str, row_id: &str, columns: &[String], content: ScanContent) -> String {
    let of_index = row_id != "rowid";
    let wanted = match content {
        ScanContent::Payload if of_index => format!("{row_id}, m.p"),
        ScanContent::Payload => format!("{row_id}, p"),
        ScanContent::Values => format!("{row_id}, {}", columns.join(", ")),
        _ => format!("{row_id}, NULL"),
    };
    format!("SELECT {wanted} FROM {table}")
}

/// A statement with its conditions and its order. `columns` are those of the key.
fn finished(mut sql: String, columns: &[String], row_id: &str, shape: KeyShape) -> Option<String> {
    push_list(
        &mut sql,
        " WHERE ",
        " AND ",
        &conditions(columns, row_id, shape)?,
    );
    let mut order = ordered(columns, shape);
    if shape.ties {
        order.push(row_id.to_owned());
    }
    push_list(&mut sql, " ORDER BY ", ", ", &order);
    Some(sql)
}

/// The rows of a range of an index in descending order, where rows with equal values come by
/// ascending row id.
///
/// No index has this order. SQLite would read all rows of one value, sort them with their payloads,
/// and only then return the first. So this statement reads the different values in descending
/// order, and the rows of each value in ascending order; it sorts nothing. A test checks that.
fn descending(
    names: &Names,
    index: &IndexNames,
    columns: &[String],
    shape: KeyShape,
) -> Option<String> {
    let own = qualified(index, "e");
    let mut values = format!(
        "SELECT DISTINCT {} FROM {} AS i",
        columns.join(", "),
        index.table
    );
    push_list(&mut values, " WHERE ", " AND ", &range(columns, shape)?);
    let mut order = ordered(columns, shape);
    if let (Some(first), Some(column)) = (order.first_mut(), columns.get(shape.constant_count())) {
        // If the order has the very terms of the result, SQLite makes groups of the rows instead,
        // and returns a value only after it has read all entries with that value.
        *first = format!("likely({column}) DESC");
    }
    push_list(&mut values, " ORDER BY ", ", ", &order);
    let mut sql = select(
        // Without the limit, SQLite may ignore the order of a subquery.
        &format!("({values} LIMIT -1) AS v CROSS JOIN {} AS e", index.table),
        "e.rowid",
        &own,
        shape.content,
    );
    let same = index.columns.iter().zip(&own);
    let same: Vec<String> = same
        .map(|(column, own)| format!("{own} IS v.{column}"))
        .collect();
    push_list(&mut sql, " ON ", " AND ", &same);
    if shape.content == ScanContent::Payload {
        sql.push_str(&join_main(names, "e"));
    }
    if shape.after {
        sql.push_str(" WHERE e.rowid > ?");
    }
    Some(sql)
}

fn push_list(sql: &mut String, word: &str, separator: &str, items: &[String]) {
    if !items.is_empty() {
        sql.push_str(word);
        sql.push_str(&items.join(separator));
    }
}

/// The conditions of a range.
fn conditions(columns: &[String], row_id: &str, shape: KeyShape) -> Option<Vec<String>> {
    let mut conditions = range(columns, shape)?;
    if shape.after {
        conditions.push(format!("{row_id} > ?"));
    }
    Some(conditions)
}

/// The conditions of a range, without that on row ids.
fn range(columns: &[String], shape: KeyShape) -> Option<Vec<String>> {
    let (fixed, open) = columns.split_at_checked(shape.prefix_count)?;
    let equals = if shape.null_in_prefix { "IS" } else { "=" };
    let mut conditions: Vec<String> = fixed
        .iter()
        .map(|column| format!("{column} {equals} ?"))
        .collect();
    if let Some(next) = open.first() {
        conditions.extend(lower_condition(next, shape.lower));
        conditions.extend(upper_condition(next, shape.upper));
    }
    Some(conditions)
}

/// The terms of the order, without the row id.
fn ordered(columns: &[String], shape: KeyShape) -> Vec<String> {
    let direction = match shape.direction {
        Direction::Ascending => "",
        Direction::Descending => " DESC",
    };
    columns
        .iter()
        .skip(shape.constant_count())
        .map(|column| format!("{column}{direction}"))
        .collect()
}

fn lower_condition(column: &str, lower: Lower) -> Option<String> {
    Some(match lower {
        Lower::None => return None,
        Lower::NotNull => format!("{column} IS NOT NULL"),
        Lower::Included => format!("{column} >= ?"),
        Lower::Excluded => format!("{column} > ?"),
    })
}

fn upper_condition(column: &str, upper: Upper) -> Option<String> {
    Some(match upper {
        Upper::None => return None,
        Upper::Null => format!("{column} IS NULL"),
        Upper::Included => format!("{column} <= ?"),
        Upper::Excluded => format!("{column} < ?"),
    })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::ops::Bound;

    use dflat_engine::storage::{Key, KeyScan};
    use dflat_model::{
        Field, FieldKind, IndexDescriptor, Scalar, Step, TableDescriptor, Value, ValueRef,
    };

    use super::*;
    use crate::ffi::{Access, Connection, Param};
    use crate::layout::ddl::create_index;
    use crate::layout::key_range::segments;
    use crate::layout::sample::table;

    fn field(offset: u16) -> Field {
        Field {
            name: Cow::Borrowed("field"),
            steps: Cow::Owned(vec![Step::Field(offset)]),
            kind: FieldKind::Scalar(Scalar::I64),
            default: Value::Int(0),
        }
    }

    /// The steps of SQLite's plan, and how often the statement asks whether to go on, up to its
    /// first row.
    fn cost(connection: &mut Connection, sql: &str) -> (Vec<String>, usize) {
        let mut steps = Vec::new();
        let explain = format!("EXPLAIN QUERY PLAN {}", sql.replace('?', "0"));
        connection
            .execute_with(&explain, |columns| {
                steps.push(columns.value(3)?.to_value().to_string());
                Ok(())
            })
            .unwrap();
        let mut asked = 0;
        let statement = connection.prepare(sql).unwrap();
        let mut proceed = || {
            asked += 1;
            std::ops::ControlFlow::Continue(())
        };
        let visit = |_: crate::ffi::Columns<'_>| Ok(std::ops::ControlFlow::Break(()));
        let params = vec![Param::Value(ValueRef::Int(0)); sql.matches('?').count()];
        connection
            .query_while(statement, params, &mut proceed, visit)
            .unwrap();
        (steps, asked)
    }

    #[test]
    fn descending_scan_reads_no_row_that_it_does_not_return() {
        let indexed = |fields: Vec<Field>| TableDescriptor {
            indexes: vec![IndexDescriptor {
                fields: fields.into(),
                unique: false,
                condition: None,
            }]
            .into(),
            ..(*table()).clone()
        };
        for table in [indexed(vec![field(6)]), indexed(vec![field(6), field(8)])] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a.db");
            std::fs::write(&path, []).unwrap();
            let mut connection = Connection::open(&path, Access::ReadWrite, None, None).unwrap();
            let names = Names::new(&table);
            let index = &names.indexes[0];
            let values = ["0"].repeat(index.columns.len()).join(", ");
            let mut run = |sql: &str| connection.execute_with(sql, |_| Ok(())).unwrap();
            run("CREATE TABLE page (rowid INTEGER PRIMARY KEY, __pk0 INTEGER, p BLOB)");
            create_index(&table, 0, false)
                .unwrap()
                .iter()
                .for_each(|sql| run(sql));
            let count =
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)";
            run(&format!(
                "INSERT INTO page {count} SELECT i, i, x'00' FROM n"
            ));
            run(&format!(
                "INSERT INTO {} {count} SELECT i, {values} FROM n",
                index.table
            ));
            let prefixes = [vec![], vec![Value::Int(0)]];
            let prefixes = prefixes.iter().take(table.indexes[0].fields.len());
            let contents = [
                ScanContent::Payload,
                ScanContent::Values,
                ScanContent::Nothing,
            ];
            for (prefix, content) in prefixes.flat_map(|prefix| contents.map(|c| (prefix, c))) {
                let scan = KeyScan {
                    key: Key::Index(0),
                    prefix,
                    lower: Bound::Excluded(&Value::Null),
                    upper: Bound::Unbounded,
                    direction: Direction::Descending,
                    after: None,
                };
                let [Some(segment), None] = segments(&table, &scan, content).unwrap() else {
                    panic!("one range");
                };
                let sql = scan_key(&names, segment.shape).unwrap();
                let (steps, asked) = cost(&mut connection, &sql);
                assert!(
                    !steps.iter().any(|step| step.contains("TEMP B-TREE")),
                    "{steps:?}"
                );
                // Asked once at most: after 128 instructions.
                assert!(asked <= 1, "{sql}: {asked}");
            }
        }
    }
}
