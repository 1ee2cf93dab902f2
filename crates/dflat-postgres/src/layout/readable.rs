//! Views for administrators, which show keys as text.

use super::Schema;
use super::names::quoted_text;

/// The statement that creates the function that shows a key. It decodes the bytes that
/// `dflat_model::key` makes.
pub(super) fn create_function(schema: &Schema) -> String {
    let name = schema.relation("dflat__readable");
    format!("CREATE OR REPLACE FUNCTION {name}(key bytea) {FUNCTION}")
}

/// The statement that creates the view of a table.
pub(super) fn create_view(schema: &Schema, table: &str) -> String {
    let view = schema.relation(&Schema::readable(table));
    let relation = schema.relation(table);
    let function = schema.relation("dflat__readable");
    let comment = quoted_text(&format!("the keys of {table} as text"));
    format!(
        "CREATE VIEW {view} AS SELECT rowid, {function}(key || coalesce(rest, ''::bytea)) AS key, \
         length(p) AS bytes FROM {relation}; COMMENT ON VIEW {view} IS {comment}"
    )
}

/// The first byte of a value tells its kind; that of an integer, its sign and its length.
const FUNCTION: &str = r"RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $f$
DECLARE
  place integer := 0;
  tag integer;
  count integer;
  size numeric;
  bits bytea;
  raw bytea;
  part text;
  shown text := '';
BEGIN
  WHILE place < length(key) LOOP
    tag := get_byte(key, place);
    place := place + 1;
    bits := NULL;
    IF tag = 1 THEN
      part := 'NULL';
    ELSIF tag = 32 THEN
      raw := ''::bytea;
      LOOP
        count := position('\x00'::bytea IN substring(key FROM place + 1));
        IF count = 0 THEN RETURN NULL; END IF;
        raw := raw || substring(key FROM place + 1 FOR count - 1);
        place := place + count;
        EXIT WHEN place >= length(key) OR get_byte(key, place) <> 255;
        raw := raw || '\x5c30'::bytea;
        place := place + 1;
      END LOOP;
      part := convert_from(raw, 'UTF8');
    ELSIF tag BETWEEN 3 AND 19 OR tag = 48 THEN
      count := CASE tag WHEN 48 THEN 8 ELSE abs(tag - 11) END;
      size := 0;
      FOR step IN place .. place + count - 1 LOOP
        size := size * 256
          + CASE WHEN tag < 11 THEN 255 - get_byte(key, step) ELSE get_byte(key, step) END;
      END LOOP;
      place := place + count;
      part := CASE WHEN tag < 11 THEN -size ELSE size END::text;
      IF place < length(key) AND get_byte(key, place) = 240 THEN
        bits := substring(key FROM place + 2 FOR 8);
        place := place + 9;
      END IF;
    ELSIF tag IN (2, 20) THEN
      bits := substring(key FROM place + 1 FOR 8);
      place := place + 8;
    ELSE
      RETURN NULL;
    END IF;
    IF bits IS NOT NULL THEN
      size := 0;
      FOR step IN 0 .. 7 LOOP
        size := size * 256
          + CASE WHEN get_byte(bits, 0) < 128 THEN 255 - get_byte(bits, step)
                 ELSE get_byte(bits, step) END;
      END LOOP;
      size := size - 9223372036854775808;
      count := div(size, 4503599627370496);
      size := size - count::numeric * 4503599627370496;
      part := CASE
        WHEN count = 2047 THEN 'Infinity'
        WHEN count = 0 THEN (size::float8 / 4503599627370496 * 2.2250738585072014e-308)::text
        ELSE ((1 + size::float8 / 4503599627370496) * power(2::float8, count - 1023))::text
        END;
      IF get_byte(bits, 0) < 128 THEN part := '-' || part; END IF;
    END IF;
    shown := shown || ', ' || part;
  END LOOP;
  RETURN substr(shown, 3);
END $f$";
