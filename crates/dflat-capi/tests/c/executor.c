/* Executors: threads of the program that run transactions. */
#include "jobs.h"

#include <unistd.h>

static dflat_table *table;

static int32_t note_handler(void *context, dflat_transaction *transaction, dflat_error **error) {
    line *own = context;
    char title[32];
    int number;
    lock(own);
    own->handler_thread = pthread_self();
    number = own->handled++;
    unlock(own);
    snprintf(title, sizeof title, "post %d", number);
    return create(transaction, table, title, number, error);
}

static void note_completion(void *context, dflat_code code, const dflat_error *failure) {
    line *own = context;
    CHECK(code == DFLAT_OK && failure == NULL);
    lock(own);
    own->completed++;
    unlock(own);
}

static dflat_workspace *open_on(const char *path, line *own, dflat_executor_call call) {
    dflat_options *options;
    dflat_workspace *workspace, *other;
    dflat_executor executor = {own, call, drop_line};
    OK(dflat_options_new(&options, &error));
    OK(dflat_options_set_executor(options, executor, &error));
    OK(dflat_workspace_open(text(path), options, &workspace, &error));
    /* The same options have the same executor, and other options another one. */
    OK(dflat_workspace_open(text(path), options, &other, &error));
    dflat_workspace_release(other);
    OK(dflat_workspace_open(text(path), NULL, &other, &error));
    dflat_workspace_release(other);
    dflat_options_release(options);
    return workspace;
}

static void perform_in(const dflat_workspace *workspace, line *own) {
    const dflat_table *tables = table;
    dflat_handler handler = {own, note_handler, NULL};
    dflat_completion completion = {own, note_completion, NULL};
    OK(dflat_perform(workspace, &tables, 1, 0, handler, completion, &error));
}

/* A thread of the program runs the handlers. */
static void on_threads_of_the_program(const char *path) {
    line own;
    pthread_t thread;
    begin_line(&own);
    CHECK(pthread_create(&thread, NULL, run_jobs, &own) == 0);
    dflat_workspace *workspace = open_on(path, &own, put);
    for (int i = 0; i < 100; i++) {
        perform_in(workspace, &own);
    }
    wait_for(&own, &own.completed, 100);
    CHECK(own.handled == 100 && own.given >= 1);
    CHECK(pthread_equal(own.handler_thread, thread));
    OK(dflat_workspace_shutdown(workspace, 0, &error));
    dflat_workspace_release(workspace);
    /* The context is released when no job needs the executor any more. */
    wait_for(&own, &own.drops, 1);
    lock(&own);
    own.is_closed = 1;
    unlock(&own);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(own.waiting == 0 && own.drops == 1);
}

/* A thread of the library takes the place of a job that an executor runs too early or releases. */
static void without_a_thread(const char *path, dflat_executor_call call) {
    line own;
    begin_line(&own);
    dflat_workspace *workspace = open_on(path, &own, call);
    perform_in(workspace, &own);
    wait_for(&own, &own.completed, 1);
    CHECK(own.handled == 1 && own.given >= 1);
    CHECK(!pthread_equal(own.handler_thread, pthread_self()));
    dflat_workspace_release(workspace);
    wait_for(&own, &own.drops, 1);
    CHECK(own.drops == 1);
}

/* An executor without a function is refused, and dropped. */
static void refused(void) {
    line own;
    dflat_options *options;
    dflat_executor executor = {&own, NULL, drop_line};
    begin_line(&own);
    OK(dflat_options_new(&options, &error));
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_options_set_executor(options, executor, &error));
    CHECK(own.drops == 1);
    executor.call = put;
    EXPECT(DFLAT_INVALID_ARGUMENT, dflat_options_set_executor(NULL, executor, &error));
    CHECK(own.drops == 2);
    OK(dflat_options_set_executor(options, executor, &error));
    OK(dflat_options_set_executor(options, executor, &error));
    CHECK(own.drops == 3);
    dflat_options_release(options);
    CHECK(own.drops == 4);
    CHECK(dflat_job_run(NULL) == DFLAT_OK && dflat_job_release(NULL) == DFLAT_OK);
}

static int32_t has_changed_options;

static void change_options(void *context) {
    OK(dflat_options_set(context, DFLAT_OPTION_THREADS_MAX, 2, &error));
    has_changed_options++;
}

/* The release of the executor before may use the options. */
static void changes_its_options(void) {
    dflat_options *options;
    OK(dflat_options_new(&options, &error));
    dflat_executor executor = {options, put, change_options};
    OK(dflat_options_set_executor(options, executor, &error));
    executor.drop = NULL;
    alarm(60);
    OK(dflat_options_set_executor(options, executor, &error));
    alarm(0);
    CHECK(has_changed_options == 1);
    dflat_options_release(options);
}

static dflat_workspace *ended;

/* Ends the workspace in the call that asks for a thread. */
static void end_and_put(void *context, dflat_job *job) {
    line *own = context;
    dflat_completion none = {NULL, NULL, NULL};
    lock(own);
    dflat_workspace *workspace = ended;
    ended = NULL;
    unlock(own);
    if (workspace != NULL) {
        OK(dflat_workspace_shutdown_then(workspace, 0, none, &error));
    }
    put(context, job);
}

static void ignore_count(void *context, dflat_code code, const dflat_error *failure,
                         uint64_t count) {
    (void)context, (void)code, (void)failure, (void)count;
}

/* An executor may end the workspace: it is called without a lock. The work that was queued is
 * done. `subscribes` says whether a subscription or a transaction asks for the thread. */
static void ends_the_workspace(const char *path, int subscribes) {
    line own;
    pthread_t thread;
    dflat_query *query;
    dflat_subscription *subscription = NULL;
    dflat_count_callback counts = {NULL, ignore_count, NULL};
    dflat_options *options;
    dflat_workspace *workspace;
    dflat_executor executor = {&own, end_and_put, drop_line};
    begin_line(&own);
    CHECK(pthread_create(&thread, NULL, run_jobs, &own) == 0);
    OK(dflat_options_new(&options, &error));
    OK(dflat_options_set_executor(options, executor, &error));
    OK(dflat_workspace_open(text(path), options, &workspace, &error));
    dflat_options_release(options);
    OK(dflat_query_parse(table, text(""), text(""), NULL, 0, &query, &error));
    alarm(60);
    lock(&own);
    ended = workspace;
    unlock(&own);
    if (subscribes) {
        OK(dflat_subscribe_count(workspace, query, 0, counts, &subscription, &error));
    } else {
        perform_in(workspace, &own);
    }
    CHECK(ended == NULL);
    if (!subscribes) {
        wait_for(&own, &own.completed, 1);
    }
    OK(dflat_workspace_shutdown(workspace, 0, &error));
    dflat_subscription_release(subscription);
    dflat_query_release(query);
    dflat_workspace_release(workspace);
    wait_for(&own, &own.drops, 1);
    alarm(0);
    lock(&own);
    own.is_closed = 1;
    unlock(&own);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv) {
    char path[512];
    CHECK(argc == 2);
    table = post_table();
    on_threads_of_the_program(argv[1]);
    snprintf(path, sizeof path, "%s.early", argv[1]);
    without_a_thread(path, run_at_once);
    snprintf(path, sizeof path, "%s.released", argv[1]);
    without_a_thread(path, release_it);
    snprintf(path, sizeof path, "%s.ended", argv[1]);
    ends_the_workspace(path, 0);
    ends_the_workspace(path, 1);
    refused();
    changes_its_options();
    dflat_table_release(table);
    return 0;
}
