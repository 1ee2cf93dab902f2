/* The dictionary, JSON, and the upkeep of a file. */
#include "support.h"

#include <pthread.h>

static dflat_workspace *workspace;
static dflat_table *table;

static int is_text(dflat_bytes bytes, const char *expected) {
    return bytes.length == strlen(expected) && memcmp(bytes.data, expected, bytes.length) == 0;
}

static dflat_entry_value entry(int32_t kind, int64_t integer, double number, const char *content) {
    dflat_entry_value made;
    memset(&made, 0, sizeof made);
    made.kind = kind;
    made.integer = integer;
    made.number = number;
    made.text = text(content);
    made.bytes = text(content);
    return made;
}

static void set(dflat_transaction *transaction, const char *key, const dflat_entry_value *value) {
    OK(dflat_dictionary_set(workspace, transaction, text(""), text(key), value, &error));
}

static void round_trip(dflat_entry_value value) {
    dflat_entry *read;
    dflat_entry_value back;
    set(NULL, "key", &value);
    OK(dflat_dictionary_get(workspace, NULL, text(""), text("key"), &read, &error));
    CHECK(read != NULL);
    CHECK(dflat_entry_read(read, &back) == DFLAT_OK);
    CHECK(back.kind == value.kind);
    switch (value.kind) {
    case DFLAT_ENTRY_FLOAT:
    case DFLAT_ENTRY_DOUBLE:
        CHECK(back.number == value.number);
        break;
    case DFLAT_ENTRY_TEXT:
        CHECK(is_text(back.text, "content"));
        break;
    case DFLAT_ENTRY_CODABLE:
    case DFLAT_ENTRY_FLATBUFFERS:
        CHECK(is_text(back.bytes, "content"));
        break;
    default:
        CHECK(back.integer == value.integer);
    }
    dflat_entry_release(read);
}

typedef struct changes {
    int calls, initial, without_value, drops;
} changes;

static void on_entry(void *context, dflat_text key, const dflat_entry_value *value,
                     int32_t is_initial) {
    changes *own = context;
    CHECK(key.length > 0);
    own->calls++;
    own->initial += is_initial;
    own->without_value += value == NULL;
}

static void changes_drop(void *context) {
    ((changes *)context)->drops++;
}

static int32_t count_up(void *context, dflat_transaction *transaction, dflat_error **error) {
    dflat_entry *read;
    dflat_entry_value value;
    (void)context;
    (void)error;
    OK(dflat_dictionary_get(workspace, transaction, text(""), text("n"), &read, &error));
    CHECK(dflat_entry_read(read, &value) == DFLAT_OK);
    dflat_entry_release(read);
    value.integer++;
    set(transaction, "n", &value);
    return DFLAT_OK;
}

/* A transaction uses no key of another file. */
static int32_t of_another(void *context, dflat_transaction *transaction, dflat_error **failure) {
    dflat_entry *read;
    dflat_entry_value one = entry(DFLAT_ENTRY_INT64, 1, 0, "");
    (void)context;
    (void)failure;
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_dictionary_get(workspace, transaction, text(""),
                                                        text("n"), &read, &error));
    CHECK(read == NULL);
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_dictionary_set(workspace, transaction, text(""),
                                                        text("n"), &one, &error));
    return DFLAT_OK;
}

