/* The slots of the program that calls in random order, and its calls that read and compute. */
#ifndef RANDOM_H
#define RANDOM_H

#include "jobs.h"

enum { SLOTS = 6, THREADS = 2 };

static uint64_t state;

static uint32_t below(uint32_t bound) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % bound;
}

static dflat_table *table;
/* The options of workspaces without an executor, and those with one. */
static dflat_options *options, *options_with_jobs;
static line jobs;
static dflat_workspace *workspaces[SLOTS];
static dflat_snapshot *snapshots[SLOTS];
static dflat_query *queries[SLOTS];
static dflat_result *results[SLOTS];
static dflat_subscription *subscriptions[SLOTS];
static dflat_object objects[SLOTS];
static dflat_cancellation *cancellations[SLOTS];
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
        MAY(dflat_query_bounded(queries[slot], below(2) == 0 ? 0 : UINT64_MAX,
                                cancellations[below(SLOTS)], &made, &error));
    }
    if (made != NULL) {
        dflat_query_release(queries[slot]);
        queries[slot] = made;
    }
    dflat_buffer_release(buffer);
}

/* Makes a cancellation, or cancels the reads of queries that have one, now and later. */
static void cancel(void) {
    uint32_t slot = below(SLOTS);
    if (below(2) == 0) {
        MAY(dflat_cancellation_cancel(cancellations[slot], &error));
    } else {
        dflat_cancellation_release(cancellations[slot]);
        cancellations[slot] = NULL;
        MAY(dflat_cancellation_new(&cancellations[slot], &error));
    }
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

#endif
