/* Each function that takes a callback releases its context once: if it succeeds, and if it fails
 * for any of its arguments. A test checks that this program calls each such function. */
#include "support.h"

static dflat_workspace *workspace;
static dflat_table *table;
static dflat_query *all;
static const char *path;

/* The contexts that were handed over, those that were released, and the calls. */
static int given, dropped, called;

static void on_drop(void *context) {
    CHECK(context == &given);
    dropped++;
}

/* Makes a call that takes a callback, which must have been released when `when` has run. */
#define TAKES(expected, call, when)                                                       \
    do {                                                                                  \
        given++;                                                                          \
        EXPECT(expected, call);                                                           \
        when;                                                                             \
        CHECK(dropped == given);                                                          \
    } while (0)

#define REFUSES(call) TAKES(DFLAT_INVALID_ARGUMENT, call, (void)0)

static const dflat_text NO_TEXT = {(const uint8_t *)"\xff", 1};

/* ---- Progress -------------------------------------------------------------------------------- */

static int32_t go_on(void *context, uint64_t done, uint64_t total) {
    CHECK(context == &given && (total == 0 || done <= total));
    called++;
    return 0;
}

static int32_t stop(void *context, uint64_t done, uint64_t total) {
    go_on(context, done, total);
    return 1;
}

/* Makes the file large enough for more than one step of a copy. */
static int32_t enlarge(void *context, dflat_transaction *transaction, dflat_error **error) {
    (void)context;
    for (int i = 0; i < 5000; i++) {
        char title[200];
        snprintf(title, sizeof title, "%0190d", i);
        dflat_code code = create(transaction, table, title, i, error);
        if (code != DFLAT_OK) {
            return code;
        }
    }
    return DFLAT_OK;
}

static void report_progress(void) {
    dflat_progress_callback going = {&given, go_on, on_drop}, stopping = {&given, stop, on_drop};
    dflat_progress_callback silent = {&given, NULL, on_drop};
    const dflat_table *tables = table, *none = NULL;
    char copy[512], saved[512];
    uint64_t problems;
    dflat_salvaged salvaged;
    snprintf(copy, sizeof copy, "%s.copy", path);
    snprintf(saved, sizeof saved, "%s.saved", path);
    perform(workspace, table, enlarge, NULL, DFLAT_OK);
    TAKES(DFLAT_CANCELLED, dflat_workspace_backup(workspace, text(copy), stopping, &error),
          (void)0);
    TAKES(DFLAT_OK, dflat_workspace_backup(workspace, text(copy), going, &error), (void)0);
    REFUSES(dflat_workspace_backup(workspace, text(copy), going, &error));
    REFUSES(dflat_workspace_backup(workspace, NO_TEXT, silent, &error));
    REFUSES(dflat_workspace_backup(NULL, text(copy), going, &error));

    TAKES(DFLAT_OK, dflat_workspace_check(workspace, &tables, 1, going, &problems, NULL, &error),
          (void)0);
    TAKES(DFLAT_CANCELLED,
          dflat_workspace_check(workspace, &tables, 1, stopping, &problems, NULL, &error), (void)0);
    REFUSES(dflat_workspace_check(workspace, &none, 1, silent, &problems, NULL, &error));
    REFUSES(dflat_workspace_check(workspace, &tables, 1, going, NULL, NULL, &error));
    REFUSES(dflat_workspace_check(NULL, &tables, 1, going, &problems, NULL, &error));

    TAKES(DFLAT_OK, dflat_workspace_repair(workspace, &tables, 1, silent, &problems, NULL, &error),
          (void)0);
    TAKES(DFLAT_CANCELLED,
          dflat_workspace_repair(workspace, &tables, 1, stopping, &problems, NULL, &error),
          (void)0);
    REFUSES(dflat_workspace_repair(workspace, &none, 1, silent, &problems, NULL, &error));
    REFUSES(dflat_workspace_repair(workspace, &tables, 1, going, NULL, NULL, &error));
    REFUSES(dflat_workspace_repair(NULL, &tables, 1, going, &problems, NULL, &error));

    TAKES(DFLAT_CANCELLED,
          dflat_salvage(text(copy), text(saved), &tables, 1, stopping, &salvaged, &error), (void)0);
    TAKES(DFLAT_OK, dflat_salvage(text(copy), text(saved), &tables, 1, going, &salvaged, &error),
          (void)0);
    REFUSES(dflat_salvage(text(copy), text(saved), &tables, 1, going, &salvaged, &error));
    REFUSES(dflat_salvage(text(copy), NO_TEXT, &tables, 1, going, &salvaged, &error));
    REFUSES(dflat_salvage(text(copy), text(saved), NULL, 1, going, &salvaged, &error));
    REFUSES(dflat_salvage(text(copy), text(saved), &tables, 1, silent, NULL, &error));
    CHECK(called > 0);
}

