/* Calls functions in random order, with handles that are there and with NULL. Each call succeeds or
 * gives an error with a message; at the end, every context has been released once. */
#include "random.h"

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

/* Copies the file, which fails if there is a copy already, and saves the rows of the copy. */
static void copy(const dflat_workspace *workspace) {
    const dflat_table *tables = table;
    dflat_progress_callback progress = {NULL, report, on_drop};
    dflat_salvaged salvaged;
    char copied[512], saved[512];
    snprintf(copied, sizeof copied, "%s.copy", path);
    snprintf(saved, sizeof saved, "%s.saved", path);
    given += 2;
    MAY(dflat_workspace_backup(workspace, text(copied), progress, &error));
    MAY(dflat_salvage(text(copied), text(saved), &tables, 1, progress, &salvaged, &error));
    if (below(2) == 0) {
        remove(copied);
        remove(saved);
    }
}

static void suspend(const dflat_workspace *workspace);

static void keep_up(void) {
    const dflat_workspace *workspace = some_workspace();
    const dflat_table *tables = table;
    dflat_progress_callback progress = {NULL, report, on_drop};
    dflat_completion completion = {NULL, on_completion, on_drop};
    dflat_buffer *buffer = NULL;
    uint64_t number;
    switch (below(11)) {
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
    case 8:
        MAY(dflat_workspace_compact(workspace, &error));
        break;
    case 9:
        suspend(workspace);
        break;
    default:
        copy(workspace);
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

/* Closes the file for a moment. Transactions and reads wait for the end of a suspension, so that
 * this thread makes no other call of this kind meanwhile; a transaction is queued now and then. */
static void suspend(const dflat_workspace *workspace) {
    const dflat_table *tables = table;
    dflat_handler handler = {NULL, handle, on_drop};
    dflat_completion completion = {NULL, on_completion, on_drop};
    MAY(dflat_workspace_suspend(workspace, &error));
    if (below(2) == 0) {
        MAY(dflat_workspace_suspend(workspace, &error));
    }
    if (below(2) == 0) {
        given += 2;
        MAY(dflat_perform(workspace, &tables, 1, 0, handler, completion, &error));
    }
    MAY(dflat_workspace_resume(workspace, &error));
    MAY(dflat_workspace_resume(workspace, &error));
    MAY(dflat_workspace_settle(workspace, &error));
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
        /* Fails if the file is open with the other options. */
        MAY(dflat_workspace_open(text(path), below(2) == 0 ? options : options_with_jobs,
                                 &workspaces[slot], &error));
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

static void put_or_not(void *context, dflat_job *job) {
    static int number;
    switch (__atomic_add_fetch(&number, 1, __ATOMIC_SEQ_CST) % 8) {
    case 0:
        run_at_once(context, job);
        break;
    case 1:
        release_it(context, job);
        break;
    default:
        put(context, job);
    }
}

static void drop_jobs(void *context) {
    on_drop(NULL);
    drop_line(context);
}

static void make_options(void) {
    dflat_executor executor = {&jobs, put_or_not, drop_jobs};
    /* Work on the file waits for snapshots no longer than for other processes. */
    OK(dflat_options_new(&options, &error));
    OK(dflat_options_set(options, DFLAT_OPTION_BUSY_TIMEOUT, 20, &error));
    OK(dflat_options_new(&options_with_jobs, &error));
    OK(dflat_options_set(options_with_jobs, DFLAT_OPTION_BUSY_TIMEOUT, 20, &error));
    given++;
    OK(dflat_options_set_executor(options_with_jobs, executor, &error));
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    CHECK(argc == 4);
    path = argv[1];
    state = strtoull(argv[2], NULL, 10) * 2 + 1;
    table = post_table();
    begin_line(&jobs);
    make_options();
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, run_jobs, &jobs) == 0);
    }
    for (long steps = strtol(argv[3], NULL, 10); steps > 0; steps--) {
        switch (below(13)) {
        case 12:
            cancel();
            break;
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
        dflat_cancellation_release(cancellations[slot]);
        dflat_workspace_release(workspaces[slot]);
    }
    dflat_options_release(options);
    dflat_options_release(options_with_jobs);
    dflat_table_release(table);
    /* The executor is released when no job needs it any more. */
    wait_for(&jobs, &jobs.drops, 1);
    lock(&jobs);
    jobs.is_closed = 1;
    unlock(&jobs);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(__atomic_load_n(&dropped, __ATOMIC_SEQ_CST) == given);
    return 0;
}
