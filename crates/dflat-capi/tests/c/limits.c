/* Errors whose cause is outside of the program: another process, a full device, newer code. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static dflat_table *table;

/* The pipes between the two processes: `told` to this one, `go` to the other one. */
static int told[2], go[2];

static int32_t insert_many(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    const int *bounds = own->more;
    for (int i = bounds[0]; i < bounds[1]; i++) {
        char title[64];
        snprintf(title, sizeof title, "post %d of process %ld", i, (long)getpid());
        dflat_code code = create(transaction, own->table, title, i, error);
        if (code != DFLAT_OK) {
            return code;
        }
    }
    return DFLAT_OK;
}

/* Holds the write access until the other process has tried to write. */
static int32_t insert_and_wait(void *context, dflat_transaction *transaction,
                               dflat_error **error) {
    char byte = 0;
    int32_t code = insert_many(context, transaction, error);
    CHECK(write(told[1], &byte, 1) == 1);
    CHECK(read(go[0], &byte, 1) == 1);
    return code;
}

static void write_in_another_process(const char *path) {
    dflat_workspace *workspace;
    int one[2] = {0, 1};
    table = post_table();
    OK(dflat_workspace_open(text(path), NULL, &workspace, &error));
    perform(workspace, table, insert_and_wait, one, DFLAT_OK);
    OK(dflat_workspace_shutdown(workspace, 0, &error));
    dflat_workspace_release(workspace);
    dflat_table_release(table);
}

/* Without write access, the handler of such a transaction is not called. */
static void perform_write_first(const dflat_workspace *workspace) {
    int none[2] = {0, 0};
    counted first = counting(insert_many, table, none), later = counting(insert_many, table, none);
    const dflat_table *tables = table;
    EXPECT(DFLAT_BUSY, dflat_perform_and_wait(workspace, &tables, 1, DFLAT_PERFORM_WRITE_FIRST,
                                              handler_of(&first), &error));
    CHECK(first.calls == 0 && first.drops == 1);
    OK(dflat_perform_and_wait(workspace, &tables, 1, 0, handler_of(&later), &error));
    CHECK(later.calls == 1 && later.drops == 1);
}

/* Another process writes for longer than the busy timeout. */
static void while_another_process_writes(const char *path) {
    dflat_workspace *workspace;
    dflat_options *options;
    int one[2] = {0, 1}, status;
    char byte = 0;
    CHECK(pipe(told) == 0 && pipe(go) == 0);
    /* Before this process uses the library: a child has none of its threads. */
    pid_t other = fork();
    CHECK(other >= 0);
    if (other == 0) {
        write_in_another_process(path);
        exit(0);
    }
    table = post_table();
    OK(dflat_options_new(&options, &error));
    OK(dflat_options_set(options, DFLAT_OPTION_BUSY_TIMEOUT, 50, &error));
    OK(dflat_workspace_open(text(path), options, &workspace, &error));
    dflat_options_release(options);
    CHECK(read(told[0], &byte, 1) == 1);
    perform(workspace, table, insert_many, one, DFLAT_BUSY);
    perform_write_first(workspace);
    CHECK(write(go[1], &byte, 1) == 1);
    CHECK(waitpid(other, &status, 0) == other && status == 0);
    OK(dflat_workspace_shutdown(workspace, 0, &error));
    dflat_workspace_release(workspace);
}

/* Files may not become larger than a limit, as on a full device. */
static void on_a_full_device(const char *path) {
    char name[600], copy[600];
    dflat_progress_callback no_progress = {NULL, NULL, NULL};
    dflat_workspace *workspace;
    struct rlimit before, limited;
    int one[2] = {0, 1}, many[2] = {1, 20000};
    snprintf(name, sizeof name, "%s.full", path);
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    OK(dflat_workspace_open(text(name), NULL, &workspace, &error));
    perform(workspace, table, insert_many, one, DFLAT_OK);
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limited = before;
    limited.rlim_cur = 1 << 20;
    CHECK(setrlimit(RLIMIT_FSIZE, &limited) == 0);
    perform(workspace, table, insert_many, many, DFLAT_STORAGE_FULL);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    many[1] = 5000;
    perform(workspace, table, insert_many, many, DFLAT_OK);
    limited.rlim_cur = 1 << 16;
    CHECK(setrlimit(RLIMIT_FSIZE, &limited) == 0);
    snprintf(copy, sizeof copy, "%s.copy", path);
    EXPECT(DFLAT_STORAGE_FULL,
           dflat_workspace_backup(workspace, text(copy), no_progress, &error));
    CHECK(access(copy, F_OK) != 0);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    dflat_workspace_release(workspace);
}

static int32_t restore_unreadable(void *context, dflat_transaction *transaction,
                                  dflat_error **error) {
    /* A post with a number where newer code has the text `more`. */
    payload made;
    (void)context;
    memset(&made, 0, sizeof made);
    store(made.data, 24, 4);
    store(made.data + 6, 18, 2);  /* the size of the vtable */
    store(made.data + 8, 16, 2);  /* that of the table */
    store(made.data + 10, 4, 2);  /* title */
    store(made.data + 16, 8, 2);  /* priority */
    store(made.data + 22, 12, 2); /* the field that newer code knows */
    store(made.data + 24, 18, 4); /* from the table to its vtable */
    store(made.data + 28, 12, 4); /* from the field to the title */
    store(made.data + 36, 0x7fffffff, 4);
    store(made.data + 40, 1, 4);
    made.data[44] = 'a';
    made.length = 48;
    return dflat_transaction_submit(transaction, table, DFLAT_RESTORE, 0, NO_OBJECT,
                                    bytes_of(&made), NULL, NULL, error);
}

/* Older code restores bytes that newer code could not read. */
static void after_newer_code(const char *path) {
    char name[600];
    dflat_bytes bytes = {NEWER_DESCRIPTOR, sizeof NEWER_DESCRIPTOR};
    dflat_table *newer;
    dflat_workspace *workspace;
    int one[2] = {0, 1};
    snprintf(name, sizeof name, "%s.newer", path);
    OK(dflat_table_new(bytes, DFLAT_AUTO_KEY_NONE, &newer, &error));
    OK(dflat_workspace_open(text(name), NULL, &workspace, &error));
    perform(workspace, newer, insert_many, one, DFLAT_OK);
    perform(workspace, table, restore_unreadable, NULL, DFLAT_NEWER_SCHEMA);
    dflat_workspace_release(workspace);
    dflat_table_release(newer);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    while_another_process_writes(argv[1]);
    on_a_full_device(argv[1]);
    after_newer_code(argv[1]);
    dflat_table_release(table);
    return 0;
}