/* ---- Transactions ---------------------------------------------------------------------------- */

static int32_t nothing(void *context, dflat_transaction *transaction, dflat_error **error) {
    CHECK(context == &given && transaction != NULL);
    called++;
    return create(transaction, table, "nothing", 1, error);
}

static int32_t fail(void *context, dflat_transaction *transaction, dflat_error **error) {
    nothing(context, transaction, error);
    return 9;
}

static int32_t write_nothing(void *context, dflat_view view, dflat_error **error) {
    CHECK(context == &given && view.payload != NULL && error != NULL);
    called++;
    return DFLAT_OK;
}

static int32_t fail_to_write(void *context, dflat_view view, dflat_error **error) {
    return write_nothing(context, view, error) + 9;
}

static int32_t in_transaction_of_a_handler(void *context, dflat_transaction *transaction,
                                           dflat_error **error) {
    dflat_handler no_call = {&given, NULL, on_drop}, changes = {&given, nothing, on_drop};
    dflat_handler failing = {&given, fail, on_drop};
    dflat_object_handler no_write = {&given, NULL, on_drop}, write = {&given, write_nothing, on_drop};
    dflat_object_handler failing_write = {&given, fail_to_write, on_drop};
    dflat_transaction *wrong = (dflat_transaction *)workspace;
    uint64_t count;
    (void)context;
    (void)error;
    TAKES(DFLAT_USER, dflat_transaction_nested(transaction, failing, &error), (void)0);
    TAKES(DFLAT_OK, dflat_transaction_nested(transaction, changes, &error), (void)0);
    REFUSES(dflat_transaction_nested(transaction, no_call, &error));
    REFUSES(dflat_transaction_nested(NULL, changes, &error));
    REFUSES(dflat_transaction_nested(wrong, changes, &error));
    TAKES(DFLAT_USER, dflat_transaction_write_each(transaction, all, failing_write, &count, &error),
          (void)0);
    TAKES(DFLAT_OK, dflat_transaction_write_each(transaction, all, write, NULL, &error), (void)0);
    REFUSES(dflat_transaction_write_each(transaction, all, no_write, &count, &error));
    REFUSES(dflat_transaction_write_each(transaction, NULL, write, &count, &error));
    REFUSES(dflat_transaction_write_each(wrong, all, write, &count, &error));
    return DFLAT_OK;
}

/* The transactions of this program run on its own thread, or have ended after a call of `settle`. */
static void settle(void) {
    OK(dflat_workspace_settle(workspace, &error));
}

static void on_completion(void *context, dflat_code code, const dflat_error *failure) {
    CHECK(context == &given && (code == DFLAT_OK) == (failure == NULL));
    called++;
}

static void on_job(void *context, dflat_job *job) {
    CHECK(context == &given);
    CHECK(dflat_job_release(job) == DFLAT_OK);
}

