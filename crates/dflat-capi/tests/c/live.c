/* Live queries: an object, a result with its differences, a count; the ends of subscriptions. */
#include "support.h"

static dflat_workspace *workspace;
static dflat_table *table;

/* What a callback has seen. */
typedef struct seen {
    int calls, drops;
    int32_t event, priority;
    uint64_t count;
    uint64_t deleted, inserted, moved, updated;
    uint64_t commits;
    size_t objects;
} seen;

static void seen_drop(void *context) {
    ((seen *)context)->drops++;
}

static void on_object(void *context, int32_t event, dflat_view view) {
    seen *own = context;
    own->calls++;
    own->event = event;
    own->priority = event == DFLAT_DELETED ? 0 : priority_of(view);
}

static void on_count(void *context, dflat_code code, const dflat_error *failure, uint64_t count) {
    seen *own = context;
    CHECK(code == DFLAT_OK && failure == NULL);
    own->calls++;
    own->count = count;
}

static void on_result(void *context, dflat_code code, const dflat_error *failure,
                      const dflat_delivery *delivery) {
    seen *own = context;
    dflat_difference difference;
    dflat_result *result;
    uint64_t commit = 0;
    CHECK(code == DFLAT_OK && failure == NULL);
    own->calls++;
    OK(dflat_delivery_difference(delivery, &difference, &error));
    own->deleted = difference.deleted.count;
    own->inserted = difference.inserted.count;
    own->moved = difference.moved.count;
    own->updated = difference.updated.count;
    for (size_t i = 1; i < difference.inserted.count; i++) {
        CHECK(difference.inserted.first[i - 1] < difference.inserted.first[i]);
    }
    OK(dflat_delivery_result(delivery, &result, &error));
    OK(dflat_result_count(result, &own->objects, &error));
    dflat_result_release(result);
    OK(dflat_delivery_commit(delivery, &commit, &own->commits, &error));
    /* Waiting is refused in a callback. */
    EXPECT(DFLAT_WOULD_DEADLOCK, dflat_workspace_settle(workspace, &error));
}

typedef struct change {
    const char *title;
    int32_t priority;
    int32_t operation;
} change;

static int32_t make(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    change *wanted = own->more;
    payload made = post(wanted->title, wanted->priority);
    dflat_object base = NO_OBJECT;
    if (wanted->operation == DFLAT_DELETE) {
        base = get(in_transaction(transaction), own->table, wanted->title).object;
    }
    dflat_code code = dflat_transaction_submit(transaction, own->table, wanted->operation, 0, base,
                                               bytes_of(&made), NULL, NULL, error);
    dflat_object_release(base);
    return code;
}

static void put(const char *title, int32_t priority, int32_t operation) {
    change wanted = {title, priority, operation};
    perform(workspace, table, make, &wanted, DFLAT_OK);
    OK(dflat_workspace_settle(workspace, &error));
}

static void follow_object(void) {
    seen own;
    dflat_subscription *subscription;
    memset(&own, 0, sizeof own);
    dflat_object_callback callback = {&own, on_object, seen_drop};
    put("a", 1, DFLAT_CREATE);
    dflat_view view = get(in_workspace(workspace), table, "a");
    OK(dflat_subscribe_object(workspace, table, view.object, callback, &subscription, &error));
    dflat_object_release(view.object);
    put("a", 2, DFLAT_UPSERT);
    CHECK(own.calls == 1 && own.event == DFLAT_UPDATED && own.priority == 2);
    put("a", 0, DFLAT_DELETE);
    CHECK(own.calls == 2 && own.event == DFLAT_DELETED);
    OK(dflat_subscription_outcome(subscription, &error));
    dflat_subscription_release(subscription);
    CHECK(own.drops == 1);
}

static void follow_query(const dflat_query *low) {
    seen own, known;
    dflat_subscription *one, *other;
    dflat_result *result;
    memset(&own, 0, sizeof own);
    memset(&known, 0, sizeof known);
    dflat_result_callback callback = {&own, on_result, seen_drop};
    dflat_result_callback another = {&known, on_result, seen_drop};
    put("b", 1, DFLAT_CREATE);
    OK(dflat_fetch(in_workspace(workspace), low, &result, &error));
    OK(dflat_subscribe_query(workspace, low, NULL, 0, callback, &one, &error));
    OK(dflat_subscribe_query(workspace, low, result, 0, another, &other, &error));
    OK(dflat_workspace_settle(workspace, &error));
    CHECK(own.calls == 1 && own.objects == 1 && own.inserted == 1 && own.commits == 0);
    CHECK(known.calls == 0);
    put("c", 2, DFLAT_CREATE);
    CHECK(own.calls == 2 && own.objects == 2 && own.inserted == 1 && own.commits == 1);
    CHECK(known.calls == 1 && known.objects == 2 && known.inserted == 1);
    put("c", 0, DFLAT_UPSERT);
    CHECK(own.calls == 3 && own.updated == 1 && own.inserted == 0);
    put("c", 1000, DFLAT_UPSERT);
    CHECK(own.calls == 4 && own.deleted == 1 && own.objects == 1);
    OK(dflat_subscription_cancel(one, &error));
    CHECK(own.drops == 1);
    put("d", 1, DFLAT_CREATE);
    CHECK(own.calls == 4 && known.calls == 4);
    dflat_subscription_release(one);
    dflat_subscription_release(other);
    CHECK(own.drops == 1 && known.drops == 1);
    dflat_result_release(result);
}

