/* Each number that a program may choose: ways to assign keys, kinds of values, aggregates, options,
 * statistics, and subscriptions to the keys that begin with a text. */
#include "support.h"

static dflat_workspace *workspace;

static dflat_table *table_of(const uint8_t *descriptor, size_t length, int32_t auto_key) {
    dflat_bytes bytes = {descriptor, length};
    dflat_table *made;
    OK(dflat_table_new(bytes, auto_key, &made, &error));
    return made;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static int32_t insert_twice(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    payload made = post("", 1);
    int32_t result;
    dflat_view views[2];
    for (int i = 0; i < 2; i++) {
        dflat_code code = dflat_transaction_submit(transaction, own->table, DFLAT_CREATE, 0,
                                                   NO_OBJECT, bytes_of(&made), &result, &views[i],
                                                   error);
        if (code != DFLAT_OK) {
            return code;
        }
        CHECK(result == DFLAT_INSERTED);
        const uint8_t *title = field(views[i], 4);
        title += load(title, 4);
        /* A UUID of version 7 as text. */
        CHECK(load(title, 4) == 36 && title[4 + 8] == '-' && title[4 + 14] == '7');
    }
    CHECK(views[0].row_id != views[1].row_id);
    dflat_object_release(views[0].object);
    dflat_object_release(views[1].object);
    return DFLAT_OK;
}

static void assign_keys(void) {
    dflat_table *posts = table_of(POST_DESCRIPTOR, sizeof POST_DESCRIPTOR, DFLAT_AUTO_KEY_UUID);
    perform(workspace, posts, insert_twice, NULL, DFLAT_OK);
    dflat_table_release(posts);
}

/* A way to assign keys that the type of the key does not allow. */
static void refuse_keys(void) {
    dflat_bytes post = {POST_DESCRIPTOR, sizeof POST_DESCRIPTOR};
    dflat_bytes number = {NUMBER_DESCRIPTOR, sizeof NUMBER_DESCRIPTOR};
    dflat_table *made;
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_table_new(post, DFLAT_AUTO_KEY_INCREASING, &made, &error));
    CHECK(made == NULL);
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_table_new(number, DFLAT_AUTO_KEY_UUID, &made, &error));
    CHECK(made == NULL);
    OK(dflat_table_new(number, DFLAT_AUTO_KEY_INCREASING, &made, &error));
    dflat_table_release(made);
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* The payload of a number: a table with one `ulong` field at its 4th byte. */
static payload number(uint64_t value) {
    payload made;
    memset(&made, 0, sizeof made);
    store(made.data, 12, 4);
    store(made.data + 4, 6, 2);
    store(made.data + 6, 12, 2);
    store(made.data + 8, 4, 2);
    store(made.data + 12, 8, 4);
    store(made.data + 16, (uint32_t)value, 4);
    store(made.data + 20, (uint32_t)(value >> 32), 4);
    made.length = 24;
    return made;
}

static int32_t insert_numbers(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    uint64_t numbers[] = {7, UINT64_MAX, UINT64_C(1) << 63};
    for (int i = 0; i < 3; i++) {
        payload made = number(numbers[i]);
        dflat_code code = dflat_transaction_submit(transaction, own->table, DFLAT_CREATE, 0,
                                                   NO_OBJECT, bytes_of(&made), NULL, NULL, error);
        if (code != DFLAT_OK) {
            return code;
        }
    }
    return DFLAT_OK;
}

static dflat_value computed(const dflat_query *query, int32_t aggregate, const char *field) {
    dflat_value value;
    dflat_buffer *content;
    OK(dflat_aggregate(in_workspace(workspace), query, aggregate, text(field), &value, &content,
                       &error));
    CHECK((value.kind == DFLAT_TEXT) == (content != NULL));
    dflat_buffer_release(content);
    return value;
}

static void use_values(void) {
    dflat_table *numbers =
        table_of(NUMBER_DESCRIPTOR, sizeof NUMBER_DESCRIPTOR, DFLAT_AUTO_KEY_NONE);
    dflat_value key = {DFLAT_UNSIGNED, 0, 0, {NULL, 0}}, value;
    dflat_query *all, *none;
    dflat_view view;
    perform(workspace, numbers, insert_numbers, NULL, DFLAT_OK);
    key.integer = -1; /* The bits of UINT64_MAX. */
    OK(dflat_get(in_workspace(workspace), numbers, &key, 1, &view, &error));
    CHECK(view.payload != NULL && load(field(view, 4) + 4, 4) == UINT32_MAX);
    dflat_object_release(view.object);
    key.kind = DFLAT_INTEGER; /* The number -1, which is no key. */
    OK(dflat_get(in_workspace(workspace), numbers, &key, 1, &view, &error));
    CHECK(view.payload == NULL);
    OK(dflat_query_new(numbers, NO_BYTES, &all, &error));
    value = computed(all, DFLAT_SMALLEST, "id");
    CHECK(value.kind == DFLAT_INTEGER && value.integer == 7);
    value = computed(all, DFLAT_LARGEST, "id");
    CHECK(value.kind == DFLAT_UNSIGNED && value.integer == -1);
    value = computed(all, DFLAT_MEAN, "id");
    CHECK(value.kind == DFLAT_FLOAT && value.number > 9.2e18 && value.number < 9.3e18);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_aggregate(in_workspace(workspace), all, DFLAT_SUM, text("id"), &value,
                           &(dflat_buffer *){NULL}, &error));
    key.kind = DFLAT_UNSIGNED;
    OK(dflat_query_parse(numbers, text("id == ?1 && id < 7"), text(""), &key, 1, &none, &error));
    for (int32_t aggregate = DFLAT_SUM; aggregate <= DFLAT_LARGEST; aggregate++) {
        CHECK(computed(none, aggregate, "id").kind == DFLAT_NULL);
    }
    dflat_query_release(none);
    dflat_query_release(all);
    dflat_table_release(numbers);
}

