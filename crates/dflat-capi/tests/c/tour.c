/* The tour: opens a file, makes and changes objects, and reads them in every way. */
#include "support.h"

static int32_t fill(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    for (int i = 0; i < 10; i++) {
        char title[32];
        snprintf(title, sizeof title, "post %d", i);
        dflat_code code = create(transaction, own->table, title, i, error);
        if (code != DFLAT_OK) {
            return code;
        }
    }
    /* The transaction sees its own changes. */
    dflat_view found = get(in_transaction(transaction), own->table, "post 3");
    CHECK(has_title(found, "post 3") && priority_of(found) == 3);
    dflat_object_release(found.object);
    return DFLAT_OK;
}

static int32_t change(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    dflat_view *base = own->more;
    dflat_view latest, changed;
    int32_t result = 0;
    payload made = post("post 3", 30);
    (void)error;
    OK(dflat_transaction_latest(transaction, own->table, base->object, &latest, &error));
    CHECK(latest.row_id == base->row_id && priority_of(latest) == 3);
    OK(dflat_transaction_submit(transaction, own->table, DFLAT_UPDATE, 0, latest.object,
                                bytes_of(&made), &result, &changed, &error));
    CHECK(result == DFLAT_UPDATED && priority_of(changed) == 30);
    dflat_object_release(latest.object);
    OK(dflat_transaction_submit(transaction, own->table, DFLAT_UPDATE, 0, changed.object,
                                bytes_of(&made), &result, NULL, &error));
    CHECK(result == DFLAT_IDENTITY);
    dflat_object_release(changed.object);
    /* The object has changed since `base` was read. */
    EXPECT(DFLAT_OUT_OF_DATE,
           dflat_transaction_submit(transaction, own->table, DFLAT_DELETE,
                                    DFLAT_SUBMIT_IF_UNCHANGED, base->object, NO_BYTES, NULL, NULL,
                                    &error));
    made = post("post 4", 40);
    OK(dflat_transaction_submit(transaction, own->table, DFLAT_UPSERT, 0, NO_OBJECT,
                                bytes_of(&made), &result, NULL, &error));
    CHECK(result == DFLAT_UPDATED);
    OK(dflat_transaction_set_durability(transaction, 1, &error));
    return DFLAT_OK;
}

static int32_t undo(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    OK(create(transaction, own->table, "undone", 0, &error));
    return dflat_error_new(17, text("not today"), error, NULL) == DFLAT_OK ? -1 : 0;
}

static int32_t nest(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    counted part = counting(undo, own->table, NULL);
    dflat_error *failure = NULL;
    int64_t value = 0;
    (void)error;
    OK(create(transaction, own->table, "kept", 50, &error));
    CHECK(dflat_transaction_nested(transaction, handler_of(&part), &failure) == DFLAT_USER);
    CHECK(part.calls == 1 && part.drops == 1);
    CHECK(dflat_error_value(failure, &value) == DFLAT_OK && value == 17);
    dflat_error_release(failure);
    return DFLAT_OK;
}

static int32_t raise_each(void *context, dflat_view view, dflat_error **error) {
    counted *own = context;
    char title[32];
    own->calls++;
    snprintf(title, sizeof title, "post %d", priority_of(view));
    payload made = post(title, priority_of(view) + 100);
    return dflat_transaction_submit(own->more, own->table, DFLAT_UPDATE, 0, view.object,
                                    bytes_of(&made), NULL, NULL, error);
}

static int32_t by_query(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    dflat_query **queries = own->more;
    uint64_t count = 0;
    counted each = counting(NULL, own->table, transaction);
    dflat_object_handler write = {&each, raise_each, count_drop};
    (void)error;
    OK(dflat_transaction_write_each(transaction, queries[0], write, &count, &error));
    CHECK(count == 3 && each.calls == 3 && each.drops == 1);
    OK(dflat_transaction_delete_where(transaction, queries[1], &count, &error));
    CHECK(count == 3);
    return DFLAT_OK;
}

static int32_t abort_it(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    OK(create(transaction, own->table, "aborted", 0, &error));
    return dflat_transaction_abort(transaction, error);
}

