/* A program for the thread sanitizer: a callback counts on a thread of the library. With `waits`,
 * the program waits for the callback before it counts itself; with `races`, it does not. */
#include "support.h"

#include <sched.h>

static int count, called;

static int32_t insert(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    return create(transaction, own->table, "first", 1, error);
}

static void on_completion(void *context, dflat_code code, const dflat_error *failure) {
    CHECK(context == &count && code == DFLAT_OK && failure == NULL);
    count++;
    /* Relaxed: this orders nothing. */
    __atomic_store_n(&called, 1, __ATOMIC_RELAXED);
}

int main(int argc, char **argv) {
    dflat_workspace *workspace;
    CHECK(argc == 3);
    const dflat_table *table = post_table();
    OK(dflat_workspace_open(text(argv[1]), NULL, &workspace, &error));
    counted handler = counting(insert, table, NULL);
    dflat_completion completion = {&count, on_completion, NULL};
    count++;
    OK(dflat_perform(workspace, &table, 1, 0, handler_of(&handler), completion, &error));
    if (strcmp(argv[2], "waits") == 0) {
        OK(dflat_workspace_settle(workspace, &error));
    }
    while (__atomic_load_n(&called, __ATOMIC_RELAXED) == 0) {
        sched_yield();
    }
    count++;
    CHECK(count == 3);
    dflat_workspace_release(workspace);
    dflat_table_release((dflat_table *)table);
    return 0;
}
