/* Calls functions in random order, with handles that are there and with NULL. Each call succeeds or
 * gives an error with a message; at the end, every context has been released once. */
#include "support.h"

enum { SLOTS = 6 };

static uint64_t state;

static uint32_t below(uint32_t bound) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % bound;
}

static dflat_table *table;
static dflat_options *options;
static dflat_workspace *workspaces[SLOTS];
static dflat_snapshot *snapshots[SLOTS];
static dflat_query *queries[SLOTS];
static dflat_result *results[SLOTS];
static dflat_subscription *subscriptions[SLOTS];
static dflat_object objects[SLOTS];
static const char *path;
/* How many callbacks were handed over, and how many contexts were released. */
static uint64_t given, dropped;

/* A call that may fail in any way, but not without saying how. */
#define MAY(call)                                                                         \
    do {                                                                                  \
        dflat_error *error = NULL;                                                        \
        dflat_code returned_ = (call);                                                    \
        check_code(__FILE__, __LINE__, #call, returned_, returned_, error);               \
        CHECK(returned_ != DFLAT_PANICKED);                                               \
        dflat_error_release(error);                                                       \
    } while (0)

static void on_drop(void *context) {
    (void)context;
    __atomic_add_fetch(&dropped, 1, __ATOMIC_SEQ_CST);
}

static void on_completion(void *context, dflat_code code, const dflat_error *failure) {
    (void)context;
    CHECK((code == DFLAT_OK) == (failure == NULL));
}

static void on_result(void *context, dflat_code code, const dflat_error *failure,
                      const dflat_delivery *delivery) {
    dflat_difference difference;
    (void)context;
    (void)code;
    (void)failure;
    if (delivery != NULL) {
        OK(dflat_delivery_difference(delivery, &difference, &error));
    }
}

static void on_count(void *context, dflat_code code, const dflat_error *failure, uint64_t count) {
    (void)context;
    CHECK((code == DFLAT_OK) == (failure == NULL) && (code == DFLAT_OK || count == 0));
}

static void on_object(void *context, int32_t event, dflat_view view) {
    (void)context;
    CHECK((event == DFLAT_DELETED) == (view.payload == NULL));
}

static void keep(dflat_view view) {
    uint32_t slot = below(SLOTS);
    dflat_object_release(objects[slot]);
    objects[slot] = view.object;
}

static dflat_source some_source(dflat_transaction *transaction) {
    dflat_source source = {NULL, NULL, NULL};
    if (transaction != NULL) {
        source.transaction = transaction;
    } else if (below(3) == 0) {
        source.snapshot = snapshots[below(SLOTS)];
    } else {
        source.workspace = workspaces[below(SLOTS)];
    }
    return source;
}

static void read(dflat_transaction *transaction) {
    dflat_source source = some_source(transaction);
    uint32_t slot = below(SLOTS);
    uint64_t count;
    dflat_view view;
    const dflat_view *views;
    size_t length;
    switch (below(5)) {
    case 0:
        dflat_result_release(results[slot]);
        MAY(dflat_fetch(source, queries[below(SLOTS)], &results[slot], &error));
        break;
    case 1:
        MAY(dflat_count(source, queries[below(SLOTS)], &count, &error));
        break;
    case 2:
        MAY(dflat_find(source, table, below(30), &view, &error));
        keep(view);
        break;
    case 3:
        MAY(dflat_result_views(results[slot], &views, &length, &error));
        if (results[slot] != NULL && length > 0) {
            view = views[below((uint32_t)length)];
            dflat_object_retain(view.object);
            keep(view);
        }
        break;
    default:
        MAY(dflat_object_view(objects[slot], &view, &error));
        keep(view);
    }
}

/* A workspace, or now and then a handle of another kind. */
static const dflat_workspace *some_workspace(void) {
    return below(12) == 0 ? (const dflat_workspace *)table : workspaces[below(SLOTS)];
}

static void compute(dflat_transaction *transaction) {
    static const char *const fields[] = {"priority", "title", "no_field", ""};
    dflat_source source = some_source(transaction);
    dflat_value value = {(int32_t)below(6), (int64_t)below(20), 1.5, text("post 3")};
    const dflat_value keys[2] = {value, value};
    dflat_buffer *buffer = NULL;
    dflat_query *made = NULL;
    dflat_view view;
    uint32_t slot = below(SLOTS);
    switch (below(6)) {
    case 0:
        MAY(dflat_aggregate(source, queries[below(SLOTS)], (int32_t)below(6), text(fields[below(4)]),
                            &value, &buffer, &error));
        break;
    case 1:
        MAY(dflat_explain(source, queries[below(SLOTS)], &buffer, &error));
        break;
    case 2:
        MAY(dflat_get(source, table, keys, below(3), &view, &error));
        keep(view);
        break;
    case 3:
        MAY(dflat_query_window(queries[slot], below(3), below(4), &made, &error));
        break;
    case 4:
        MAY(dflat_query_after(queries[slot], objects[below(SLOTS)], &made, &error));
        break;
    default:
        MAY(dflat_query_bounded(queries[slot], below(2) == 0 ? 0 : UINT64_MAX, NULL, &made,
                                &error));
    }
    if (made != NULL) {
        dflat_query_release(queries[slot]);
        queries[slot] = made;
    }
    dflat_buffer_release(buffer);
}

static void convert(void) {
    static const char *const texts[] = {"{\"title\": \"json\"}", "{\"title\": 1}", "{", ""};
    payload made = post("payload", (int32_t)below(9));
    dflat_buffer *buffer = NULL;
    made.data[below(20)] ^= (uint8_t)(below(2) * below(256));
    if (below(2) == 0) {
        MAY(dflat_json_write(table, bytes_of(&made), &buffer, &error));
    } else {
        MAY(dflat_json_read(table, text(texts[below(4)]), &buffer, &error));
    }
    dflat_buffer_release(buffer);
}

static void on_entry(void *context, dflat_text key, const dflat_entry_value *value,
                     int32_t is_initial) {
    (void)context;
    (void)value;
    CHECK(key.length > 0 && (is_initial == 0 || is_initial == 1));
}

static void use_dictionary(dflat_transaction *transaction) {
    static const char *const keys[] = {"a", "ab", "b"};
    const dflat_workspace *workspace = some_workspace();
    dflat_text space = text(below(2) == 0 ? "" : "space"), key = text(keys[below(3)]);
    dflat_entry_value value = {(int32_t)below(10), 7, 0.5, text("text"), text("bytes")};
    dflat_entry_callback callback = {NULL, below(10) == 0 ? NULL : on_entry, on_drop};
    dflat_entry *entry = NULL;
    uint32_t slot = below(SLOTS);
    switch (transaction == NULL ? below(6) : below(2)) {
    case 0:
        MAY(dflat_dictionary_get(workspace, transaction, space, key, &entry, &error));
        dflat_entry_release(entry);
        break;
    case 1:
        MAY(dflat_dictionary_set(workspace, transaction, space, key,
                                 below(4) == 0 ? NULL : &value, &error));
        break;
    case 2:
        given++;
        MAY(dflat_dictionary_each(workspace, space, text("a"), callback, &error));
        break;
    case 3:
        dflat_subscription_release(subscriptions[slot]);
        subscriptions[slot] = NULL;
        given++;
        MAY(dflat_dictionary_subscribe(workspace, space, key, below(3), callback,
                                       &subscriptions[slot], &error));
        break;
    case 4:
        MAY(dflat_dictionary_remove_all(workspace, space, &error));
        break;
    default:
        MAY(dflat_dictionary_synchronize(workspace, &error));
    }
}

static int32_t report(void *context, uint64_t done, uint64_t total) {
    (void)context;
    (void)done;
    (void)total;
    return below(8) == 0;
}

static void keep_up(void) {
    const dflat_workspace *workspace = some_workspace();
    const dflat_table *tables = table;
    dflat_progress_callback progress = {NULL, report, on_drop};
    dflat_completion completion = {NULL, on_completion, on_drop};
    dflat_buffer *buffer = NULL;
    uint64_t number;
    switch (below(9)) {
    case 0:
        MAY(dflat_indexes_build(workspace, &tables, 1, &error));
        break;
    case 1:
        given++;
        MAY(dflat_indexes_then(workspace, completion, &error));
        break;
    case 2:
        given++;
        MAY(dflat_workspace_check(workspace, &tables, 1, progress, &number, &buffer, &error));
        break;
    case 3:
        MAY(dflat_workspace_statistic(workspace, (int32_t)below(22), &number, &error));
        break;
    case 4:
        MAY(dflat_workspace_reclaim(workspace, below(4), &error));
        break;
    case 5:
        MAY(dflat_workspace_purge(workspace, &error));
        break;
    case 6:
        /* Nothing but this thread uses the file, and nothing reads it meanwhile. */
        MAY(dflat_workspace_refresh(workspace, &error));
        break;
    case 7:
        given++;
        MAY(dflat_workspace_repair(workspace, &tables, 1, progress, &number, &buffer, &error));
        break;
    default:
        given++;
        MAY(dflat_workspace_backup(workspace, text(path), progress, &error));
    }
    dflat_buffer_release(buffer);
}

static int32_t change_one(void *context, dflat_view view, dflat_error **error) {
    payload made = post("by query", (int32_t)below(9));
    return dflat_transaction_submit(context, table, DFLAT_UPDATE, 0, view.object, bytes_of(&made),
                                    NULL, NULL, error);
}

static int32_t handle(void *context, dflat_transaction *transaction, dflat_error **error);

static void write_by_query(dflat_transaction *transaction, uint32_t depth) {
    dflat_object_handler write = {transaction, below(10) == 0 ? NULL : change_one, on_drop};
    dflat_handler changes = {&given, handle, on_drop};
    const dflat_query *query = queries[below(SLOTS)];
    uint64_t count;
    switch (below(3)) {
    case 0:
        MAY(dflat_transaction_delete_where(transaction, query, &count, &error));
        break;
    case 1:
        given++;
        MAY(dflat_transaction_write_each(transaction, query, write, &count, &error));
        break;
    default:
        if (depth == 0) {
            given++;
            MAY(dflat_transaction_nested(transaction, changes, &error));
        }
    }
}

static int32_t handle(void *context, dflat_transaction *transaction, dflat_error **error) {
    for (uint32_t i = below(5); i > 0; i--) {
        char title[32];
        dflat_view view = {NULL, 0, 0, {NULL, 0}};
        snprintf(title, sizeof title, "post %u", (unsigned)below(20));
        payload made = post(title, (int32_t)below(8));
        dflat_code code = dflat_transaction_submit(
            transaction, table, (int32_t)below(7), below(3) == 0 ? DFLAT_SUBMIT_IF_UNCHANGED : 0,
            objects[below(SLOTS)], bytes_of(&made), NULL, &view, NULL);
        CHECK(code != DFLAT_PANICKED);
        keep(view);
        read(transaction);
        compute(transaction);
        use_dictionary(transaction);
        /* A nested part has a context, and makes no other nested part. */
        write_by_query(transaction, context == NULL ? 0 : 1);
    }
    switch (below(6)) {
    case 0:
        return 7;
    case 1:
        return dflat_transaction_abort(transaction, error);
    case 2:
        return dflat_error_new(3, text("no"), error, NULL) + 1;
    default:
        return DFLAT_OK;
    }
}

static void write_some(void) {
    const dflat_table *tables = below(10) == 0 ? NULL : table;
    dflat_handler handler = {NULL, below(10) == 0 ? NULL : handle, on_drop};
    dflat_completion completion = {NULL, on_completion, on_drop};
    const dflat_workspace *workspace = workspaces[below(SLOTS)];
    given++;
    if (below(2) == 0) {
        MAY(dflat_perform_and_wait(workspace, &tables, 1, below(5), handler, &error));
    } else {
        /* The handler runs on another thread, and the slots belong to this one: wait for it. */
        given++;
        MAY(dflat_perform(workspace, &tables, 1, below(5), handler, completion, &error));
        MAY(dflat_workspace_settle(workspace, &error));
    }
}

static void observe(void) {
    uint32_t slot = below(SLOTS);
    const dflat_workspace *workspace = some_workspace();
    dflat_result_callback on_query = {NULL, on_result, on_drop};
    dflat_object_callback on_one = {NULL, on_object, on_drop};
    if (below(3) == 0) {
        MAY(dflat_subscription_cancel(subscriptions[slot], &error));
    }
    dflat_subscription_release(subscriptions[slot]);
    subscriptions[slot] = NULL;
    given++;
    dflat_count_callback counts = {NULL, on_count, on_drop};
    if (below(3) == 0) {
        MAY(dflat_subscribe_count(workspace, queries[below(SLOTS)], below(3), counts,
                                  &subscriptions[slot], &error));
    } else if (below(2) == 0) {
        MAY(dflat_subscribe_query(workspace, queries[below(SLOTS)],
                                  below(2) == 0 ? NULL : results[below(SLOTS)], below(2), on_query,
                                  &subscriptions[slot], &error));
    } else {
        MAY(dflat_subscribe_object(workspace, table, objects[below(SLOTS)], on_one,
                                   &subscriptions[slot], &error));
    }
}

static void open_or_close(void) {
    static const char *const conditions[] = {"", "priority < 4", "title.starts_with(\"post 1\")",
                                             "no_field == 1", "priority <"};
    uint32_t slot = below(SLOTS);
    switch (below(5)) {
    case 0:
        dflat_workspace_release(workspaces[slot]);
        MAY(dflat_workspace_open(text(path), options, &workspaces[slot], &error));
        break;
    case 1:
        dflat_snapshot_release(snapshots[slot]);
        MAY(dflat_snapshot_new(workspaces[below(SLOTS)], &snapshots[slot], &error));
        break;
    case 2:
        MAY(dflat_workspace_shutdown(workspaces[slot], below(5), &error));
        break;
    default:
        dflat_query_release(queries[slot]);
        MAY(dflat_query_parse(table, text(conditions[below(5)]), text(below(2) ? "" : "title"),
                              NULL, 0, &queries[slot], &error));
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 4);
    path = argv[1];
    state = strtoull(argv[2], NULL, 10) * 2 + 1;
    table = post_table();
    /* Work on the file waits for snapshots no longer than for other processes. */
    OK(dflat_options_new(&options, &error));
    OK(dflat_options_set(options, DFLAT_OPTION_BUSY_TIMEOUT, 20, &error));
    for (long steps = strtol(argv[3], NULL, 10); steps > 0; steps--) {
        switch (below(12)) {
        case 8:
            compute(NULL);
            break;
        case 9:
            convert();
            break;
        case 10:
            use_dictionary(NULL);
            break;
        case 11:
            keep_up();
            break;
        case 0:
            open_or_close();
            break;
        case 1:
            observe();
            break;
        case 2:
        case 3:
            write_some();
            break;
        default:
            read(NULL);
        }
    }
    for (int slot = 0; slot < SLOTS; slot++) {
        dflat_subscription_release(subscriptions[slot]);
        dflat_snapshot_release(snapshots[slot]);
        dflat_result_release(results[slot]);
        dflat_query_release(queries[slot]);
        dflat_object_release(objects[slot]);
        dflat_workspace_release(workspaces[slot]);
    }
    dflat_options_release(options);
    dflat_table_release(table);
    CHECK(__atomic_load_n(&dropped, __ATOMIC_SEQ_CST) == given);
    return 0;
}