static void read_all(const dflat_workspace *workspace, const dflat_table *table) {
    dflat_query *query, *windowed;
    dflat_result *result, *again;
    const dflat_view *views;
    size_t count;
    OK(dflat_query_new(table, NO_BYTES, &query, &error));
    OK(dflat_fetch(in_workspace(workspace), query, &result, &error));
    OK(dflat_result_views(result, &views, &count, &error));
    CHECK(count == 10);
    for (size_t i = 0; i < count; i++) {
        CHECK(views[i].row_id == (int64_t)i + 1);
        CHECK(priority_of(views[i]) == (int32_t)i);
    }
    OK(dflat_result_retain(result, &again, &error));
    dflat_object kept = views[7].object;
    OK(dflat_object_retain(kept));
    dflat_result_release(result);
    OK(dflat_result_count(again, &count, &error));
    CHECK(count == 10);
    dflat_view view;
    OK(dflat_result_view(again, 9, &view, &error));
    dflat_view none;
    dflat_code code = dflat_result_view(again, 10, &none, NULL);
    CHECK(code == DFLAT_INVALID_ARGUMENT && none.payload == NULL);
    dflat_result_release(again);
    /* A retained object outlives its result, and so does one that was given alone. */
    CHECK(view.row_id == 10 && has_title(view, "post 9"));
    dflat_object_release(view.object);
    int32_t same = 0;
    OK(dflat_object_view(kept, &view, &error));
    CHECK(has_title(view, "post 7"));
    payload made = post("post 7", 7);
    dflat_view own;
    OK(dflat_object_new(table, bytes_of(&made), &own, &error));
    OK(dflat_object_equal(table, kept, own.object, &same, &error));
    CHECK(same == 1 && own.row_id == 0);
    dflat_object_release(own.object);
    dflat_object_release(view.object);
    dflat_object_release(kept);
    OK(dflat_query_window(query, 2, 3, &windowed, &error));
    OK(dflat_fetch(in_workspace(workspace), windowed, &result, &error));
    OK(dflat_result_views(result, &views, &count, &error));
    CHECK(count == 3 && priority_of(views[0]) == 2);
    dflat_result_release(result);
    dflat_query_release(windowed);
    dflat_query_release(query);
}

/* Reads windows of three, one after the other. */
static void read_windows(const dflat_workspace *workspace, const dflat_table *table) {
    dflat_query *query, *windowed, *next;
    dflat_result *result;
    const dflat_view *views;
    size_t count, read = 0;
    OK(dflat_query_new(table, NO_BYTES, &query, &error));
    OK(dflat_query_window(query, 0, 3, &windowed, &error));
    for (;;) {
        OK(dflat_fetch(in_workspace(workspace), windowed, &result, &error));
        OK(dflat_result_views(result, &views, &count, &error));
        if (count == 0) {
            break;
        }
        for (size_t i = 0; i < count; i++) {
            CHECK(priority_of(views[i]) == (int32_t)read++);
        }
        OK(dflat_query_after(windowed, views[count - 1].object, &next, &error));
        dflat_result_release(result);
        dflat_query_release(windowed);
        windowed = next;
    }
    CHECK(read == 10);
    dflat_result_release(result);
    dflat_query_release(windowed);
    dflat_query_release(query);
}

/* Reads that take too long, and reads that are cancelled. */
static void read_bounded(const dflat_workspace *workspace, const dflat_table *table) {
    dflat_query *query, *bounded;
    dflat_cancellation *cancellation;
    dflat_result *result;
    uint64_t count;
    OK(dflat_query_new(table, NO_BYTES, &query, &error));
    OK(dflat_query_bounded(query, 0, NULL, &bounded, &error));
    EXPECT(DFLAT_DEADLINE_EXCEEDED,
           dflat_fetch(in_workspace(workspace), bounded, &result, &error));
    dflat_query_release(bounded);
    OK(dflat_cancellation_new(&cancellation, &error));
    OK(dflat_query_bounded(query, UINT64_MAX, cancellation, &bounded, &error));
    OK(dflat_count(in_workspace(workspace), bounded, &count, &error));
    CHECK(count == 10);
    OK(dflat_cancellation_cancel(cancellation, &error));
    EXPECT(DFLAT_CANCELLED, dflat_fetch(in_workspace(workspace), bounded, &result, &error));
    CHECK(result == NULL);
    dflat_cancellation_release(cancellation);
    dflat_query_release(bounded);
    dflat_query_release(query);
}