static void perform_transactions(void) {
    dflat_handler changes = {&given, nothing, on_drop}, no_call = {&given, NULL, on_drop};
    dflat_handler failing = {&given, fail, on_drop};
    dflat_completion ended = {&given, on_completion, on_drop};
    const dflat_table *tables = table;
    dflat_options *options;
    TAKES(DFLAT_USER, dflat_perform_and_wait(workspace, &tables, 1, 0, failing, &error), (void)0);
    REFUSES(dflat_perform_and_wait(workspace, &tables, 1, 0, no_call, &error));
    REFUSES(dflat_perform_and_wait(NULL, &tables, 1, 0, changes, &error));
    given++; /* This function takes two callbacks. */
    TAKES(DFLAT_OK, dflat_perform(workspace, &tables, 1, 0, failing, ended, &error), settle());
    given++;
    REFUSES(dflat_perform(workspace, &tables, 1, 0, no_call, ended, &error));
    given++;
    REFUSES(dflat_perform(NULL, &tables, 1, 0, changes, ended, &error));
    perform(workspace, table, in_transaction_of_a_handler, NULL, DFLAT_OK);
    TAKES(DFLAT_OK, dflat_indexes_then(workspace, ended, &error), settle());
    REFUSES(dflat_indexes_then(NULL, ended, &error));
    REFUSES(dflat_indexes_then((const dflat_workspace *)table, ended, &error));

    dflat_executor executor = {&given, on_job, on_drop}, idle = {&given, NULL, on_drop};
    OK(dflat_options_new(&options, &error));
    REFUSES(dflat_options_set_executor(NULL, executor, &error));
    REFUSES(dflat_options_set_executor(options, idle, &error));
    TAKES(DFLAT_OK, dflat_options_set_executor(options, executor, &error),
          dflat_options_release(options));
}

/* ---- Subscriptions --------------------------------------------------------------------------- */

static void on_object(void *context, int32_t event, dflat_view view) {
    CHECK(context == &given && (event == DFLAT_DELETED) == (view.payload == NULL));
}

static void on_count(void *context, dflat_code code, const dflat_error *failure, uint64_t count) {
    CHECK(context == &given && code == DFLAT_OK && failure == NULL && count > 0);
}

static void on_result(void *context, dflat_code code, const dflat_error *failure,
                      const dflat_delivery *delivery) {
    CHECK(context == &given && code == DFLAT_OK && failure == NULL && delivery != NULL);
}

static void on_entry(void *context, dflat_text key, const dflat_entry_value *value,
                     int32_t is_initial) {
    CHECK(context == &given && key.length > 0 && value != NULL && is_initial == 1);
}

static void use_dictionary(void) {
    dflat_entry_callback callback = {&given, on_entry, on_drop}, no_call = {&given, NULL, on_drop};
    dflat_entry_value value = {DFLAT_ENTRY_INT64, 1, 0, {NULL, 0}, {NULL, 0}};
    dflat_subscription *made;
    OK(dflat_dictionary_set(workspace, NULL, text(""), text("key"), &value, &error));
    TAKES(DFLAT_OK, dflat_dictionary_each(workspace, text(""), text(""), callback, &error),
          (void)0);
    REFUSES(dflat_dictionary_each(workspace, text(""), text(""), no_call, &error));
    REFUSES(dflat_dictionary_each(workspace, NO_TEXT, text(""), callback, &error));
    REFUSES(dflat_dictionary_each(workspace, text(""), NO_TEXT, callback, &error));
    REFUSES(dflat_dictionary_each(NULL, text(""), text(""), callback, &error));
    TAKES(DFLAT_OK,
          dflat_dictionary_subscribe(workspace, text(""), text("key"), 0, callback, &made, &error),
          dflat_subscription_release(made));
    REFUSES(dflat_dictionary_subscribe(workspace, text(""), text("key"), 0, no_call, &made, &error));
    REFUSES(dflat_dictionary_subscribe(workspace, text(""), text("key"), 9, callback, &made,
                                       &error));
    REFUSES(dflat_dictionary_subscribe(workspace, text(""), NO_TEXT, 0, callback, &made, &error));
    REFUSES(dflat_dictionary_subscribe(workspace, text(""), text("key"), 0, callback, NULL, &error));
    REFUSES(dflat_dictionary_subscribe(NULL, text(""), text("key"), 0, callback, &made, &error));
}

