/* The schema compiler: descriptors from texts, which the library takes, and problems with their
 * places. */
#include "support.h"

#include <dflat_schema.h>

static dflat_schema_file file(const char *name, const char *content) {
    dflat_schema_file made;
    made.name = text(name);
    made.content = text(content);
    return made;
}

static int is(dflat_text found, const char *expected) {
    return found.length == strlen(expected) && memcmp(found.data, expected, found.length) == 0;
}

static int has(dflat_text found, const char *part) {
    size_t length = strlen(part);
    for (size_t i = 0; i + length <= found.length; i++) {
        if (memcmp(found.data + i, part, length) == 0) {
            return 1;
        }
    }
    return 0;
}

#define CODE(expected, call) CHECK((call) == (expected))

/* ---- Schemas that compile -------------------------------------------------------------------- */

static const char *const NOTE_TEXT = "include \"kinds.fbs\";\n"
                                     "namespace Notes;\n"
                                     "table Note {\n"
                                     "  id: ulong (primary, auto);\n"
                                     "  kind: Kind;\n"
                                     "  text: string (indexed);\n"
                                     "}\n"
                                     "root_type Note;\n";

static const char *const KINDS_TEXT = "namespace Notes;\n"
                                      "enum Kind: byte { Open, Done }\n"
                                      "table Place { name: string (primary); }\n"
                                      "root_type Place;\n";

static int32_t insert(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    dflat_buffer *payload;
    dflat_bytes bytes;
    OK(dflat_json_read(own->table, text("{\"kind\": \"Done\", \"text\": \"from text\"}"), &payload,
                       &error));
    CODE(DFLAT_OK, dflat_buffer_bytes(payload, &bytes));
    dflat_code code = dflat_transaction_submit(transaction, own->table, DFLAT_CREATE, 0, NO_OBJECT,
                                               bytes, NULL, NULL, error);
    dflat_buffer_release(payload);
    return code;
}

/* Stores an object of a type that the program has as text only. */
static void store_note(const char *path, const dflat_table *notes) {
    dflat_workspace *workspace;
    dflat_query *done;
    dflat_result *result;
    const dflat_view *views;
    size_t count;
    dflat_buffer *json;
    dflat_bytes bytes;
    OK(dflat_workspace_open(text(path), NULL, &workspace, &error));
    perform(workspace, notes, insert, NULL, DFLAT_OK);
    OK(dflat_query_parse(notes, text("kind == Done"), text("text"), NULL, 0, &done, &error));
    OK(dflat_fetch(in_workspace(workspace), done, &result, &error));
    OK(dflat_result_views(result, &views, &count, &error));
    CHECK(count == 1);
    dflat_bytes payload = {views[0].payload, views[0].length};
    OK(dflat_json_write(notes, payload, &json, &error));
    dflat_buffer_bytes(json, &bytes);
    CHECK(is(bytes, "{\"id\":1,\"kind\":\"Done\",\"text\":\"from text\"}"));
    dflat_buffer_release(json);
    dflat_result_release(result);
    dflat_query_release(done);
    dflat_workspace_release(workspace);
}

static void compile_types(const char *path) {
    const dflat_schema_file files[] = {
        file("schemas/note.fbs", NOTE_TEXT),
        file("unused.fbs", "not a schema"),
        file("schemas/kinds.fbs", KINDS_TEXT),
    };
    dflat_schema *schema;
    dflat_schema_table place, note, none;
    dflat_schema_problem problem;
    dflat_text report;
    dflat_table *notes;
    CODE(DFLAT_OK, dflat_schema_compile(files, 3, &schema));
    CODE(DFLAT_NOT_FOUND, dflat_schema_problem_at(schema, 0, &problem));
    CODE(DFLAT_OK, dflat_schema_report(schema, &report));
    CHECK(report.length == 0);
    /* The types of an included file are defined before those of the file that includes it. */
    CODE(DFLAT_OK, dflat_schema_type(schema, 0, &place));
    CODE(DFLAT_OK, dflat_schema_type(schema, 1, &note));
    CODE(DFLAT_NOT_FOUND, dflat_schema_type(schema, 2, &none));
    CHECK(none.descriptor.length == 0 && none.name.length == 0);
    CHECK(is(place.name, "Notes.Place") && place.auto_key == DFLAT_AUTO_KEY_NONE);
    CHECK(is(note.name, "Notes.Note") && note.auto_key == DFLAT_AUTO_KEY_INCREASING);
    OK(dflat_table_new(note.descriptor, note.auto_key, &notes, &error));
    /* The table outlives its schema. */
    CODE(DFLAT_OK, dflat_schema_release(schema));
    store_note(path, notes);
    dflat_table_release(notes);
}

/* The library of databases refuses the pointers of schemas, and does not read from them. */
static void confuse_handles(void) {
    const dflat_schema_file files[] = {file("place.fbs", "table Place { name: string (primary); }\n"
                                                         "root_type Place;\n")};
    for (int i = 0; i < 16; i++) {
        dflat_schema *schema;
        dflat_text name;
        dflat_error *error;
        CODE(DFLAT_OK, dflat_schema_compile(files, 1, &schema));
        CODE(DFLAT_INVALID_ARGUMENT, dflat_table_name((dflat_table *)schema, &name, &error));
        dflat_error_release(error);
        CODE(DFLAT_OK, dflat_schema_release(schema));
    }
}