static void read_one(const dflat_workspace *workspace, const dflat_table *table) {
    dflat_view view;
    dflat_text name;
    OK(dflat_find(in_workspace(workspace), table, 3, &view, &error));
    CHECK(has_title(view, "post 2"));
    dflat_object_release(view.object);
    OK(dflat_find(in_workspace(workspace), table, 1000, &view, &error));
    CHECK(view.object.chunk == NULL && view.payload == NULL);
    CHECK(get(in_workspace(workspace), table, "no post").object.chunk == NULL);
    OK(dflat_table_name(table, &name, &error));
    CHECK(name.length == 4 && memcmp(name.data, "Post", 4) == 0);
}

/* Waits for the completion of a transaction in the background. */
static void completed(void *context, dflat_code code, const dflat_error *failure) {
    counted *own = context;
    own->calls++;
    own->code = code;
    CHECK((failure == NULL) == (code == DFLAT_OK));
}

static void in_background(const dflat_workspace *workspace, const dflat_table *table) {
    counted handler = counting(abort_it, table, NULL);
    counted ended = counting(NULL, table, NULL);
    dflat_completion completion = {&ended, completed, count_drop};
    OK(dflat_perform(workspace, &table, 1, DFLAT_PERFORM_RETRY, handler_of(&handler), completion,
                     &error));
    OK(dflat_workspace_settle(workspace, &error));
    CHECK(handler.calls == 1 && handler.drops == 1);
    CHECK(ended.calls == 1 && ended.code == DFLAT_ABORTED);
    CHECK(get(in_workspace(workspace), table, "aborted").object.chunk == NULL);
}

static void by_queries(const dflat_workspace *workspace, const dflat_table *table) {
    dflat_query *queries[2];
    dflat_bytes low = {LOW_PRIORITIES, sizeof LOW_PRIORITIES};
    dflat_bytes high = {HIGH_PRIORITIES, sizeof HIGH_PRIORITIES};
    uint64_t count = 0;
    OK(dflat_query_new(table, low, &queries[0], &error));
    OK(dflat_query_new(table, high, &queries[1], &error));
    OK(dflat_count(in_workspace(workspace), queries[0], &count, &error));
    CHECK(count == 3);
    perform(workspace, table, by_query, queries, DFLAT_OK);
    OK(dflat_count(in_workspace(workspace), queries[1], &count, &error));
    CHECK(count == 0);
    dflat_query_release(queries[0]);
    dflat_query_release(queries[1]);
}

int main(int argc, char **argv) {
    dflat_workspace *workspace, *other;
    dflat_options *options;
    dflat_snapshot *snapshot;
    CHECK(argc == 2 && dflat_abi_version() == DFLAT_ABI_VERSION);
    dflat_table *table = post_table();
    OK(dflat_options_new(&options, &error));
    OK(dflat_options_set(options, DFLAT_OPTION_BUSY_TIMEOUT, 60000, &error));
    OK(dflat_workspace_open(text(argv[1]), options, &workspace, &error));
    OK(dflat_workspace_open(text(argv[1]), NULL, &other, &error));
    dflat_options_release(options);
    perform(workspace, table, fill, NULL, DFLAT_OK);
    read_all(other, table);
    read_windows(workspace, table);
    read_bounded(workspace, table);
    read_one(workspace, table);
    OK(dflat_snapshot_new(workspace, &snapshot, &error));
    dflat_view before = get(in_workspace(workspace), table, "post 3");
    perform(workspace, table, change, &before, DFLAT_OK);
    dflat_source source = {NULL, NULL, NULL};
    source.snapshot = snapshot;
    dflat_view old = get(source, table, "post 3");
    dflat_view now = get(in_workspace(other), table, "post 3");
    CHECK(priority_of(old) == 3 && priority_of(now) == 30);
    dflat_object_release(before.object);
    dflat_object_release(old.object);
    dflat_object_release(now.object);
    dflat_snapshot_release(snapshot);
    perform(workspace, table, nest, NULL, DFLAT_OK);
    CHECK(get(in_workspace(workspace), table, "undone").object.chunk == NULL);
    in_background(workspace, table);
    by_queries(workspace, table);
    OK(dflat_workspace_refresh(workspace, &error));
    OK(dflat_workspace_shutdown(other, 0, &error));
    OK(dflat_workspace_shutdown(workspace, DFLAT_SHUTDOWN_TRUNCATE | DFLAT_SHUTDOWN_VACUUM,
                                &error));
    dflat_workspace_release(other);
    dflat_workspace_release(workspace);
    dflat_table_release(table);
    return 0;
}
