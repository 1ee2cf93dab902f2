/* The errors that a program can cause without another process, by their codes; the transactions
 * that go on after one; and arguments that cannot be used. */
#include "support.h"

static dflat_workspace *workspace;
static dflat_table *table, *other_table;

/* Submits an operation, and checks its code. */
static void submit(dflat_transaction *transaction, dflat_code expected, int32_t operation,
                   uint32_t flags, dflat_object base, const payload *made) {
    dflat_bytes bytes = made == NULL ? NO_BYTES : bytes_of(made);
    EXPECT(expected, dflat_transaction_submit(transaction, table, operation, flags, base, bytes,
                                              NULL, NULL, &error));
}

/* Each of these errors leaves the transaction usable. */
static int32_t refused(void *context, dflat_transaction *transaction, dflat_error **error) {
    payload made = post("a", 1), broken = post("b", 2);
    dflat_view view, latest;
    (void)context;
    (void)error;
    submit(transaction, DFLAT_OK, DFLAT_CREATE, 0, NO_OBJECT, &made);
    submit(transaction, DFLAT_ALREADY_EXISTS, DFLAT_CREATE, 0, NO_OBJECT, &made);
    view = get(in_transaction(transaction), table, "a");
    submit(transaction, DFLAT_OK, DFLAT_DELETE, 0, view.object, NULL);
    submit(transaction, DFLAT_NOT_FOUND, DFLAT_UPDATE, 0, view.object, &made);
    submit(transaction, DFLAT_NOT_FOUND, DFLAT_DELETE, 0, view.object, NULL);
    submit(transaction, DFLAT_OUT_OF_DATE, DFLAT_UPSERT, DFLAT_SUBMIT_IF_UNCHANGED, view.object,
           &made);
    OK(dflat_transaction_latest(transaction, table, view.object, &latest, &error));
    CHECK(latest.object.chunk == NULL);
    dflat_object_release(view.object);
    EXPECT(DFLAT_UNDECLARED_TYPE,
           dflat_transaction_submit(transaction, other_table, DFLAT_CREATE, 0, NO_OBJECT,
                                    bytes_of(&made), NULL, NULL, &error));
    broken.data[0] = 255;
    submit(transaction, DFLAT_INVALID_ARGUMENT, DFLAT_CREATE, 0, NO_OBJECT, &broken);
    submit(transaction, DFLAT_INVALID_ARGUMENT, DFLAT_CREATE, 0, NO_OBJECT, NULL);
    submit(transaction, DFLAT_INVALID_ARGUMENT, DFLAT_UPDATE, 0, NO_OBJECT, &made);
    submit(transaction, DFLAT_INVALID_ARGUMENT, DFLAT_DELETE, 0, NO_OBJECT, NULL);
    submit(transaction, DFLAT_INVALID_ARGUMENT, 99, 0, NO_OBJECT, &made);
    submit(transaction, DFLAT_INVALID_ARGUMENT, DFLAT_CREATE, 2, NO_OBJECT, &made);
    submit(transaction, DFLAT_INVALID_ARGUMENT, DFLAT_CREATE, DFLAT_SUBMIT_IF_UNCHANGED, NO_OBJECT,
           &made);
    submit(transaction, DFLAT_OK, DFLAT_RESTORE, 0, NO_OBJECT, &made);
    return DFLAT_OK;
}

static int32_t would_wait(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted own = counting(refused, table, NULL);
    const dflat_table *tables = table;
    (void)context;
    (void)transaction;
    (void)error;
    EXPECT(DFLAT_WOULD_DEADLOCK, dflat_workspace_settle(workspace, &error));
    EXPECT(DFLAT_WOULD_DEADLOCK, dflat_workspace_shutdown(workspace, 0, &error));
    EXPECT(DFLAT_WOULD_DEADLOCK,
           dflat_perform_and_wait(workspace, &tables, 1, 0, handler_of(&own), &error));
    CHECK(own.calls == 0 && own.drops == 1);
    return DFLAT_OK;
}

