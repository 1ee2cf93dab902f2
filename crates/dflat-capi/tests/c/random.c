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

static int32_t handle(void *context, dflat_transaction *transaction, dflat_error **error) {
    (void)context;
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
    const dflat_workspace *workspace = workspaces[below(SLOTS)];
    dflat_result_callback on_query = {NULL, on_result, on_drop};
    dflat_object_callback on_one = {NULL, on_object, on_drop};
    if (below(3) == 0) {
        MAY(dflat_subscription_cancel(subscriptions[slot], &error));
    }
    dflat_subscription_release(subscriptions[slot]);
    subscriptions[slot] = NULL;
    given++;
    if (below(2) == 0) {
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
        MAY(dflat_workspace_open(text(path), NULL, &workspaces[slot], &error));
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
    for (long steps = strtol(argv[3], NULL, 10); steps > 0; steps--) {
        switch (below(8)) {
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
    dflat_table_release(table);
    CHECK(__atomic_load_n(&dropped, __ATOMIC_SEQ_CST) == given);
    return 0;
}
