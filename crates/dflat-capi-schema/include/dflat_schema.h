/* The schema compiler of the object database Dflat: from the text of FlatBuffers schemas to the
 * descriptors that `dflat_table_new` of dflat.h takes.
 *
 * The library is separate from that of dflat.h, which has no compiler. This header uses texts,
 * bytes and codes of dflat.h, and none of its functions. The rules at the beginning of dflat.h hold
 * here too, but no function takes a place for an error: a schema object has its problems.
 */
#ifndef DFLAT_SCHEMA_H
#define DFLAT_SCHEMA_H

#include <dflat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It increases if a program that was compiled with an older header
 * could break; functions and values that are added do not change it. */
#define DFLAT_SCHEMA_ABI_VERSION 1

/* The version of the library, to be compared with DFLAT_SCHEMA_ABI_VERSION.
 * Blocks: no. */
uint32_t dflat_schema_abi_version(void);

/* A compiled schema, or the problems of one that does not compile. */
typedef struct dflat_schema dflat_schema;

/* A file: the name by which files include it, such as `schemas/post.fbs`, and its text. */
typedef struct dflat_schema_file {
    dflat_text name;
    dflat_text content;
} dflat_schema_file;

/* Compiles the first file, and those of the others that it includes. The path of an `include` is
 * relative to the folder in the name of the file that includes. Nothing is read from a disk, and
 * the texts are copied.
 * The limits are 1 MiB a file, 16 MiB together, 1,000 files and 10,000 `include` lines. A larger
 * schema is a problem, as any other mistake in a text.
 * The caller releases `schema`, which is made also if the compilation fails: it has the problems.
 * Errors: DFLAT_INVALID_ARGUMENT if a text has an error, there is no file, two files have one name,
 * or a text is not UTF-8. Without a place for `schema`, nothing is compiled.
 * Blocks: no. */
dflat_code dflat_schema_compile(const dflat_schema_file *files, size_t files_count,
                                dflat_schema **schema);

/* A stored type of a schema: a table that a file names by `root_type`. */
typedef struct dflat_schema_table {
    /* The full name of the type, such as `MyGame.Sample.Monster`. */
    dflat_text name;
    /* The two arguments of dflat_table_new. */
    dflat_bytes descriptor;
    int32_t auto_key;
} dflat_schema_table;

/* The stored type with a number from 0, in the order of their definitions. The texts and bytes
 * belong to the schema.
 * Errors: DFLAT_NOT_FOUND if there are not so many.
 * Blocks: no. */
dflat_code dflat_schema_type(const dflat_schema *schema, size_t number,
                             dflat_schema_table *table);

/* How severe a problem is. */
enum {
    /* The schema does not compile. */
    DFLAT_SCHEMA_ERROR = 1,
    /* The schema compiles, but probably has a mistake. */
    DFLAT_SCHEMA_WARNING = 2,
    /* A part of the schema has no effect. */
    DFLAT_SCHEMA_NOTE = 3
};

/* A mistake in a text. */
typedef struct dflat_schema_problem {
    /* DFLAT_SCHEMA_ERROR or another of its values. */
    int32_t severity;
    /* The line and the column from 1, columns in characters; 0 for a problem without a place. */
    uint32_t line;
    uint32_t column;
    /* The file; empty for a problem without a place. */
    dflat_text file;
    /* The kind of the problem, such as `E0030`, which `dflatc explain` explains; empty if an argument
     * of the call cannot be used. */
    dflat_text code;
    /* The message: lower case, one line. */
    dflat_text message;
    /* A suggestion; empty without one. */
    dflat_text help;
} dflat_schema_problem;

/* The problem with a number from 0, in the order of their places; there are at most 200. The texts
 * belong to the schema.
 * Errors: DFLAT_NOT_FOUND if there are not so many.
 * Blocks: no. */
dflat_code dflat_schema_problem_at(const dflat_schema *schema, size_t number,
                                   dflat_schema_problem *problem);

/* All problems as text, with the lines that they are about, as `dflatc` prints them. The text
 * belongs to the schema.
 * Blocks: no. */
dflat_code dflat_schema_report(const dflat_schema *schema, dflat_text *report);

/* Releases a schema. Tables that were made of its descriptors are not affected.
 * Blocks: no. */
dflat_code dflat_schema_release(dflat_schema *schema);

#ifdef __cplusplus
}
#endif

#endif