static int32_t aborted(void *context, dflat_transaction *transaction, dflat_error **error) {
    payload made = post("b", 1);
    (void)context;
    (void)error;
    OK(dflat_transaction_abort(transaction, &error));
    submit(transaction, DFLAT_ABORTED, DFLAT_CREATE, 0, NO_OBJECT, &made);
    return DFLAT_OK;
}

static int32_t number(void *context, dflat_transaction *transaction, dflat_error **error) {
    (void)context;
    (void)transaction;
    (void)error;
    return -5;
}

/* Gives an error, and succeeds nevertheless. */
static int32_t ignored(void *context, dflat_transaction *transaction, dflat_error **error) {
    (void)context;
    (void)transaction;
    return dflat_error_new(1, text("ignored"), error, NULL);
}

static int32_t passed_on(void *context, dflat_transaction *transaction, dflat_error **error) {
    payload made = post("a", 1);
    (void)context;
    return dflat_transaction_submit(transaction, table, DFLAT_CREATE, 0, NO_OBJECT,
                                    bytes_of(&made), NULL, NULL, error);
}

static void in_transactions(void) {
    dflat_error *failure = NULL;
    int64_t value = 0;
    counted own = counting(number, table, NULL);
    const dflat_table *tables = table;
    perform(workspace, table, refused, NULL, DFLAT_OK);
    perform(workspace, table, would_wait, NULL, DFLAT_OK);
    perform(workspace, table, aborted, NULL, DFLAT_ABORTED);
    perform(workspace, table, ignored, NULL, DFLAT_OK);
    perform(workspace, table, passed_on, NULL, DFLAT_ALREADY_EXISTS);
    CHECK(dflat_perform_and_wait(workspace, &tables, 1, 0, handler_of(&own), &failure) ==
          DFLAT_USER);
    CHECK(dflat_error_value(failure, &value) == DFLAT_OK && value == -5);
    dflat_error_release(failure);
    /* Without a place for the error, the code is all there is. */
    CHECK(dflat_perform_and_wait(workspace, &tables, 1, 0, handler_of(&own), NULL) == DFLAT_USER);
}

/* Inserts a post by newer code, whose table has one field more. */
static int32_t insert_newer(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    payload made = post("newer", 1);
    return dflat_transaction_submit(transaction, own->table, DFLAT_CREATE, 0, NO_OBJECT,
                                    bytes_of(&made), NULL, NULL, error);
}

static int32_t exhaust(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    /* A number: a table with one `ulong` field at its 4th byte. */
    uint8_t largest[24] = {12, 0, 0, 0, 6, 0, 12, 0, 4, 0, 0, 0, 8, 0, 0, 0};
    dflat_bytes bytes = {largest, sizeof largest};
    dflat_code code;
    memset(largest + 16, 255, 7);
    largest[23] = 127;
    code = dflat_transaction_submit(transaction, own->table, DFLAT_CREATE, 0, NO_OBJECT, bytes,
                                    NULL, NULL, error);
    if (code != DFLAT_OK) {
        return code;
    }
    memset(largest + 16, 0, 8);
    return dflat_transaction_submit(transaction, own->table, DFLAT_CREATE, 0, NO_OBJECT, bytes,
                                    NULL, NULL, error);
}

static void with_other_tables(void) {
    dflat_bytes bytes = {NEWER_DESCRIPTOR, sizeof NEWER_DESCRIPTOR};
    dflat_bytes numbers = {NUMBER_DESCRIPTOR, sizeof NUMBER_DESCRIPTOR};
    dflat_table *newer, *counters;
    OK(dflat_table_new(bytes, DFLAT_AUTO_KEY_NONE, &newer, &error));
    perform(workspace, newer, insert_newer, NULL, DFLAT_OK);
    dflat_table_release(newer);
    OK(dflat_table_new(numbers, DFLAT_AUTO_KEY_INCREASING, &counters, &error));
    perform(workspace, counters, exhaust, NULL, DFLAT_KEYS_EXHAUSTED);
    dflat_table_release(counters);
}