/* ---- Dictionary ------------------------------------------------------------------------------ */

static void on_entry(void *context, dflat_text key, const dflat_entry_value *value,
                     int32_t is_initial) {
    int *calls = context;
    CHECK(key.length == 3 && memcmp(key.data, "on ", 2) == 0 && value != NULL);
    calls[is_initial]++;
}

static void set(const char *key) {
    dflat_entry_value value = {DFLAT_ENTRY_BOOL, 1, 0, {NULL, 0}, {NULL, 0}};
    OK(dflat_dictionary_set(workspace, NULL, text("space"), text(key), &value, &error));
}

static void follow_keys(void) {
    int calls[2] = {0, 0};
    dflat_entry_callback callback = {calls, on_entry, NULL};
    dflat_subscription *made;
    set("on1");
    set("off");
    OK(dflat_dictionary_subscribe(workspace, text("space"), text("on"), DFLAT_DICTIONARY_PREFIX,
                                  callback, &made, &error));
    CHECK(calls[0] == 0 && calls[1] == 1);
    set("on2");
    set("of2");
    CHECK(calls[0] == 1 && calls[1] == 1);
    dflat_subscription_release(made);
}

/* ---- Options --------------------------------------------------------------------------------- */

/* The options, a value that each takes, and one that it refuses. */
static const struct {
    int32_t option;
    int64_t value, refused;
} OPTIONS[] = {
    {DFLAT_OPTION_FULL_DURABILITY, 1, 2},
    {DFLAT_OPTION_SINGLE_WRITER, 1, 2},
    {DFLAT_OPTION_BUSY_TIMEOUT, 5000, -1},
    {DFLAT_OPTION_THREADS_MAX, 3, -1},
    {DFLAT_OPTION_READERS_MAX, 3, -1},
    {DFLAT_OPTION_DICTIONARY_KEYS_MAX, 100, -1},
    {DFLAT_OPTION_LOG_BYTES_MAX, 1 << 20, -1},
    {DFLAT_OPTION_READ_ONLY, 0, 2},
    {DFLAT_OPTION_ALLOW_MISSING, 0, 2},
    {DFLAT_OPTION_RECLAIM, 0, 2},
    {DFLAT_OPTION_FILE_PROTECTION, 0, 5},
    {DFLAT_OPTION_FOLLOW_PROCESSES, 1, -1},
    {DFLAT_OPTION_FOLLOW_BYTES_MAX, 1 << 20, -1},
    {DFLAT_OPTION_CHANGE_LOG, 1, 2},
    {DFLAT_OPTION_SNAPSHOT_AGE_MAX, 60000, -1},
    {DFLAT_OPTION_SUBSCRIBER_PATIENCE, 1000, -1},
    {DFLAT_OPTION_INDEX_ON_READ, 1, 2},
    {DFLAT_OPTION_CHANGE_LOG_BYTES_MAX, 1 << 20, -1},
    {DFLAT_OPTION_CHANGE_LOG_AGE_MAX, 60000, -1},
    {DFLAT_OPTION_PAGE_CACHE_BYTES, 1 << 20, -1},
};

static int32_t insert_post(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    return create(transaction, own->table, "a", 1, error);
}

/* A workspace with all options, and one for a file that is missing. */
static void open_with_options(const char *path) {
    char name[512];
    dflat_options *options;
    dflat_workspace *opened;
    dflat_table *posts = post_table();
    size_t count = sizeof OPTIONS / sizeof *OPTIONS;
    OK(dflat_options_new(&options, &error));
    for (size_t i = 0; i < count; i++) {
        CHECK(OPTIONS[i].option == (int32_t)i + 1);
        EXPECT(DFLAT_INVALID_ARGUMENT,
               dflat_options_set(options, OPTIONS[i].option, OPTIONS[i].refused, &error));
        OK(dflat_options_set(options, OPTIONS[i].option, OPTIONS[i].value, &error));
    }
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_options_set(options, 0, 1, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_options_set(options, OPTIONS[count - 1].option + 1, 1, &error));
    snprintf(name, sizeof name, "%s.options", path);
    OK(dflat_workspace_open(text(name), options, &opened, &error));
    perform(opened, posts, insert_post, NULL, DFLAT_OK);
    dflat_workspace_release(opened);
    dflat_options_release(options);

    OK(dflat_options_new(&options, &error));
    OK(dflat_options_set(options, DFLAT_OPTION_READ_ONLY, 1, &error));
    OK(dflat_options_set(options, DFLAT_OPTION_ALLOW_MISSING, 1, &error));
    snprintf(name, sizeof name, "%s.missing", path);
    OK(dflat_workspace_open(text(name), options, &opened, &error));
    CHECK(get(in_workspace(opened), posts, "a").payload == NULL);
    perform(opened, posts, insert_post, NULL, DFLAT_READ_ONLY);
    FILE *made = fopen(name, "rb");
    CHECK(made == NULL);
    dflat_workspace_release(opened);
    dflat_options_release(options);
    dflat_table_release(posts);
}

