//! What can change between two versions of a schema, and what follows for stored objects.

use crate::diagnostic::{Code, codes};

codes! {
    /// The codes of changes, those that break first.
    FIELD_TYPE "E0300" "a field whose type changed"
        "What is stored has the old type. Deprecate the field and add one of another name with the new type. A \
         deprecated field keeps its type: old objects still have it."
    FIELD_MOVED "E0301" "a field that moved to another number"
        "A field is found by its number, not by its name: its place among the fields, or its `id`. New fields \
         stand at the end, or take the next `id`."
    FIELD_REMOVED "E0302" "a field removed instead of deprecated"
        "The number of a removed field goes to the next one, which would read what the old one wrote. Keep the \
         field and mark it `deprecated`: that generates nothing and keeps the number."
    DEFAULT_CHANGED "E0303" "a default that changed"
        "A value that equals its default is not stored, so the default is what old objects read as. Keep it, and \
         set the new value where objects are made; or deprecate the field and add another. A deprecated field keeps \
         its default."
    REQUIRED_CHANGED "E0304" "a field that became required, or no longer is"
        "An object without a required field cannot be read. Old objects may lack a field that becomes required; \
         older programs refuse new objects that lack one that was, because it was deprecated, too."
    KEY_CHANGED "E0305" "a primary key that changed"
        "The fields of the primary key, their order and their types are part of the table in the file. Give the \
         table a new version, `table Post (v: \"2\")`, and copy the objects."
    ENUM_CHANGED "E0306" "an enum whose numbers changed"
        "An enum is stored as its number. Values keep theirs; new ones take new numbers; one that is not used \
         any more stays. The base type and `bit_flags` stay, too."
    UNION_CHANGED "E0307" "a union whose type codes changed"
        "A union's member is known by its type code: its place among the members, or its number. New members \
         stand at the end; one that is not used any more stays."
    STRUCT_CHANGED "E0308" "a struct that changed"
        "A struct is stored in line, without room for changes. Add another struct, and a field for it; or use a \
         table."
    UNIQUE_DEFAULT "E0309" "a new unique field with a default"
        "Every old object reads as the default, so all of them have one value, and every new object without a value \
         of its own is refused. Make the field optional, `= null`: objects without a value may be many. An empty \
         union has a value, its type code 0. Or leave `unique` out until every object has a value of its own."
    INDEX_ADDED "W0300" "an index that is to be built"
        "Nothing breaks. The next write of the type starts to build the index in the background from the objects \
         that are there; until it is ready, queries read all of them."
    UNIQUE_ADDED "W0301" "values that become unique"
        "From the moment the index is built, in the background after the next write, no further object gets a value \
         that another has. Objects that share one by then keep it, and are reported: \
         `Workspace::index_progress`."
    TABLE_RENAMED "W0302" "a stored table with another name in the file"
        "A root table's namespaces, name and version make its name in the file. Under a new one it starts empty, \
         and the objects stay where they are, for programs of the old version. Copy them, or give back the name."
    TABLE_GONE "W0303" "a table that is no longer stored"
        "Its objects stay in the file, unread."
    ADDED "N0300" "something new"
        "A field reads as its default in old objects. Older programs read values that they do not know as the \
         default, and members that they do not know as empty."
    RENAMED "N0301" "something with another name"
        "Names are not stored: only programs, and JSON, have to follow."
    DEPRECATED "N0302" "a field that is deprecated, or no longer is"
        "A deprecated field keeps its number, and programs do not see it. Values of old objects are there again if \
         it is no longer deprecated."
    INDEX_REMOVED "N0303" "an index that is no longer used"
        "Queries no longer use it, and writing becomes cheaper. Older programs that still do are served as before."
    TYPE_REMOVED "N0304" "a type that is gone"
        "No stored object holds one."
}