static void use_dictionary(void) {
    changes own = {0, 0, 0, 0};
    dflat_entry_callback callback = {&own, on_entry, changes_drop};
    dflat_subscription *subscription;
    dflat_entry *read;
    dflat_table *dictionary;
    dflat_entry_value one = entry(DFLAT_ENTRY_INT64, 1, 0, "");
    round_trip(entry(DFLAT_ENTRY_BOOL, 1, 0, ""));
    round_trip(entry(DFLAT_ENTRY_INT64, -7, 0, ""));
    round_trip(entry(DFLAT_ENTRY_UINT64, -1, 0, ""));
    round_trip(entry(DFLAT_ENTRY_FLOAT, 0, 0.5, ""));
    round_trip(entry(DFLAT_ENTRY_DOUBLE, 0, 0.1, ""));
    round_trip(entry(DFLAT_ENTRY_TEXT, 0, 0, "content"));
    round_trip(entry(DFLAT_ENTRY_CODABLE, 0, 0, "content"));
    round_trip(entry(DFLAT_ENTRY_FLATBUFFERS, 0, 0, "content"));
    one.kind = 99;
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_dictionary_set(workspace, NULL, text(""), text("n"), &one, &error));
    one.kind = DFLAT_ENTRY_INT64;
    set(NULL, "n", &one);
    OK(dflat_dictionary_subscribe(workspace, text(""), text("n"), 0, callback, &subscription,
                                  &error));
    CHECK(own.calls == 1 && own.initial == 1);
    set(NULL, "n", NULL);
    CHECK(own.calls == 2 && own.without_value == 1);
    set(NULL, "n", &one);
    OK(dflat_dictionary_table(&dictionary, &error));
    dflat_workspace *other;
    OK(dflat_workspace_in_memory(&other, &error));
    perform(other, dictionary, of_another, NULL, DFLAT_OK);
    dflat_workspace_release(other);
    perform(workspace, dictionary, count_up, NULL, DFLAT_OK);
    OK(dflat_workspace_settle(workspace, &error));
    CHECK(own.calls == 4);
    OK(dflat_subscription_cancel(subscription, &error));
    dflat_subscription_release(subscription);
    CHECK(own.drops == 1);
    dflat_table_release(dictionary);
    OK(dflat_dictionary_each(workspace, text(""), text("k"), callback, &error));
    CHECK(own.calls == 5 && own.drops == 2);
    OK(dflat_dictionary_synchronize(workspace, &error));
    OK(dflat_dictionary_remove_all(workspace, text(""), &error));
    OK(dflat_dictionary_get(workspace, NULL, text(""), text("n"), &read, &error));
    CHECK(read == NULL);
    OK(dflat_dictionary_get(workspace, NULL, text("other"), text("n"), &read, &error));
    CHECK(read == NULL);
}

static int32_t insert_json(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    dflat_buffer *made;
    dflat_bytes bytes;
    OK(dflat_json_read(own->table, text("{\"title\": \"from JSON\", \"priority\": 7}"), &made,
                       &error));
    CHECK(dflat_buffer_bytes(made, &bytes) == DFLAT_OK);
    dflat_code code = dflat_transaction_submit(transaction, own->table, DFLAT_CREATE, 0, NO_OBJECT,
                                               bytes, NULL, NULL, error);
    dflat_buffer_release(made);
    return code;
}