/* An object of another table has no place in a query, and equals none. */
static void with_objects_of_another_table(void) {
    payload own = post("its own", 1);
    static const uint8_t number[] = {8, 0, 0, 0, 4, 0, 4, 0, 4, 0, 0, 0};
    dflat_bytes bytes = {number, sizeof number};
    dflat_view one, other;
    dflat_query *all, *next;
    int32_t is_equal;
    OK(dflat_object_new(table, bytes_of(&own), &one, &error));
    OK(dflat_object_new(other_table, bytes, &other, &error));
    OK(dflat_query_parse(table, text(""), text("priority"), NULL, 0, &all, &error));
    OK(dflat_query_after(all, one.object, &next, &error));
    dflat_query_release(next);
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_query_after(all, other.object, &next, &error));
    CHECK(next == NULL);
    OK(dflat_object_equal(table, one.object, one.object, &is_equal, &error));
    CHECK(is_equal == 1);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_object_equal(table, one.object, other.object, &is_equal, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_object_equal(table, other.object, NO_OBJECT, &is_equal, &error));
    CHECK(is_equal == 0);
    dflat_query_release(all);
    dflat_object_release(one.object);
    dflat_object_release(other.object);
}

/* Writes bytes over the file, or appends them to nothing. */
static void write_file(const char *path, const char *bytes) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(bytes, 1, strlen(bytes), file) == strlen(bytes));
    CHECK(fclose(file) == 0);
}

/* Opens a file and reads it, and checks the code of the first error. */
static void open_and_read(const char *path, int32_t option, dflat_code expected) {
    dflat_options *options = NULL;
    dflat_workspace *opened = NULL;
    dflat_query *query = NULL;
    dflat_result *result = NULL;
    OK(dflat_options_new(&options, &error));
    if (option != 0) {
        OK(dflat_options_set(options, option, 1, &error));
    }
    OK(dflat_query_new(table, NO_BYTES, &query, &error));
    dflat_code code = dflat_workspace_open(text(path), options, &opened, NULL);
    if (code == DFLAT_OK) {
        code = dflat_fetch(in_workspace(opened), query, &result, NULL);
        dflat_result_release(result);
    }
    if (code != expected) {
        fprintf(stderr, "%s gives %d and not %d\n", path, (int)code, (int)expected);
        abort();
    }
    dflat_query_release(query);
    dflat_workspace_release(opened);
    dflat_options_release(options);
}