/* The caller knows a result to which commits were made since. */
static void follow_from_stale_result(const dflat_query *low) {
    seen own;
    dflat_subscription *subscription;
    dflat_result *result;
    size_t known;
    memset(&own, 0, sizeof own);
    dflat_result_callback callback = {&own, on_result, seen_drop};
    OK(dflat_fetch(in_workspace(workspace), low, &result, &error));
    OK(dflat_result_count(result, &known, &error));
    CHECK(known == 2);
    put("b", 0, DFLAT_DELETE);
    put("stale", 1, DFLAT_CREATE);
    put("stale too", 1, DFLAT_CREATE);
    OK(dflat_subscribe_query(workspace, low, result, 0, callback, &subscription, &error));
    OK(dflat_workspace_settle(workspace, &error));
    CHECK(own.calls == 1 && own.objects == 3);
    CHECK(own.deleted == 1 && own.inserted == 2 && own.updated == 0 && own.moved == 0);
    dflat_subscription_release(subscription);
    dflat_result_release(result);
    put("stale too", 0, DFLAT_DELETE);
    CHECK(own.calls == 1 && own.drops == 1);
}

static void follow_count(const dflat_query *low) {
    seen own;
    dflat_subscription *subscription;
    memset(&own, 0, sizeof own);
    dflat_count_callback callback = {&own, on_count, seen_drop};
    OK(dflat_subscribe_count(workspace, low, DFLAT_SUBSCRIBE_WITHOUT_INITIAL, callback,
                             &subscription, &error));
    OK(dflat_workspace_settle(workspace, &error));
    CHECK(own.calls == 0);
    put("e", 1, DFLAT_CREATE);
    CHECK(own.calls == 1 && own.count == 3);
    put("e", 2, DFLAT_UPSERT);
    CHECK(own.calls == 1);
    dflat_subscription_release(subscription);
    CHECK(own.drops == 1);
}

/* A subscription that cannot be made releases its callback. */
static void refuse(const dflat_query *low) {
    seen own;
    dflat_subscription *subscription;
    dflat_query *all;
    dflat_result *result;
    memset(&own, 0, sizeof own);
    dflat_result_callback callback = {&own, on_result, seen_drop};
    dflat_result_callback no_call = {&own, NULL, seen_drop};
    OK(dflat_query_new(table, NO_BYTES, &all, &error));
    OK(dflat_fetch(in_workspace(workspace), all, &result, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_subscribe_query(workspace, low, result, 0, callback, &subscription, &error));
    CHECK(own.drops == 1 && subscription == NULL);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_subscribe_query(workspace, low, NULL, 64, callback, &subscription, &error));
    CHECK(own.drops == 2);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_subscribe_query(workspace, low, NULL, 0, no_call, &subscription, &error));
    CHECK(own.drops == 3);
    dflat_result_release(result);
    dflat_query_release(all);
}

/* A subscription ends with its workspace. */
static void end(const dflat_query *low) {
    seen own;
    dflat_subscription *subscription;
    memset(&own, 0, sizeof own);
    dflat_result_callback callback = {&own, on_result, seen_drop};
    OK(dflat_subscribe_query(workspace, low, NULL, 0, callback, &subscription, &error));
    OK(dflat_workspace_shutdown(workspace, 0, &error));
    CHECK(own.drops == 1);
    dflat_subscription_release(subscription);
    EXPECT(DFLAT_SHUT_DOWN,
           dflat_subscribe_query(workspace, low, NULL, 0, callback, &subscription, &error));
    CHECK(own.drops == 2);
}

int main(int argc, char **argv) {
    dflat_query *low;
    dflat_bytes bytes = {LOW_PRIORITIES, sizeof LOW_PRIORITIES};
    CHECK(argc == 2);
    table = post_table();
    OK(dflat_query_new(table, bytes, &low, &error));
    OK(dflat_workspace_open(text(argv[1]), NULL, &workspace, &error));
    follow_object();
    follow_query(low);
    follow_from_stale_result(low);
    follow_count(low);
    refuse(low);
    end(low);
    dflat_query_release(low);
    dflat_workspace_release(workspace);
    dflat_table_release(table);
    return 0;
}