static void use_json(void) {
    dflat_buffer *buffer = NULL;
    dflat_bytes bytes, junk = {(const uint8_t *)"junk", 4};
    perform(workspace, table, insert_json, NULL, DFLAT_OK);
    dflat_view view = get(in_workspace(workspace), table, "from JSON");
    CHECK(priority_of(view) == 7);
    bytes.data = view.payload;
    bytes.length = view.length;
    OK(dflat_json_write(table, bytes, &buffer, &error));
    CHECK(dflat_buffer_bytes(buffer, &bytes) == DFLAT_OK);
    CHECK(is_text(bytes, "{\"title\":\"from JSON\",\"priority\":7}"));
    dflat_buffer_release(buffer);
    dflat_object_release(view.object);
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_json_write(table, junk, &buffer, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_json_read(table, text("{\"no\": 1}"), &buffer, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_json_read(table, text("{\"title\": \"a\"} and more"), &buffer, &error));
    CHECK(buffer == NULL);
}

static void find_by_text(void) {
    dflat_query *query;
    dflat_result *result;
    const dflat_view *views;
    size_t count;
    dflat_value parameters[2], value;
    dflat_buffer *buffer;
    dflat_bytes bytes;
    dflat_error *failure = NULL;
    memset(parameters, 0, sizeof parameters);
    parameters[0].kind = DFLAT_INTEGER;
    parameters[0].integer = 7;
    parameters[1].kind = DFLAT_TEXT;
    parameters[1].text = text("from");
    OK(dflat_query_parse(table, text("priority == ?1 && title.starts_with(?2)"),
                         text("title desc"), parameters, 2, &query, &error));
    OK(dflat_fetch(in_workspace(workspace), query, &result, &error));
    OK(dflat_result_views(result, &views, &count, &error));
    CHECK(count == 1 && has_title(views[0], "from JSON"));
    dflat_result_release(result);
    OK(dflat_aggregate(in_workspace(workspace), query, DFLAT_SUM, text("priority"), &value, &buffer,
                       &error));
    CHECK(value.kind == DFLAT_INTEGER && value.integer == 7 && buffer == NULL);
    OK(dflat_aggregate(in_workspace(workspace), query, DFLAT_MEAN, text("priority"), &value,
                       &buffer, &error));
    CHECK(value.kind == DFLAT_FLOAT && value.number == 7);
    OK(dflat_aggregate(in_workspace(workspace), query, DFLAT_LARGEST, text("title"), &value,
                       &buffer, &error));
    CHECK(value.kind == DFLAT_TEXT && dflat_buffer_bytes(buffer, &bytes) == DFLAT_OK);
    CHECK(is_text(bytes, "from JSON"));
    dflat_buffer_release(buffer);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_aggregate(in_workspace(workspace), query, DFLAT_SUM, text("title"), &value,
                           &buffer, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_aggregate(in_workspace(workspace), query, 99, text("title"), &value, &buffer,
                           &error));
    dflat_query_release(query);
    CHECK(dflat_query_parse(table, text("prioritty > 1"), text(""), NULL, 0, &query, &failure) ==
          DFLAT_INVALID_ARGUMENT);
    CHECK(query == NULL && dflat_error_message(failure, &bytes) == DFLAT_OK);
    CHECK(is_text(bytes, "cannot read a condition of Post: column 1: `Post` has no field "
                         "`prioritty`; did you mean `priority`?"));
    dflat_error_release(failure);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_query_parse(table, text("priority == ?1"), text(""), NULL, 0, &query, &error));
}

/* The file has the descriptor. */
static void find_table(void) {
    dflat_table *stored;
    dflat_text name;
    OK(dflat_workspace_table(workspace, text("post"), &stored, &error));
    OK(dflat_table_name(stored, &name, &error));
    CHECK(is_text(name, "Post"));
    dflat_table_release(stored);
    EXPECT(DFLAT_NOT_FOUND, dflat_workspace_table(workspace, text("no"), &stored, &error));
    CHECK(stored == NULL);
}

static void completed(void *context, dflat_code code, const dflat_error *failure) {
    counted *own = context;
    CHECK(failure == NULL);
    own->calls++;
    own->code = code;
}

static int32_t stop(void *context, uint64_t done, uint64_t total) {
    (void)context;
    (void)done;
    (void)total;
    return 1;
}

/* Salvages a file without damage. */
static void salvage_from(const char *path) {
    char saved[600];
    dflat_progress_callback quiet = {NULL, NULL, NULL};
    const dflat_table *tables = table;
    dflat_salvaged found;
    snprintf(saved, sizeof saved, "%s.saved", path);
    OK(dflat_salvage(text(path), text(saved), &tables, 1, quiet, &found, &error));
    CHECK(found.saved >= 1 && found.unreadable == 0 && found.lost == 0);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_salvage(text(path), text(saved), &tables, 1, quiet, &found, &error));
    CHECK(found.saved == 0);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_salvage(text(path), text(saved), &tables, 1, quiet, NULL, &error));
}

