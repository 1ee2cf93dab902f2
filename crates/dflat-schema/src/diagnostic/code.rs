//! The table of all diagnostics: a stable code, a summary and an explanation.
//!
//! A code never changes its meaning, and a retired code is not used again, because users search for
//! codes.

/// A kind of diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code {
    /// The stable name, such as `E0030`.
    pub name: &'static str,
    /// The summary, in one line.
    pub summary: &'static str,
    /// The explanation: the reason, and what to do.
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
/// All codes of diagnostics about one schema, in order.
    UNEXPECTED_CHARACTER "E0001" "a character that belongs to no token"
        "The schema language is written in ASCII. Names consist of letters, digits and `_`, and do \
         not begin with a digit. Other characters are allowed only in comments and strings. Choose \
         a name in ASCII."
    UNTERMINATED_COMMENT "E0002" "a comment without its end"
        "A comment that begins with `/*` ends with the next `*/`. Comments do not nest."
    UNTERMINATED_STRING "E0003" "a string without its end"
        "A string ends with the quote it began with, on the same line. Write `\\n` for a line \
         break."
    MALFORMED_STRING "E0004" "a string with an unknown escape or with bytes that are not UTF-8"
        "The escapes are `\\n`, `\\t`, `\\r`, `\\b`, `\\f`, `\\\"`, `\\'`, `\\\\`, `\\/`, `\\xHH` \
         and `\\uHHHH`. Write a character above U+FFFF as itself or as two `\\u` surrogates. The \
         bytes must be UTF-8."
    MALFORMED_NUMBER "E0005" "a number that cannot be read"
        "Integers are decimal (`150`) or hexadecimal (`0xFF`). Floats have a point or an exponent \
         (`1.5`, `1e3`, `0x1.8p3`). A number must not be followed directly by a letter."
    SYNTAX "E0010" "a syntax error"
        "The text does not follow the grammar of the schema language. After such an error the \
         compiler goes on with the next field or declaration, so later errors are usually real."
    INCLUDE_AFTER_DECLARATION "E0011" "an `include` after a declaration"
        "All `include` lines come before the first namespace, type or other declaration of a file, \
         as `flatc` demands."
    LIMIT "E0012" "a schema that exceeds a limit"
        "A schema file may have at most 1 MiB, a name 1,024 bytes, and a namespace 32 parts. A \
         compilation may have at most 16 MiB in 1,000 files, with 10,000 `include` lines and 65,535 \
         types. Split the schema."
    FILE_NOT_FOUND "E0020" "a schema file that does not exist"
        "A requested file is looked up by the given path. An included file is looked up beside the \
         file that includes it, then in the include directories, in their order."
    FILE_UNREADABLE "E0021" "a schema file that cannot be read"
        "The file exists, but reading it failed, or its bytes are not UTF-8. Save the file as \
         UTF-8."
    DUPLICATE_TYPE "E0030" "a type defined twice"
        "Enums, unions, structs and tables of one namespace share one set of names, over all files \
         of a compilation. Rename one of the two types, or put it into another namespace. If two \
         files need the same type, put the type into a file of its own that both include."
    DUPLICATE_FIELD "E0031" "a field defined twice"
        "Two fields of one struct or table have the same name. Rename one of them."
    DUPLICATE_ENUM_VALUE "E0032" "an enum value defined twice"
        "Two values of an enum have the same name or the same number. Each number must have one \
         name, because stored numbers are turned back into names."
    DUPLICATE_UNION_MEMBER "E0033" "a union member defined twice"
        "Two members of a union have the same name or the same type code. A member is named after \
         the last part of its type unless it has an alias: `Second: Weapon`. `NONE` is the name of \
         the empty union, code 0."
    UNION_TAG_CLASH "E0034" "a field with the name of a union's type code"
        "A union field `x` adds a hidden field `x_type` that holds the type code. No other field \
         of the table may have that name."
    UNKNOWN_TYPE "E0035" "a type that is not defined"
        "The name is neither built in nor defined in this file or an included one. Names are \
         looked up in the current namespace, then in the namespaces around it. A file sees the \
         types of the files it includes; compiling another file in the same run does not make its \
         types visible. The help suggests a similar type or a missing `include`."
    RESERVED_NAME "E0036" "a type with a built-in name"
        "A type cannot have the name of a built-in type (`int`, `string`, ..), because no field \
         could refer to it. Fields may have any name."
    NESTED_VECTOR "E0040" "a vector of vectors"
        "FlatBuffers has no vectors of vectors. Wrap the inner one in a table: `table Row { cells: \
         [int]; }`."
    ARRAY_OUTSIDE_STRUCT "E0041" "a fixed-length array outside of a struct"
        "Arrays like `[float:3]` are allowed only in structs. Use a vector, or a struct around the \
         array."
    ARRAY_LENGTH "E0042" "an array length that is out of range"
        "The length of a fixed-length array is from 1 to 65,535."
    NOT_FIXED_SIZE "E0043" "a struct field without a fixed size"
        "A struct is stored in line, and its size never changes. So it holds numbers, booleans, \
         enums, other structs and fixed-length arrays of these. Use a table for other types."
    RECURSIVE_STRUCT "E0044" "a struct that contains itself"
        "A struct that contains itself, directly or through others, would be infinitely large. \
         Tables can be recursive."
    EMPTY_STRUCT "E0045" "a struct without fields"
        "A struct of size 0 cannot be stored."
    TOO_LARGE "E0046" "a struct or table that is too large for the format"
        "FlatBuffers uses 16-bit numbers in a table's header, so a table has at most 32,765 slots \
         and 65,535 bytes in line. The size of a struct has the same limit."
    FORCE_ALIGN "E0047" "an invalid alignment"
        "`force_align` is a power of two, at least the natural alignment and at most 16."
    UNION_MEMBER_TYPE "E0048" "a union member that is not a table, struct or string"
        "A union holds tables, structs and strings. Wrap any other type in a table. A string needs \
         an alias: `Text: string`."
    ENUM_BASE "E0050" "an enum whose base is not an integer type"
        "An enum is stored as its base type, one of `byte`, `ubyte`, `short`, `ushort`, `int`, \
         `uint`, `long`, `ulong`. The default base type is `int`."
    ENUM_VALUE_RANGE "E0051" "an enum value or type code that does not fit"
        "The value must fit the enum's base type. A value without a number is one more than the \
         value before it. A union's type codes are from 1 to 255."
    BIT_FLAG_RANGE "E0052" "a bit flag beyond the base type"
        "With `bit_flags`, a value is the position of its bit, from 0. The bit must exist in the \
         base type. In a signed type, the highest bit is the sign and cannot be used."
    NO_VALUES "E0053" "an enum or union without values"
        "No object could hold such an enum or union."
    DEFAULT_TYPE "E0060" "a default of another type than its field"
        "The default must be a value of the field's type: a number, `true` or `false`, a string, a \
         value of the enum, `[]` for a vector, or `null` for an optional number."
    DEFAULT_RANGE "E0061" "a default that does not fit its type"
        "The number is outside of the range of the field's type."
    DEFAULT_NOT_IN_ENUM "E0062" "a default that is not a value of its enum"
        "A field with an enum type needs a default from that enum. Only `bit_flags` may combine \
         several values: `\"Red Blue\"`."
    NO_ZERO_IN_ENUM "E0063" "an enum field without a default, whose enum has no zero"
        "An absent field reads as 0 unless it has a default, and 0 is not a value of this enum. \
         Give the field a default, make it optional with `= null`, or give the enum a value 0."
    DEFAULT_UNSUPPORTED "E0064" "a default on a field that can have none"
        "Structs, tables, unions and the fields of structs have no defaults. The default of a \
         vector can only be `[]`."
    UNKNOWN_ATTRIBUTE "E0070" "an attribute that is not defined"
        "Dflat's attributes are `primary`, `auto`, `indexed`, `unique`, `no_indexes`, `stored`, \
         `time`, `uuid` and `v`; the attributes of FlatBuffers are known too. Declare any other \
         attribute (`attribute \"priority\";`), which is then ignored. An unknown attribute is an error because a mistyped `primary` would \
         change the stored data."
    ATTRIBUTE_MISPLACED "E0071" "an attribute that is not allowed here"
        "The attribute has no meaning on this kind of field or type."
    ATTRIBUTE_VALUE "E0072" "an attribute with a wrong value"
        "Some attributes need a value (`id: 3`), some must not have one, and some accept only \
         certain values."
    ATTRIBUTE_TWICE "E0073" "an attribute given twice"
        "An attribute can have only one value. Remove one of the two."
    ID_INCOMPLETE "E0074" "`id` on some fields only"
        "Either all fields of a table have an `id`, or none has."
    ID_NOT_CONSECUTIVE "E0075" "ids that are not 0, 1, 2, .."
        "The ids of a table's fields are consecutive from 0. A union, and a vector of unions, \
         takes two ids: its own `id`, and the one before it for the type code."
    SEVERAL_KEYS "E0076" "two `key` fields in one table"
        "FlatBuffers sorts vectors of tables by one key. For Dflat's primary key, which may have \
         several fields, use `primary`."
    UNSUPPORTED_ATTRIBUTE "E0077" "an attribute that changes the format in a way Dflat cannot read"
        "64-bit offsets (`offset64`, `vector64`) are not supported."
    ROOT_NOT_TABLE "E0080" "a `root_type` that is not a table"
        "Dflat stores objects of tables. Wrap other types in a table."
    SEVERAL_ROOTS "E0081" "two `root_type` lines in one file"
        "A file has one root type. Dflat also stores the objects of each table with the attribute \
         `stored`: `table Comment (stored) { .. }`."
    FILE_IDENTIFIER "E0082" "a file identifier that is not four bytes long"
        "FlatBuffers stores the identifier in exactly four bytes."
    NO_PRIMARY_KEY "E0090" "a root table without a primary key"
        "Dflat finds, updates and deletes objects by their primary key. Mark one or more fields \
         with `primary`: `name: string (primary);`."
    KEY_TYPE "E0091" "a key or an index on a type that has no order"
        "Numbers, booleans, enums and strings can be `primary`, `indexed` and `unique`. A union \
         can be `indexed` or `unique`, which means its type code. Vectors, structs and tables \
         cannot; fields inside a struct or table can be `indexed`."
    PRIMARY_MISPLACED "E0092" "`primary` on a field that cannot be part of a key"
        "The primary key must exist as long as the object. A deprecated field is not kept, older \
         code may not know a union's type code, and an optional number may be absent."
    STORAGE_NAME_TWICE "E0093" "two storage tables with one name"
        "A root table is stored under its namespaces and name in lower case, joined with `__`, \
         plus `_v` and its version. The name of an index adds `__` and its path. Rename one of the \
         two tables, or give it a version: `table Post (v: \"2\")`."
    VERSION "E0094" "a version that cannot be part of a table name"
        "The version `v:` is not empty and consists of letters, digits, `_` and `.`."
    TOO_MANY_INDEXES "E0095" "too many indexes on a table"
        "An `indexed` field of a nested table has one index for each path that leads to the field \
         from the root table. There are too many such paths. Index fewer fields, or let fewer \
         nested tables refer to one another."
    STORAGE_NAME_RESERVED "E0096" "a storage name that belongs to SQLite or Dflat"
        "Names that begin with `sqlite_` belong to SQLite, and names that begin with `dflat__` \
         belong to Dflat. Rename the table or its namespace."
    INDEX_SYNTAX "E0097" "an index that cannot be read"
        "On a table, the value of `indexed` or `unique` is a list of indexes, separated by `;`. An \
         index is a list of up to 16 fields, `\"list_id, due\"`, and can have a condition, `\"due \
         where done == false\"`. On a field, the value is the condition alone. A condition \
         compares paths with values by `==`, `!=`, `<`, `<=`, `>`, `>=`, `in [..]`, `is null` and \
         `is not null`. `and`, `or`, `not` and parentheses join comparisons."
    INDEX_PATH "E0098" "an index path that does not exist or has no order"
        "A path of an index starts at the table that declares the index and leads through structs, \
         tables and members of unions: `content.TextContent.text`. It ends at a number, a boolean, \
         an enum, a string, or a union, which means the union's type code. It cannot enter a \
         vector."
    INDEX_CONDITION "E0099" "a condition that compares different types"
        "Compare numbers with numbers that the field can hold, strings with strings in single \
         quotes, booleans with `true` and `false`, enums with their values, and unions with their \
         members or `NONE`."
    INDEX_TWICE "E0100" "an index, or a field of an index, declared twice"
        "The second declaration would add nothing. A `unique` index also serves queries, so \
         `indexed` is not needed beside it."
    REQUIRES_ITSELF "E0101" "a table that requires itself"
        "A table with a required field of its own type, directly or through other required \
         tables, has no value, because each value would contain another one. Remove `required` \
         from one of the fields, or use a vector."
    AUTO_KEY "E0102" "an `auto` key that the library cannot assign"
        "`auto` is allowed on the only field of a primary key. `id: ulong (primary, auto);` gives \
         each new object the key after the largest one in the table, and `id: string (primary, \
         auto: \"uuid_v7\");` gives it a UUID of version 7. A new object whose key has its default, \
         0 or the empty string, gets a key, so the field can have no other default."
    TIME "E0103" "a date and time that is not a `long` with a known unit"
        "A field with `time` counts the time since 1970-01-01T00:00:00Z in the unit that the \
         attribute names: `created: long (time: \"milliseconds\");`. The units are `seconds`, \
         `milliseconds`, `microseconds` and `nanoseconds`. The field is a `long`."
    UUID_STRUCT "E0104" "a `uuid` struct of another shape"
        "A UUID is 16 bytes, as two numbers that queries can compare: `struct Uuid (uuid) { high: \
         ulong; low: ulong; }`. The first holds the first eight bytes of the UUID, the second the \
         others; the fields may have other names."
    SERVICE_IGNORED "N0001" "a service, which is ignored"
        "Dflat stores objects and calls no remote procedures. An `rpc_service` is parsed, so that \
         programs that use it can share the schema, and no code is generated for it."
    UNIQUE_INHERITED "W0001" "a stored table whose `unique` values another stored table holds"
        "`indexed` and `unique` also hold where a field contains the table: a table with a field \
         `item: Item` has the indexes of `Item` too, and refuses a second object whose `item` has \
         the same unique value. If this is not intended, write `item: Item (no_indexes);`: the \
         values in this field then have no indexes. Do not add `no_indexes` if Dflat for Swift \
         uses the same file and the values repeat, because it enforces `unique` in every table. \
         If it is intended, declare it on the containing table, which needs no warning: `table \
         Trash (unique: \"item.slug\") { item: Item (no_indexes); }`."
    FLOAT_KEY "W0002" "a primary key of type `float` or `double`"
        "Keys are compared exactly, so a number that was computed in another way, and differs in \
         the last bit, is another key. NaN is no key: an object with it is refused. Use an integer \
         or a string."
    NOTHING_STORED "W0003" "a schema that stores nothing, although a table has a primary key"
        "Only objects of a root table are stored. The root table is the one that `root_type` \
         names; the attribute `stored` marks further ones: `table Task (stored)`. All other tables \
         become plain structs, which root tables can contain. If no object should be stored, \
         compile with `--payload-only`, or call `payload_only` of `dflat_build::Builder`."
}