static void subscribe(void) {
    dflat_object_callback on_one = {&given, on_object, on_drop}, no_one = {&given, NULL, on_drop};
    dflat_count_callback counts = {&given, on_count, on_drop}, no_count = {&given, NULL, on_drop};
    dflat_result_callback results = {&given, on_result, on_drop}, none = {&given, NULL, on_drop};
    dflat_subscription *made;
    dflat_object object = get(in_workspace(workspace), table, "nothing").object;
    TAKES(DFLAT_OK, dflat_subscribe_object(workspace, table, object, on_one, &made, &error),
          dflat_subscription_release(made));
    REFUSES(dflat_subscribe_object(workspace, table, object, no_one, &made, &error));
    REFUSES(dflat_subscribe_object(workspace, table, NO_OBJECT, on_one, &made, &error));
    REFUSES(dflat_subscribe_object(workspace, NULL, object, on_one, &made, &error));
    REFUSES(dflat_subscribe_object(workspace, table, object, on_one, NULL, &error));
    REFUSES(dflat_subscribe_object(NULL, table, object, on_one, &made, &error));
    dflat_object_release(object);

    TAKES(DFLAT_OK, dflat_subscribe_count(workspace, all, 0, counts, &made, &error),
          dflat_subscription_cancel(made, NULL));
    dflat_subscription_release(made);
    REFUSES(dflat_subscribe_count(workspace, all, 0, no_count, &made, &error));
    REFUSES(dflat_subscribe_count(workspace, all, 64, counts, &made, &error));
    REFUSES(dflat_subscribe_count(workspace, NULL, 0, counts, &made, &error));
    REFUSES(dflat_subscribe_count(workspace, all, 0, counts, NULL, &error));
    REFUSES(dflat_subscribe_count(NULL, all, 0, counts, &made, &error));

    TAKES(DFLAT_OK, dflat_subscribe_query(workspace, all, NULL, 0, results, &made, &error),
          dflat_subscription_cancel(made, NULL));
    dflat_subscription_release(made);
    REFUSES(dflat_subscribe_query(workspace, all, NULL, 0, none, &made, &error));
    REFUSES(dflat_subscribe_query(workspace, all, (const dflat_result *)table, 0, results, &made,
                                  &error));
    REFUSES(dflat_subscribe_query(workspace, NULL, NULL, 0, results, &made, &error));
    REFUSES(dflat_subscribe_query(NULL, all, NULL, 0, results, &made, &error));
}

/* ---- After a shutdown ------------------------------------------------------------------------ */

static void after_the_end(void) {
    dflat_completion ended = {&given, on_completion, on_drop};
    dflat_object_callback on_one = {&given, on_object, on_drop};
    dflat_count_callback counts = {&given, on_count, on_drop};
    dflat_result_callback results = {&given, on_result, on_drop};
    dflat_entry_callback entries = {&given, on_entry, on_drop};
    dflat_progress_callback going = {&given, go_on, on_drop};
    const dflat_table *tables = table;
    dflat_subscription *made;
    uint64_t problems;
    dflat_view view = get(in_workspace(workspace), table, "nothing");
    OK(dflat_workspace_shutdown(workspace, 0, &error));
    TAKES(DFLAT_SHUT_DOWN,
          dflat_subscribe_object(workspace, table, view.object, on_one, &made, &error), (void)0);
    TAKES(DFLAT_SHUT_DOWN, dflat_subscribe_count(workspace, all, 0, counts, &made, &error),
          (void)0);
    TAKES(DFLAT_SHUT_DOWN, dflat_subscribe_query(workspace, all, NULL, 0, results, &made, &error),
          (void)0);
    TAKES(DFLAT_SHUT_DOWN, dflat_dictionary_each(workspace, text(""), text(""), entries, &error),
          (void)0);
    TAKES(DFLAT_SHUT_DOWN,
          dflat_workspace_check(workspace, &tables, 1, going, &problems, NULL, &error), (void)0);
    TAKES(DFLAT_OK, dflat_indexes_then(workspace, ended, &error), (void)0);
    REFUSES(dflat_workspace_shutdown_then(workspace, 64, ended, &error));
    REFUSES(dflat_workspace_shutdown_then(NULL, 0, ended, &error));
    dflat_object_release(view.object);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    path = argv[1];
    table = post_table();
    OK(dflat_query_new(table, NO_BYTES, &all, &error));
    OK(dflat_workspace_open(text(path), NULL, &workspace, &error));
    perform_transactions();
    use_dictionary();
    subscribe();
    report_progress();
    after_the_end();
    dflat_query_release(all);
    dflat_workspace_release(workspace);
    dflat_table_release(table);
    CHECK(dropped == given);
    return 0;
}
