//! The table of all diagnostics: a stable code, what it says, and why.
//!
//! A code never changes its meaning, and a retired one is not used again: people search for them.

/// A kind of diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code {
    /// The stable name, such as `E0030`.
    pub name: &'static str,
    /// What it says, in one line.
    pub summary: &'static str,
    /// Why it is one, and what to do.
    pub explanation: &'static str,
}

impl Code {
    /// Finds a code by its name, in either case.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        CODES
            .iter()
            .copied()
            .find(|code| code.name.eq_ignore_ascii_case(name))
    }
}

/// Declares codes, and the list of them.
macro_rules! codes {
    ($(#[$docs:meta])* $($constant:ident $name:literal $summary:literal $explanation:literal)*) => {
        $(pub(crate) const $constant: &Code =
            &Code { name: $name, summary: $summary, explanation: $explanation };)*
        $(#[$docs])*
        pub const CODES: &[&Code] = &[$($constant),*];
    };
}

pub(crate) use codes;

codes! {
    /// All codes of what can be wrong with a schema, in order.
    UNEXPECTED_CHARACTER "E0001" "a character that belongs to no token"
        "The schema language is written in ASCII: names consist of letters, digits and `_`, and do not \
         begin with a digit. Other characters may stand in comments and in strings only."
    UNTERMINATED_COMMENT "E0002" "a comment without its end"
        "A comment that begins with `/*` ends with the next `*/`. Comments do not nest."
    UNTERMINATED_STRING "E0003" "a string without its end"
        "A string ends with the quote it began with, on the same line. Write `\\n` for a line break."
    MALFORMED_STRING "E0004" "a string with an unknown escape or bytes that are no text"
        "The escapes are `\\n`, `\\t`, `\\r`, `\\b`, `\\f`, `\\\"`, `\\'`, `\\\\`, `\\/`, `\\xHH` and `\\uHHHH`. A character \
         above U+FFFF is written as itself or as two `\\u` surrogates. The bytes must be UTF-8."
    MALFORMED_NUMBER "E0005" "a number that cannot be read"
        "Integers are decimal (`150`) or hexadecimal (`0xFF`), floats have a point or an exponent \
         (`1.5`, `1e3`, `0x1.8p3`). No letter may follow at once."
    SYNTAX "E0010" "something else was expected here"
        "The text does not follow the grammar of the schema language. After such an error the compiler \
         goes on with the next field or declaration, so later errors are usually real."
    INCLUDE_AFTER_DECLARATION "E0011" "an `include` behind a declaration"
        "All `include` lines stand before the first namespace, type or other declaration of a file, as \
         `flatc` demands."
    LIMIT "E0012" "larger than any sensible schema"
        "A schema file may have 1 MiB, a compilation 16 MiB in 1,000 files \
         with 10,000 `include` lines and 65,535 types, a name 1,024 bytes."
    FILE_NOT_FOUND "E0020" "a schema file that does not exist"
        "A requested file is looked up as given. An included file is looked up beside the file that \
         includes it, then in the include directories, in their order."
    FILE_UNREADABLE "E0021" "a schema file that cannot be read"
        "The file exists, but reading it failed, or its bytes are not UTF-8."
    DUPLICATE_TYPE "E0030" "a type defined twice"
        "Enums, unions, structs and tables of one namespace share one set of names, over all files of \
         a compilation. Rename one, or put it into another namespace."
    DUPLICATE_FIELD "E0031" "a field defined twice"
        "Two fields of one struct or table have the same name."
    DUPLICATE_ENUM_VALUE "E0032" "an enum value defined twice"
        "Two values of an enum have the same name or the same number. A number could not be turned \
         back into one name."
    DUPLICATE_UNION_MEMBER "E0033" "a union member defined twice"
        "Two members of a union have the same name or the same type code. A member is named after the \
         last part of its type unless it has an alias: `Second: Weapon`. `NONE` is the name of the \
         empty union, code 0."
    UNION_TAG_CLASH "E0034" "a field with the name of a union's type code"
        "A union field `x` brings a hidden field `x_type` that holds the type code. No other field of \
         the table may have that name."
    UNKNOWN_TYPE "E0035" "a type that is not defined"
        "The name is neither built in nor defined in this file or an included one. Names are looked up in \
         the current namespace, then in those around it."
    RESERVED_NAME "E0036" "a type with a built-in name"
        "A type cannot be named like a built-in one (`int`, `string`, ..): no field could use it. Fields may \
         have any name."
    NESTED_VECTOR "E0040" "a vector of vectors"
        "FlatBuffers has no vectors of vectors. Wrap the inner one in a table: `table Row { cells: [int]; }`."
    ARRAY_OUTSIDE_STRUCT "E0041" "a fixed-length array outside of a struct"
        "Arrays like `[float:3]` stand in structs only. Use a vector, or a struct around the array."
    ARRAY_LENGTH "E0042" "an array length that is out of range"
        "The length of a fixed-length array is from 1 to 65,535."
    NOT_FIXED_SIZE "E0043" "a struct field without a fixed size"
        "A struct is stored in line and has one size for ever, so it holds numbers, booleans, enums, other \
         structs and fixed-length arrays of these. For the rest, use a table."
    RECURSIVE_STRUCT "E0044" "a struct that contains itself"
        "A struct that contains itself, directly or through others, would be infinitely large. Tables can \
         be recursive."
    EMPTY_STRUCT "E0045" "a struct without fields"
        "A struct of size 0 cannot be stored."
    TOO_LARGE "E0046" "a struct or table that is too large for the format"
        "FlatBuffers counts in a table's header with 16 bits: at most 32,765 slots and 65,535 bytes in \
         line. A struct is held to the same size."
    FORCE_ALIGN "E0047" "an alignment that is not possible"
        "`force_align` is a power of two, at least the natural alignment and at most 16."
    UNION_MEMBER_TYPE "E0048" "a union member that is no table, struct or string"
        "A union holds tables, structs and strings. Wrap anything else in a table. A string needs an \
         alias: `Text: string`."
    ENUM_BASE "E0050" "an enum whose base is not an integer type"
        "An enum is stored as its base type, one of `byte`, `ubyte`, `short`, `ushort`, `int`, `uint`, `long`, \
         `ulong`. Without one it is `int`."
    ENUM_VALUE_RANGE "E0051" "an enum value or type code that does not fit"
        "The value must fit the enum's base type. A value without a number is one more than the one \
         before. A union's type codes are from 1 to 255."
    BIT_FLAG_RANGE "E0052" "a bit flag beyond the base type"
        "With `bit_flags`, a value is the position of its bit, from 0. The bit must exist in the base \
         type; in a signed one the highest is the sign and cannot be used."
    NO_VALUES "E0053" "an enum or union without values"
        "No object could hold it."
    DEFAULT_TYPE "E0060" "a default of another type than its field"
        "The default must be a value of the field's type: a number, `true` or `false`, a string, a value \
         of the enum, `[]` for a vector, or `null` for an optional number."
    DEFAULT_RANGE "E0061" "a default that does not fit its type"
        "The number is outside of what the field's type holds."
    DEFAULT_NOT_IN_ENUM "E0062" "a default that is not a value of its enum"
        "A field with an enum type needs a default from that enum. Only `bit_flags` may combine several: \
         `\"Red Blue\"`."
    NO_ZERO_IN_ENUM "E0063" "an enum field without a default, whose enum has no zero"
        "An absent field reads as 0 unless it has a default, and 0 is not a value of this enum. Give the \
         field a default, make it optional with `= null`, or give the enum a value 0."
    DEFAULT_UNSUPPORTED "E0064" "a default on a field that can have none"
        "Structs, tables, unions and the fields of structs have no defaults; a vector's can only be `[]`."
    UNKNOWN_ATTRIBUTE "E0070" "an attribute that is not defined"
        "Dflat's attributes are `primary`, `indexed`, `unique` and `v`; FlatBuffers' are known too. A name of \
         your own must be declared (`attribute \"priority\";`) and is ignored then. A mistyped `primary` would \
         change what is stored; therefore this is an error."
    ATTRIBUTE_MISPLACED "E0071" "an attribute that cannot stand here"
        "The attribute has no meaning on this kind of field or type."
    ATTRIBUTE_VALUE "E0072" "an attribute with a wrong value"
        "Some attributes need a value (`id: 3`), some must not have one, some accept only a few."
    ATTRIBUTE_TWICE "E0073" "an attribute given twice"
        "It is not clear which of the two counts."
    ID_INCOMPLETE "E0074" "`id` on some fields only"
        "Either all fields of a table have an `id`, or none has."
    ID_NOT_CONSECUTIVE "E0075" "ids that are not 0, 1, 2, .."
        "The ids of a table's fields are consecutive from 0. A union, and a vector of unions, takes two: its \
         `id` is the second, the one before belongs to its type code."
    SEVERAL_KEYS "E0076" "two `key` fields in one table"
        "FlatBuffers sorts vectors of tables by one key. For Dflat's primary key, which may have several \
         parts, use `primary`."
    UNSUPPORTED_ATTRIBUTE "E0077" "an attribute that changes the format in a way Dflat cannot read"
        "64-bit offsets (`offset64`, `vector64`) are not supported."
    ROOT_NOT_TABLE "E0080" "a `root_type` that is not a table"
        "Dflat stores objects of tables. Wrap other types in a table."
    SEVERAL_ROOTS "E0081" "two `root_type` lines in one file"
        "A file has one root type. Put the other table into a file of its own, and include it."
    FILE_IDENTIFIER "E0082" "a file identifier that is not four bytes long"
        "FlatBuffers stores the identifier in exactly four bytes."
    NO_PRIMARY_KEY "E0090" "a root table without a primary key"
        "Dflat finds, updates and deletes objects by their primary key. Mark one or more fields with \
         `primary`: `name: string (primary);`."
    KEY_TYPE "E0091" "a key or an index on a type that has no order"
        "Numbers, booleans, enums and strings can be `primary`, `indexed` and `unique`. A union can be `indexed` or \
         `unique`, which means its type code. Vectors, structs and tables cannot; fields inside a struct or \
         table can be `indexed`."
    PRIMARY_MISPLACED "E0092" "`primary` on a field that cannot be part of a key"
        "The primary key must be there as long as the object. A deprecated field is not kept, a union's type code \
         may be unknown to older code, an optional number may be absent."
    STORAGE_NAME_TWICE "E0093" "two storage tables with one name"
        "A root table is stored under its namespaces and name in lower case, joined with `__`, plus `_v` and \
         its version; an index adds `__` and its path. Rename one of the two, or give it a version: \
         `table Post (v: \"2\")`."
    VERSION "E0094" "a version that cannot be part of a table name"
        "The version `v:` consists of letters, digits, `_` and `.`, and has at least one of them."
    TOO_MANY_INDEXES "E0095" "more indexes than a table can bear"
        "An `indexed` field of a nested table is indexed once for every path that leads to it from the root. \
         There are too many paths. Index fewer fields, or make nested tables less entangled."
    STORAGE_NAME_RESERVED "E0096" "a storage name that belongs to SQLite or Dflat"
        "Names that begin with `sqlite_` are SQLite's own, names that begin with `dflat__` are Dflat's. Rename \
         the table or its namespace."
    INDEX_SYNTAX "E0097" "an index that cannot be read"
        "On a table, `indexed` and `unique` take indexes: `\"list_id, due\"`, several separated by `;`, of some \
         objects with a condition, `\"due where done == false\"`. On a field they take the condition alone. A \
         condition compares paths with values by `==`, `!=`, `<`, `<=`, `>`, `>=`, `in [..]`, `is null` and `is not \
         null`, joined by `and`, `or`, `not` and parentheses. An index has up to 16 fields."
    INDEX_PATH "E0098" "an index on something that has no order, or is not there"
        "The paths of an index start at the table that declares it and lead through structs, tables and members of \
         unions to a number, a boolean, an enum, a string, or to a union, which means its type code: \
         `content.TextContent.text`. They enter no vectors."
    INDEX_CONDITION "E0099" "a condition that compares what cannot be equal"
        "Numbers are compared with numbers that the field can hold, strings with strings in single quotes, booleans \
         with `true` and `false`, enums with their values, unions with their members or `NONE`."
    INDEX_TWICE "E0100" "an index, or a field of one, that is there twice"
        "The second would hold the same again. One that is `unique` serves queries, too."
    SERVICE_IGNORED "N0001" "a service, which is ignored"
        "Dflat stores objects and calls no remote procedures. An `rpc_service` is parsed, so that a schema can be \
         shared with programs that use it, and nothing is generated for it."
}
