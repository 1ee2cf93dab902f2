//! The changes between two versions of a schema, and their effects on stored objects.

use crate::diagnostic::{Code, codes};

codes! {
/// The codes of changes: errors first, then warnings, then notes.
    FIELD_TYPE "E0300" "a field whose type changed"
        "Stored objects have a value of the old type. Deprecate the field, and add a field with \
         another name and the new type. A deprecated field keeps its type, because old objects \
         still have a value in it."
    FIELD_MOVED "E0301" "a field that moved to another number"
        "A field is identified by its number, which is its position among the fields or its `id`, \
         and not by its name. Add new fields at the end, or give them the next `id`."
    FIELD_REMOVED "E0302" "a field removed instead of deprecated"
        "The number of a removed field goes to the next field, which would then read the values of \
         the removed one. Keep the field and mark it `deprecated`: no code is generated for it, \
         and its number stays in use."
    DEFAULT_CHANGED "E0303" "a default that changed"
        "A value that equals its default is not stored, so in old objects the field would have the \
         new default as its value. Keep the default, and set the new value where the program \
         creates objects. Or deprecate the field with its default, and add another field."
    REQUIRED_CHANGED "E0304" "a field that became required, or no longer is"
        "An object without a required field can be read only by `Fetch::unchecked`. Old objects \
         may lack a field that becomes required. If a field is no longer required, older programs \
         refuse new objects that lack it. A required field that is deprecated is no longer \
         required."
    KEY_CHANGED "E0305" "a primary key that changed"
        "The fields of the primary key, their order and their types are part of the table in the \
         file. Give the table a new version, `table Post (v: \"2\")`, and copy the objects."
    ENUM_CHANGED "E0306" "an enum whose numbers changed"
        "An enum is stored as its number. Existing values keep their numbers, and new values take \
         new numbers. Do not remove a value that is no longer used. The base type and `bit_flags` \
         must not change either."
    UNION_CHANGED "E0307" "a union whose type codes changed"
        "A union's member is identified by its type code, which is its position among the members \
         or its number. Add new members at the end. Do not remove a member that is no longer used."
    STRUCT_CHANGED "E0308" "a struct that changed"
        "A struct is stored inside its object, without room for changes. Add another struct, and a \
         field for it, or use a table."
    UNIQUE_DEFAULT "E0309" "a new unique field with a default"
        "In all old objects the field has the default, so they all have the same value, and every \
         new object that leaves the field at its default is refused. Make the field optional, `= \
         null`: any number of objects may have no value. A union is never without a value: if it \
         is empty, its value is the type code 0. Or add `unique` only once every object has a \
         value of its own. The same holds for an index over several fields if all of them are new, \
         and for an index of some objects if its condition can be true for old objects."
    TIME_CHANGED "E0310" "a date and time whose unit changed"
        "Stored objects have numbers of the old unit, which the new version would read in the new \
         one. Keep the unit. Or deprecate the field with its unit, and add another field."
    INDEX_ADDED "W0300" "an index that is to be built"
        "This change is safe. The next write to the type starts to build the index in the \
         background. Until the index is ready, queries read all objects."
    UNIQUE_ADDED "W0301" "values that become unique"
        "The index is built in the background after the next write. Once it is built, an object is \
         refused if its value is that of another object. Objects that shared a value before keep \
         it, and `Workspace::index_progress` reports them."
    TABLE_RENAMED "W0302" "a stored table with another name in the file"
        "The namespaces, the name and the version of a root table form its name in the file. The \
         table with the new name starts empty. The objects stay in the table with the old name, \
         for programs of the old version. Copy them, or restore the name."
    TABLE_GONE "W0303" "a table that is no longer stored"
        "The objects of the table stay in the file, and the new version does not read them."
    MEANING_ADDED "W0305" "numbers that become a date and time, or a UUID"
        "Stored numbers stay as they are, and the new version reads them in the unit of `time`, or \
         as the halves of a UUID. So this is safe only if programs have stored them so. The \
         generated type is another one, so programs must change."
    AUTO_CHANGED "W0306" "keys that the library begins or ceases to assign"
        "Stored objects keep their keys. With `auto`, a creation or an upsert whose key is 0 or \
         empty makes an object with a key of its own, even if a stored object has the key 0 or the \
         empty key. Without it, the key is stored as it is, so a second creation with it is \
         refused. Programs of both versions can use one file."
    ADDED "N0300" "something new"
        "A new field reads as its default in old objects. In older programs, an unknown enum value \
         reads as the default, and an unknown union member as empty."
    RENAMED "N0301" "something with another name"
        "Objects do not store names, so only the programs and the JSON that use the name must \
         change."
    DEPRECATED "N0302" "a field that is deprecated, or no longer is"
        "A deprecated field keeps its number, and programs do not see it. If it is no longer \
         deprecated, programs see the values of old objects again."
    INDEX_REMOVED "N0303" "an index that is no longer used"
        "Queries no longer use the index. The next write to the type removes it from the file, so \
         that writes cost less. The queries of older programs that declare the index then read all \
         objects, with the same results."
    TYPE_REMOVED "N0304" "a type that is gone"
        "No stored object holds a value of this type."
    MEANING_REMOVED "N0305" "a date and time, or a UUID, that becomes numbers"
        "Stored numbers stay as they are, and the new version reads the same numbers. The \
         generated type is another one, so programs must change."
}