static void compile_with_warnings(void) {
    const dflat_schema_file files[] = {
        file("price.fbs", "table Price { amount: float (primary); }\n"
                          "rpc_service Shop { Buy(Price): Price; }\n"
                          "root_type Price;\n"),
    };
    dflat_schema *schema;
    dflat_schema_problem first, second;
    CODE(DFLAT_OK, dflat_schema_compile(files, 1, &schema));
    CODE(DFLAT_OK, dflat_schema_problem_at(schema, 0, &first));
    CODE(DFLAT_OK, dflat_schema_problem_at(schema, 1, &second));
    CHECK(first.severity == DFLAT_SCHEMA_WARNING && first.line == 1);
    CHECK(second.severity == DFLAT_SCHEMA_NOTE && second.line == 2);
    CHECK(has(first.help, "use an integer"));
    CODE(DFLAT_OK, dflat_schema_release(schema));
}

/* ---- Schemas that do not compile ------------------------------------------------------------- */

static void report_problems(void) {
    const dflat_schema_file files[] = {
        file("schemas/note.fbs", NOTE_TEXT),
        file("schemas/kinds.fbs", "namespace Notes;\nenum Kind: byte { Open,\n  Open }\n"),
    };
    dflat_schema *schema;
    dflat_schema_table table;
    dflat_schema_problem problem;
    dflat_text report;
    CODE(DFLAT_INVALID_ARGUMENT, dflat_schema_compile(files, 2, &schema));
    CODE(DFLAT_NOT_FOUND, dflat_schema_type(schema, 0, &table));
    CODE(DFLAT_OK, dflat_schema_problem_at(schema, 0, &problem));
    CHECK(problem.severity == DFLAT_SCHEMA_ERROR && problem.line == 3 && problem.column == 3);
    CHECK(is(problem.file, "schemas/kinds.fbs") && problem.code.length == 5);
    CHECK(has(problem.message, "`Open`") && has(problem.message, "twice"));
    CODE(DFLAT_OK, dflat_schema_report(schema, &report));
    CHECK(has(report, "schemas/kinds.fbs:3:3") && has(report, "  Open }"));
    CODE(DFLAT_OK, dflat_schema_release(schema));
}

/* The only problem of a call whose arguments cannot be used. */
static void refuse(const dflat_schema_file *files, size_t count, const char *message) {
    dflat_schema *schema;
    dflat_schema_problem problem;
    CODE(DFLAT_INVALID_ARGUMENT, dflat_schema_compile(files, count, &schema));
    CODE(DFLAT_OK, dflat_schema_problem_at(schema, 0, &problem));
    CHECK(problem.severity == DFLAT_SCHEMA_ERROR && problem.line == 0 && problem.column == 0);
    CHECK(problem.file.length == 0 && problem.code.length == 0 && problem.help.length == 0);
    CHECK(is(problem.message, message));
    CODE(DFLAT_NOT_FOUND, dflat_schema_problem_at(schema, 1, &problem));
    CODE(DFLAT_OK, dflat_schema_release(schema));
}

static void misuse(void) {
    dflat_schema_file files[] = {file("a.fbs", ""), file("./a.fbs", "")};
    dflat_schema *schema;
    dflat_schema_table table;
    dflat_schema_problem problem;
    dflat_text report;
    refuse(NULL, 0, "files: the list is empty");
    refuse(NULL, 2, "files: the pointer is NULL or not aligned, or 2 values are too many");
    refuse(files, 2, "files: two files have the name \"./a.fbs\"");
    files[1].name.data = NULL;
    refuse(files, 2, "files[1].name: the pointer is NULL or not aligned, or 7 bytes are too many");
    files[1] = file("b.fbs", "\xff");
    refuse(files, 2, "files[1].content: the text is not UTF-8");

    CODE(DFLAT_INVALID_ARGUMENT, dflat_schema_compile(files, 1, NULL));
    CODE(DFLAT_OK, dflat_schema_compile(files, 1, &schema));
    CODE(DFLAT_INVALID_ARGUMENT, dflat_schema_type(schema, 0, NULL));
    CODE(DFLAT_INVALID_ARGUMENT, dflat_schema_problem_at(schema, 0, NULL));
    CODE(DFLAT_INVALID_ARGUMENT, dflat_schema_report(schema, NULL));
    CODE(DFLAT_OK, dflat_schema_release(schema));
    /* A schema that was released is refused, also by functions that read. */
    CODE(DFLAT_INVALID_ARGUMENT, dflat_schema_release(schema));
    CODE(DFLAT_INVALID_ARGUMENT, dflat_schema_report(schema, &report));
    CODE(DFLAT_INVALID_ARGUMENT, dflat_schema_type(NULL, 0, &table));
    CODE(DFLAT_INVALID_ARGUMENT, dflat_schema_problem_at((dflat_schema *)&table, 0, &problem));
    CODE(DFLAT_OK, dflat_schema_release(NULL));
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && dflat_schema_abi_version() == DFLAT_SCHEMA_ABI_VERSION);
    compile_types(argv[1]);
    compile_with_warnings();
    report_problems();
    confuse_handles();
    misuse();
    return 0;
}