/* ---- Statistics ------------------------------------------------------------------------------ */

static uint64_t statistic(int32_t number) {
    uint64_t value = UINT64_MAX;
    OK(dflat_workspace_statistic(workspace, number, &value, &error));
    return value;
}

static void on_count(void *context, dflat_code code, const dflat_error *failure, uint64_t count) {
    CHECK(context == NULL && code == DFLAT_OK && failure == NULL && count > 0);
}

static void count_events(void) {
    dflat_table *posts = post_table();
    dflat_query *all;
    dflat_snapshot *snapshot;
    dflat_subscription *live;
    dflat_count_callback callback = {NULL, on_count, NULL};
    /* The dictionary is written by a transaction, too. */
    OK(dflat_dictionary_synchronize(workspace, &error));
    OK(dflat_query_new(posts, NO_BYTES, &all, &error));
    OK(dflat_subscribe_count(workspace, all, 0, callback, &live, &error));
    uint64_t before = statistic(DFLAT_STATISTIC_TRANSACTIONS);
    uint64_t failed = statistic(DFLAT_STATISTIC_FAILED_TRANSACTIONS);
    uint64_t conflicts = statistic(DFLAT_STATISTIC_CONFLICTS);
    uint64_t delivered = statistic(DFLAT_STATISTIC_DELIVERIES);
    perform(workspace, posts, insert_post, NULL, DFLAT_OK);
    perform(workspace, posts, insert_post, NULL, DFLAT_ALREADY_EXISTS);
    OK(dflat_workspace_settle(workspace, &error));
    CHECK(statistic(DFLAT_STATISTIC_TRANSACTIONS) == before + 1);
    CHECK(statistic(DFLAT_STATISTIC_FAILED_TRANSACTIONS) == failed + 1);
    CHECK(statistic(DFLAT_STATISTIC_CONFLICTS) == conflicts + 1);
    CHECK(statistic(DFLAT_STATISTIC_DELIVERIES) > delivered);
    CHECK(statistic(DFLAT_STATISTIC_RETRIES) == 0);
    CHECK(statistic(DFLAT_STATISTIC_GROUPS) >= 1);
    CHECK(statistic(DFLAT_STATISTIC_GROUPED_TRANSACTIONS) == before + 1);
    CHECK(statistic(DFLAT_STATISTIC_LARGEST_GROUP) >= 1);
    CHECK(statistic(DFLAT_STATISTIC_LOOK_UPS) < UINT64_MAX);
    CHECK(statistic(DFLAT_STATISTIC_LOOK_UPS_SAVED) < UINT64_MAX);
    CHECK(statistic(DFLAT_STATISTIC_FOLLOWED_COMMITS) == 0);
    CHECK(statistic(DFLAT_STATISTIC_RENEWALS) < UINT64_MAX);
    CHECK(statistic(DFLAT_STATISTIC_REREADS) == 0);
    CHECK(statistic(DFLAT_STATISTIC_CHANGE_RECORDS) == 0);
    CHECK(statistic(DFLAT_STATISTIC_CHANGE_RECORD_BYTES) == 0);
    CHECK(statistic(DFLAT_STATISTIC_LOG_BYTES) > 0);
    CHECK(statistic(DFLAT_STATISTIC_LOG_IS_PINNED) == 0);
    CHECK(statistic(DFLAT_STATISTIC_LOG_WAITS) == 0);
    CHECK(statistic(DFLAT_STATISTIC_FOLLOWS_PROCESSES) <= 1);
    CHECK(statistic(DFLAT_STATISTIC_LOOKS_AT_INTERVALS) <= 1);
    CHECK(statistic(DFLAT_STATISTIC_OLDEST_SNAPSHOT) == 0);
    OK(dflat_snapshot_new(workspace, &snapshot, &error));
    while (statistic(DFLAT_STATISTIC_OLDEST_SNAPSHOT) == 0) {
        /* It is held for less than a millisecond. */
    }
    dflat_snapshot_release(snapshot);
    dflat_subscription_release(live);
    dflat_query_release(all);
    dflat_table_release(posts);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    OK(dflat_workspace_open(text(argv[1]), NULL, &workspace, &error));
    assign_keys();
    refuse_keys();
    use_values();
    follow_keys();
    count_events();
    open_with_options(argv[1]);
    dflat_workspace_release(workspace);
    return 0;
}