static void keep_up(const char *path) {
    char copy[512];
    counted ready = counting(NULL, NULL, NULL);
    dflat_completion completion = {&ready, completed, count_drop};
    dflat_progress_callback quiet = {NULL, NULL, NULL}, stopping = {&ready, stop, count_drop};
    const dflat_table *tables = table;
    dflat_query *query;
    dflat_buffer *found;
    dflat_bytes bytes;
    uint64_t number = 99;
    OK(dflat_indexes_build(workspace, &tables, 1, &error));
    OK(dflat_indexes_then(workspace, completion, &error));
    OK(dflat_workspace_settle(workspace, &error));
    OK(dflat_query_new(table, NO_BYTES, &query, &error));
    OK(dflat_explain(in_workspace(workspace), query, &found, &error));
    CHECK(dflat_buffer_bytes(found, &bytes) == DFLAT_OK && is_text(bytes, "all rows"));
    dflat_buffer_release(found);
    dflat_query_release(query);
    OK(dflat_workspace_check(workspace, &tables, 1, quiet, &number, &found, &error));
    CHECK(number == 0 && dflat_buffer_bytes(found, &bytes) == DFLAT_OK && bytes.length == 0);
    dflat_buffer_release(found);
    OK(dflat_workspace_repair(workspace, &tables, 1, quiet, &number, NULL, &error));
    CHECK(number == 0);
    EXPECT(DFLAT_CANCELLED,
           dflat_workspace_check(workspace, &tables, 1, stopping, &number, NULL, &error));
    snprintf(copy, sizeof copy, "%s.copy", path);
    OK(dflat_workspace_backup(workspace, text(copy), quiet, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_workspace_backup(workspace, text(copy), quiet, &error));
    salvage_from(copy);
    OK(dflat_workspace_reclaim(workspace, 10, &error));
    OK(dflat_workspace_purge(workspace, &error));
    OK(dflat_workspace_compact(workspace, &error));
    OK(dflat_workspace_suspend(workspace, &error));
    OK(dflat_workspace_resume(workspace, &error));
    OK(dflat_workspace_statistic(workspace, DFLAT_STATISTIC_TRANSACTIONS, &number, &error));
    CHECK(number >= 2);
    for (int32_t i = 1; i <= DFLAT_STATISTIC_CHANGE_RECORD_BYTES; i++) {
        OK(dflat_workspace_statistic(workspace, i, &number, &error));
    }
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_workspace_statistic(workspace, 99, &number, &error));
}

/* The end of a shutdown, for which the program waits. */
typedef struct ending {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int calls, drops;
} ending;

static void on_end(void *context, dflat_code code, const dflat_error *failure) {
    ending *own = context;
    CHECK(code == DFLAT_OK && failure == NULL);
    pthread_mutex_lock(&own->lock);
    own->calls++;
    pthread_mutex_unlock(&own->lock);
}

static void end_drop(void *context) {
    ending *own = context;
    pthread_mutex_lock(&own->lock);
    own->drops++;
    pthread_cond_signal(&own->changed);
    pthread_mutex_unlock(&own->lock);
}

static void end(void) {
    static ending own = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    dflat_completion completion = {&own, on_end, end_drop};
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_workspace_shutdown_then(workspace, 64, completion, &error));
    CHECK(own.drops == 1 && own.calls == 0);
    OK(dflat_workspace_shutdown_then(workspace, DFLAT_SHUTDOWN_TRUNCATE, completion, &error));
    pthread_mutex_lock(&own.lock);
    while (own.drops < 2) {
        pthread_cond_wait(&own.changed, &own.lock);
    }
    CHECK(own.calls == 1);
    pthread_mutex_unlock(&own.lock);
    EXPECT(DFLAT_SHUT_DOWN, dflat_workspace_settle(workspace, &error));
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    table = post_table();
    OK(dflat_workspace_open(text(argv[1]), NULL, &workspace, &error));
    use_dictionary();
    use_json();
    find_by_text();
    find_table();
    keep_up(argv[1]);
    dflat_workspace *memory;
    OK(dflat_workspace_in_memory(&memory, &error));
    dflat_workspace_release(memory);
    end();
    dflat_workspace_release(workspace);
    dflat_table_release(table);
    return 0;
}
