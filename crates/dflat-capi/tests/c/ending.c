/* Destructors at the end of a thread, and functions at the end of the program, read and write. */
#include <pthread.h>

#include "support.h"

static dflat_workspace *workspace;
static dflat_table *table;
static dflat_query *all;
static int ended;

static int32_t add(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    return create(transaction, own->table, own->more, 1, error);
}

/* Writes a post and finds it. */
static void use(const char *title) {
    dflat_result *result;
    dflat_view view;
    uint64_t before, count;
    OK(dflat_count(in_workspace(workspace), all, &before, &error));
    perform(workspace, table, add, (void *)title, DFLAT_OK);
    OK(dflat_count(in_workspace(workspace), all, &count, &error));
    CHECK(count == before + 1);
    OK(dflat_fetch(in_workspace(workspace), all, &result, &error));
    dflat_result_release(result);
    view = get(in_workspace(workspace), table, title);
    CHECK(view.object.chunk != NULL);
    dflat_object_release(view.object);
}

/* Runs after the destructors of the library's own values of the thread. */
static void at_the_end(void *title) {
    use(title);
    ended++;
}

static void *work(void *key) {
    use("thread");
    CHECK(pthread_setspecific(*(pthread_key_t *)key, "end of the thread") == 0);
    return NULL;
}

static void at_exit(void) {
    use("end of the program");
    dflat_query_release(all);
    dflat_table_release(table);
    OK(dflat_workspace_shutdown(workspace, 0, &error));
    dflat_workspace_release(workspace);
}

int main(int argc, char **argv) {
    pthread_key_t key;
    pthread_t thread;
    CHECK(argc == 2);
    table = post_table();
    OK(dflat_workspace_open(text(argv[1]), NULL, &workspace, &error));
    OK(dflat_query_new(table, NO_BYTES, &all, &error));
    CHECK(pthread_key_create(&key, at_the_end) == 0);
    CHECK(pthread_create(&thread, NULL, work, &key) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && ended == 1);
    CHECK(atexit(at_exit) == 0);
    return 0;
}