static void with_files(const char *path) {
    char name[512];
    dflat_workspace *opened;
    dflat_options *options;
    snprintf(name, sizeof name, "%s/inside.db", path);
    open_and_read(name, 0, DFLAT_IO);
    snprintf(name, sizeof name, "%s.other", path);
    open_and_read(name, DFLAT_OPTION_READ_ONLY, DFLAT_NOT_FOUND);
    write_file(name, "This is no database, but a text that is long enough for a header of one..."
                     "......................................................................");
    open_and_read(name, 0, DFLAT_NOT_A_DATABASE);
    OK(dflat_options_new(&options, &error));
    OK(dflat_options_set(options, DFLAT_OPTION_BUSY_TIMEOUT, 1, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_workspace_open(text(path), options, &opened, &error));
    CHECK(opened == NULL);
    dflat_options_release(options);
}

static int32_t insert_one(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    return create(transaction, own->table, "to be damaged", 1, error);
}

/* Damages the payload of a post in a file. */
static void damage(const char *path, const payload *found) {
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t length, at;
    CHECK(file != NULL);
    length = fread(bytes, 1, sizeof bytes, file);
    CHECK(fclose(file) == 0 && length < sizeof bytes);
    for (at = 0; at + found->length <= length; at++) {
        if (memcmp(bytes + at, found->data, found->length) == 0) {
            break;
        }
    }
    CHECK(at + found->length <= length);
    bytes[at] = 255;
    file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

/* A file that is only read, and one with a damaged row. */
static void with_another_file(const char *path) {
    char name[512];
    dflat_workspace *opened;
    dflat_options *options;
    payload made = post("to be damaged", 1);
    snprintf(name, sizeof name, "%s.damaged", path);
    OK(dflat_workspace_open(text(name), NULL, &opened, &error));
    perform(opened, table, insert_one, NULL, DFLAT_OK);
    OK(dflat_workspace_shutdown(opened, DFLAT_SHUTDOWN_TRUNCATE, &error));
    dflat_workspace_release(opened);
    OK(dflat_options_new(&options, &error));
    OK(dflat_options_set(options, DFLAT_OPTION_READ_ONLY, 1, &error));
    OK(dflat_workspace_open(text(name), options, &opened, &error));
    perform(opened, table, insert_one, NULL, DFLAT_READ_ONLY);
    dflat_workspace_release(opened);
    dflat_options_release(options);
    damage(name, &made);
    open_and_read(name, 0, DFLAT_CORRUPT);
}

/* Every function refuses what it can detect: NULL, handles of another kind, wrong numbers. */
static void with_wrong_handles(void) {
    dflat_query *query = NULL;
    dflat_result *result = NULL;
    dflat_view view;
    dflat_value key = {99, 0, 0, {NULL, 0}};
    dflat_source none = {NULL, NULL, NULL}, wrong = {NULL, NULL, NULL};
    dflat_bytes no_pointer = {NULL, 7}, junk = {(const uint8_t *)"junk", 4};
    dflat_text latin = {(const uint8_t *)"\xff", 1};
    dflat_error *made = NULL;
    uint64_t count;
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_query_new(NULL, NO_BYTES, &query, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_query_new((const dflat_table *)workspace, NO_BYTES, &query, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_query_new(table, junk, &query, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_query_new(table, no_pointer, &query, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_query_new(table, NO_BYTES, NULL, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_table_new(junk, 0, &other_table, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_error_new(1, latin, &made, &error));
    OK(dflat_query_new(table, NO_BYTES, &query, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_fetch(none, query, &result, &error));
    CHECK(result == NULL);
    wrong.workspace = workspace;
    wrong.transaction = (dflat_transaction *)workspace;
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_fetch(wrong, query, &result, &error));
    wrong.workspace = NULL;
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_count(wrong, query, &count, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_get(in_workspace(workspace), table, &key, 1, &view, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_get(in_workspace(workspace), table, NULL, 1, &view, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_get(in_workspace(workspace), table, NULL, 0, &view, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_object_view(NO_OBJECT, &view, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_object_new(table, junk, &view, &error));
    dflat_query *released = query;
    CHECK(dflat_query_release(query) == DFLAT_OK);
    CHECK(dflat_query_release(released) == DFLAT_INVALID_ARGUMENT);
    CHECK(dflat_table_release((dflat_table *)workspace) == DFLAT_INVALID_ARGUMENT);
    CHECK(dflat_query_release(NULL) == DFLAT_OK);
    CHECK(dflat_object_release(NO_OBJECT) == DFLAT_OK);
    CHECK(dflat_object_retain(NO_OBJECT) == DFLAT_OK);
    CHECK(dflat_error_code(NULL) == DFLAT_OK);
    CHECK(dflat_error_message(NULL, NULL) == DFLAT_INVALID_ARGUMENT);
}

/* A callback is dropped once, whatever is wrong with the call that got it. */
static void with_wrong_callbacks(void) {
    counted own = counting(refused, table, NULL), ended = counting(NULL, table, NULL);
    const dflat_table *tables = table, *no_table = NULL;
    dflat_handler no_call = {&own, NULL, count_drop};
    dflat_completion completion = {&ended, NULL, count_drop};
    int drops = 0;
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_perform(NULL, &tables, 1, 0, handler_of(&own), completion, &error));
    CHECK(own.drops == ++drops && ended.drops == drops);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_perform(workspace, NULL, 1, 0, handler_of(&own), completion, &error));
    CHECK(own.drops == ++drops && ended.drops == drops);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_perform(workspace, &no_table, 1, 0, handler_of(&own), completion, &error));
    CHECK(own.drops == ++drops && ended.drops == drops);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_perform(workspace, &tables, SIZE_MAX, 0, handler_of(&own), completion, &error));
    CHECK(own.drops == ++drops && ended.drops == drops);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_perform(workspace, &tables, 1, 64, handler_of(&own), completion, &error));
    CHECK(own.drops == ++drops && ended.drops == drops);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_perform(workspace, &tables, 1, 0, no_call, completion, &error));
    CHECK(own.drops == ++drops && ended.drops == drops);
    /* No table is named: the completion gets the error. */
    OK(dflat_perform(workspace, &tables, 0, 0, handler_of(&own), completion, &error));
    CHECK(own.drops == ++drops && ended.drops == drops);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_perform_and_wait(workspace, &tables, 0, 0, handler_of(&own), &error));
    CHECK(own.drops == ++drops && own.calls == 0);
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_workspace_shutdown_then(NULL, 0, completion, &error));
    CHECK(ended.drops == drops);
}

static dflat_transaction *kept;

static int32_t keep(void *context, dflat_transaction *transaction, dflat_error **error) {
    (void)context;
    (void)error;
    kept = transaction;
    return DFLAT_OK;
}

static void completed(void *context, dflat_code code, const dflat_error *failure) {
    counted *own = context;
    (void)failure;
    own->calls++;
    own->code = code;
    /* The error belongs to the library. */
    CHECK(dflat_error_release((dflat_error *)failure) ==
          (failure == NULL ? DFLAT_OK : DFLAT_INVALID_ARGUMENT));
}

static void after_the_end(void) {
    dflat_query *query;
    dflat_result *result;
    counted own = counting(refused, table, NULL), ended = counting(NULL, table, NULL);
    dflat_completion completion = {&ended, completed, count_drop};
    const dflat_table *tables = table;
    payload made = post("late", 1);
    perform(workspace, table, keep, NULL, DFLAT_OK);
    submit(kept, DFLAT_INVALID_ARGUMENT, DFLAT_CREATE, 0, NO_OBJECT, &made);
    OK(dflat_query_new(table, NO_BYTES, &query, &error));
    OK(dflat_workspace_shutdown(workspace, 0, &error));
    OK(dflat_workspace_shutdown(workspace, 0, &error));
    EXPECT(DFLAT_SHUT_DOWN, dflat_fetch(in_workspace(workspace), query, &result, &error));
    EXPECT(DFLAT_SHUT_DOWN,
           dflat_perform_and_wait(workspace, &tables, 1, 0, handler_of(&own), &error));
    CHECK(own.calls == 0 && own.drops == 1);
    OK(dflat_perform(workspace, &tables, 1, 0, handler_of(&own), completion, &error));
    CHECK(own.calls == 0 && own.drops == 2);
    CHECK(ended.calls == 1 && ended.drops == 1 && ended.code == DFLAT_SHUT_DOWN);
    dflat_query_release(query);
}

static void with_options(void) {
    dflat_options *options;
    OK(dflat_options_new(&options, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_options_set(options, 99, 1, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_options_set(options, DFLAT_OPTION_READ_ONLY, 2, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_options_set(options, DFLAT_OPTION_BUSY_TIMEOUT, -1, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_options_set(options, DFLAT_OPTION_FILE_PROTECTION, 9, &error));
    for (int32_t option = 1; option <= DFLAT_OPTION_CHANGE_LOG_AGE_MAX; option++) {
        OK(dflat_options_set(options, option, 1, &error));
    }
    dflat_options_release(options);
}

int main(int argc, char **argv) {
    dflat_bytes numbers = {NUMBER_DESCRIPTOR, sizeof NUMBER_DESCRIPTOR};
    CHECK(argc == 2);
    table = post_table();
    OK(dflat_table_new(numbers, DFLAT_AUTO_KEY_NONE, &other_table, &error));
    OK(dflat_workspace_open(text(argv[1]), NULL, &workspace, &error));
    in_transactions();
    with_other_tables();
    with_objects_of_another_table();
    with_files(argv[1]);
    with_another_file(argv[1]);
    with_wrong_callbacks();
    with_options();
    dflat_table *kept_table = other_table;
    with_wrong_handles();
    after_the_end();
    dflat_workspace_release(workspace);
    dflat_table_release(kept_table);
    dflat_table_release(table);
    return 0;
}
