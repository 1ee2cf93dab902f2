/* The C interface of the object database Dflat.
 *
 * The page docs/c-interface.md explains ownership, threads and errors in one place. In short:
 *
 * - Every function that can fail returns a code, `DFLAT_OK` or the kind of an error. Most of them
 *   have a last argument `error`, and write an error object to it if it is not NULL. The caller
 *   releases the error object.
 * - The comment of each function lists its own errors after `Errors:`. Besides these, any function
 *   returns DFLAT_INVALID_ARGUMENT for misuse; a function that reads or writes a workspace returns
 *   DFLAT_SHUT_DOWN after its shutdown, or gives that code to the completion that it is given; a
 *   function that waits for transactions returns
 *   DFLAT_WOULD_DEADLOCK in a handler or a callback; and a function that uses a file returns the
 *   errors of files: DFLAT_CORRUPT, DFLAT_NOT_A_DATABASE, DFLAT_STORAGE_FULL, DFLAT_BUSY,
 *   DFLAT_READ_ONLY, DFLAT_IO and DFLAT_BACKEND. In a transaction, a table that was not declared
 *   gives DFLAT_UNDECLARED_TYPE, and a transaction that is lost DFLAT_ABORTED.
 * - A handle, such as a `dflat_workspace *`, belongs to the caller from the call that made it to
 *   the call of its `_release`. Each function that releases accepts NULL.
 * - A callback has a context and a function `drop`, which the library calls exactly once, whatever
 *   happens, also if the function that got the callback fails. `drop` may be NULL.
 * - Every function may be called on any thread, unless its comment names one after `Thread:`. A
 *   handle may be used by several threads at a time, but must not be released while another call
 *   uses it.
 * - The comment of each function says after `Blocks:` whether the call waits. `no`: it returns at
 *   once, and neither reads nor writes a file. `for the file`: it reads or writes the file, waits
 *   for the device, and at most DFLAT_OPTION_BUSY_TIMEOUT for other processes. `until` and other
 *   words: it waits for that, perhaps without limit.
 * - Payloads are FlatBuffers bytes, little-endian, aligned to 4 bytes at least: read values of 8
 *   bytes by unaligned loads.
 */
#ifndef DFLAT_H
#define DFLAT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It increases if a program that was compiled with an older header
 * could break; functions and values that are added do not change it. */
#define DFLAT_ABI_VERSION 1

/* The version of the library, to be compared with DFLAT_ABI_VERSION.
 * Blocks: no. */
uint32_t dflat_abi_version(void);

/* ---- Codes and errors ------------------------------------------------------------------------ */

/* What a function returns: `DFLAT_OK`, or the kind of the error. The numbers never change. */
typedef int32_t dflat_code;

enum {
    DFLAT_OK = 0,
    /* Another object has the same primary key or unique value. The transaction stays usable. */
    DFLAT_ALREADY_EXISTS = 1,
    /* The table holds the largest key, so that no key can be assigned. The transaction stays
     * usable. */
    DFLAT_KEYS_EXHAUSTED = 2,
    /* The object to change was deleted, and the transaction stays usable; or there is no file. */
    DFLAT_NOT_FOUND = 3,
    /* The object has changed since it was read. The transaction stays usable. */
    DFLAT_OUT_OF_DATE = 4,
    /* The update would lose values that newer code has written. The transaction stays usable. */
    DFLAT_NEWER_SCHEMA = 5,
    /* The transaction was aborted, or lost by an earlier error. */
    DFLAT_ABORTED = 6,
    /* The transaction used a table that it was not given. */
    DFLAT_UNDECLARED_TYPE = 7,
    /* The call would wait for what can only happen after this handler or callback has returned. */
    DFLAT_WOULD_DEADLOCK = 8,
    /* The workspace is shut down, or belongs to the parent of this process, which was forked. */
    DFLAT_SHUT_DOWN = 9,
    /* The file or a row is damaged. */
    DFLAT_CORRUPT = 10,
    /* The file is not a database, or its texts are not UTF-8. */
    DFLAT_NOT_A_DATABASE = 11,
    /* No space is left on the device, or a size limit is reached. */
    DFLAT_STORAGE_FULL = 12,
    /* Another process kept the file locked, or committed between a transaction's first read and
     * its first change. Perform the transaction again. */
    DFLAT_BUSY = 13,
    /* The file or its directory cannot be written. */
    DFLAT_READ_ONLY = 14,
    /* The file cannot be opened, read or written, for the reason in the message. */
    DFLAT_IO = 15,
    /* The caller cancelled the work. */
    DFLAT_CANCELLED = 16,
    /* The work took longer than it may take, or the snapshot was held for too long. */
    DFLAT_DEADLINE_EXCEEDED = 17,
    /* The library panicked, which is a defect of the library. */
    DFLAT_PANICKED = 18,
    /* An error of the caller: see dflat_error_new. */
    DFLAT_USER = 19,
    /* A value has another type than the caller requested. */
    DFLAT_WRONG_TYPE = 20,
    /* An argument cannot be used, for the reason in the message. */
    DFLAT_INVALID_ARGUMENT = 21,
    /* An error of the storage without a kind of its own. */
    DFLAT_BACKEND = 22,
    /* The file has a property that this build of the library cannot read. */
    DFLAT_UNSUPPORTED = 23,
    /* Whether a commit was made on a server is not known. No function returns it yet. */
    DFLAT_IN_DOUBT = 24
};

/* Bytes. `data` may be NULL if `length` is 0. As an argument, they are read during the call only.
 * As a result, they belong to the handle that they came from. */
typedef struct dflat_bytes {
    const uint8_t *data;
    size_t length;
} dflat_bytes;

/* UTF-8, without a NUL at its end. */
typedef dflat_bytes dflat_text;

/* An error: a code and a message. */
typedef struct dflat_error dflat_error;

/* Makes an error of the caller, for a handler to give. `value` is a number of the caller's choice.
 * The transaction ends with DFLAT_USER and this error.
 * The caller releases it.
 * Blocks: no. */
dflat_code dflat_error_new(int64_t value, dflat_text message, dflat_error **created,
                           dflat_error **error);

/* The code of an error; DFLAT_OK for NULL, and DFLAT_INVALID_ARGUMENT for a pointer to something
 * else.
 * Blocks: no. */
dflat_code dflat_error_code(const dflat_error *failure);

/* The message: lower case, with the operation, the type, the key and the causes. The text belongs
 * to the error.
 * Blocks: no. */
dflat_code dflat_error_message(const dflat_error *failure, dflat_text *message);

/* The number of an error of the caller; 0 for other errors.
 * Blocks: no. */
dflat_code dflat_error_value(const dflat_error *failure, int64_t *value);

/* Releases an error.
 * Blocks: no. */
dflat_code dflat_error_release(dflat_error *failure);

/* Bytes or a text that the library has made for the caller. */
typedef struct dflat_buffer dflat_buffer;

/* The bytes of a buffer, which belong to it.
 * Blocks: no. */
dflat_code dflat_buffer_bytes(const dflat_buffer *buffer, dflat_bytes *bytes);

/* Releases a buffer.
 * Blocks: no. */
dflat_code dflat_buffer_release(dflat_buffer *buffer);

/* ---- Tables ---------------------------------------------------------------------------------- */

/* A stored type: its table, primary key, indexes and the layout of its payloads. */
typedef struct dflat_table dflat_table;

/* How the library assigns the key of a new object whose key is 0 or empty. A descriptor's bytes do
 * not have it. */
enum {
    /* Not at all. */
    DFLAT_AUTO_KEY_NONE = 0,
    /* One more than the largest key in the table; the key is a `ulong`. */
    DFLAT_AUTO_KEY_INCREASING = 1,
    /* A new UUID of version 7 as text; the key is a string. */
    DFLAT_AUTO_KEY_UUID = 2
};

/* Makes a table of the bytes of a descriptor, which docs/storage-format.md describes. The bytes are
 * copied.
 * The caller releases it.
 * Errors: DFLAT_INVALID_ARGUMENT if the bytes are malformed, or if `auto_key` does not fit the
 * primary key.
 * Blocks: no. */
dflat_code dflat_table_new(dflat_bytes descriptor, int32_t auto_key, dflat_table **table,
                           dflat_error **error);

/* The full name of the type in its schema. The text belongs to the table.
 * Blocks: no. */
dflat_code dflat_table_name(const dflat_table *table, dflat_text *name, dflat_error **error);

/* Releases a table. Queries, transactions and subscriptions that use it are not affected.
 * Blocks: no. */
dflat_code dflat_table_release(dflat_table *table);

/* ---- Workspaces ------------------------------------------------------------------------------ */

/* Options of a workspace on a file. */
typedef struct dflat_options dflat_options;

/* The options, and the values that each takes. Options that are not set have the values of the
 * workspace that this process has open on the file, or else the defaults. */
enum {
    /* 1: each commit survives a loss of power; 0, the default: the end of the process. */
    DFLAT_OPTION_FULL_DURABILITY = 1,
    /* 1: one transaction runs at a time; 0, the default: those of disjoint tables run together. */
    DFLAT_OPTION_SINGLE_WRITER = 2,
    /* Milliseconds to wait while another process has the file locked. Default: 30,000. */
    DFLAT_OPTION_BUSY_TIMEOUT = 3,
    /* The most threads that run transactions. Default: 64. */
    DFLAT_OPTION_THREADS_MAX = 4,
    /* The connections for reading that stay open. Default: 64. */
    DFLAT_OPTION_READERS_MAX = 5,
    /* The keys of a namespace of the dictionary that are kept in memory. Default: no limit. */
    DFLAT_OPTION_DICTIONARY_KEYS_MAX = 6,
    /* The bytes of the write-ahead log at which a transaction waits. Default: 16 MiB. */
    DFLAT_OPTION_LOG_BYTES_MAX = 7,
    /* 1: the file is only read. Default: 0. */
    DFLAT_OPTION_READ_ONLY = 8,
    /* 1: a file that is only read may be missing. Default: 0. */
    DFLAT_OPTION_ALLOW_MISSING = 9,
    /* 0: unused space is given back on request only; 1, the default: while nothing writes. */
    DFLAT_OPTION_RECLAIM = 10,
    /* The protection of new files on Apple's systems: 0, the default, that of the directory; 1
     * none; 2 until the first unlock; 3 unless open; 4 complete. */
    DFLAT_OPTION_FILE_PROTECTION = 11,
    /* 0: commits of other processes are delivered with the next write of this process, or by
     * dflat_workspace_refresh. Default: 1. */
    DFLAT_OPTION_FOLLOW_PROCESSES = 12,
    /* The most bytes of change records that are read to deliver such commits. Default: 8 MiB. */
    DFLAT_OPTION_FOLLOW_BYTES_MAX = 13,
    /* 1: commits write change records also while no other process follows. Default: 0. */
    DFLAT_OPTION_CHANGE_LOG = 14,
    /* Milliseconds for which a snapshot may be held. Reads of an older one fail with
     * DFLAT_DEADLINE_EXCEEDED. Default: no limit. */
    DFLAT_OPTION_SNAPSHOT_AGE_MAX = 15,
    /* Milliseconds that a completion waits for subscribers. Default: 1,000. */
    DFLAT_OPTION_SUBSCRIBER_PATIENCE = 16,
    /* 1: the first read of a table, and each query that an index could serve, starts to build the
     * table's indexes if one of them lacks rows, as a write does; so do reads in handlers, of
     * snapshots and for subscriptions. The reads of one snapshot start at most one build of a
     * table, and so do those of one transaction. Default: 0. */
    DFLAT_OPTION_INDEX_ON_READ = 17,
    /* The bytes of change records above which the oldest ones are deleted. Default: 16 MiB. */
    DFLAT_OPTION_CHANGE_LOG_BYTES_MAX = 18,
    /* The age in milliseconds from which change records are deleted. Default: no limit. */
    DFLAT_OPTION_CHANGE_LOG_AGE_MAX = 19,
    /* The bytes of the file's pages that each connection keeps in memory. Default: 16 MiB. */
    DFLAT_OPTION_PAGE_CACHE_BYTES = 20
};

/* Makes options with the default values.
 * The caller releases it.
 * Blocks: no. */
dflat_code dflat_options_new(dflat_options **options, dflat_error **error);

/* Sets an option. An option that is on or off takes 1 or 0, one that is a choice the numbers that
 * its comment lists, and each other option 0 or more. A limit that was set cannot be taken away
 * again. 0 threads or readers count as 1, and the page cache has at least 64 KiB and at most 1 TiB.
 * Errors: DFLAT_INVALID_ARGUMENT for an unknown option, or a value out of its range.
 * Blocks: no. */
dflat_code dflat_options_set(const dflat_options *options, int32_t option, int64_t value,
                             dflat_error **error);

/* Work of the library that a thread of the program does. */
typedef struct dflat_job dflat_job;

/* Runs a job and releases it. Does nothing for NULL.
 * Errors: DFLAT_INVALID_ARGUMENT if the job was run or released before.
 * Blocks: until the job has ended. */
dflat_code dflat_job_run(dflat_job *job);

/* Releases a job that is not to be run: a thread of the library does its work.
 * Blocks: no. */
dflat_code dflat_job_release(dflat_job *job);

/* The function of dflat_executor. It has a thread of the program run the job by dflat_job_run, and
 * returns without waiting for that. If a job is run inside this function, or in another callback or
 * a handler, a thread of the library does its work, and dflat_job_run returns DFLAT_OK. */
typedef void (*dflat_executor_call)(void *context, dflat_job *job);

/* A callback that runs jobs. */
typedef struct dflat_executor {
    void *context;
    dflat_executor_call call;
    void (*drop)(void *context);
} dflat_executor;

/* Runs transactions on threads of the program, in place of threads of the library: their handlers,
 * and perhaps commits, deliveries and completions. A job runs all transactions whose turn has come.
 * If the threads that run jobs wait for a transaction that needs one of them, both wait for
 * ever; dflat_workspace_settle, dflat_workspace_shutdown and dflat_dictionary_synchronize wait for
 * transactions too. Workspaces share an executor if they are opened with the same options object.
 * Blocks: no. */
dflat_code dflat_options_set_executor(const dflat_options *options, dflat_executor executor,
                                      dflat_error **error);

/* Releases options. Workspaces that were opened with them are not affected.
 * Blocks: no. */
dflat_code dflat_options_release(dflat_options *options);

/* A database of objects, on a file or in memory. */
typedef struct dflat_workspace dflat_workspace;

/* Opens the database file at a path. Nothing is written, and no file is created, before the first
 * change. All workspaces of one process on one file share one engine. `options` may be NULL.
 * The caller releases it.
 * Errors: DFLAT_INVALID_ARGUMENT if the file is open in this process with other options;
 * DFLAT_NOT_A_DATABASE; DFLAT_NOT_FOUND if it is only read and is missing; DFLAT_IO.
 * Blocks: for the file. */
dflat_code dflat_workspace_open(dflat_text path, const dflat_options *options,
                                dflat_workspace **workspace, dflat_error **error);

/* Makes a workspace that keeps its objects in memory.
 * The caller releases it.
 * Blocks: no. */
dflat_code dflat_workspace_in_memory(dflat_workspace **workspace, dflat_error **error);

/* The table that the file keeps, by the name of the storage table, such as `post` or
 * `namespace__post_v1_1` (docs/storage-format.md): the descriptor of the newest code that has
 * written to it. It assigns no keys.
 * Errors: DFLAT_NOT_FOUND if the file does not describe it; DFLAT_NEWER_SCHEMA for a description of
 * a later release; DFLAT_CORRUPT; those of reading.
 * Blocks: for the file. */
dflat_code dflat_workspace_table(const dflat_workspace *workspace, dflat_text name,
                                 dflat_table **table, dflat_error **error);

/* What a shutdown does with the file; to be joined by `|`. */
enum {
    /* Leaves one file, without a write-ahead log beside it. */
    DFLAT_SHUTDOWN_TRUNCATE = 1,
    /* Gives unused space back to the file system. */
    DFLAT_SHUTDOWN_VACUUM = 2
};

/* The function of dflat_completion. `code` is the outcome. `failure` is NULL on success, and else
 * an error that belongs to the library and ends with the call. */
typedef void (*dflat_completion_call)(void *context, dflat_code code, const dflat_error *failure);

/* A callback that is called once with an outcome. The comment of each function that takes one says
 * on which thread it is called. `call` may be NULL: then nothing is called. */
typedef struct dflat_completion {
    void *context;
    dflat_completion_call call;
    void (*drop)(void *context);
} dflat_completion;

/* Finishes the transactions queued so far, writes the dictionary and closes the file. Later reads
 * and transactions with this workspace fail with DFLAT_SHUT_DOWN; its subscriptions and snapshots
 * end. While another workspace of the process has the file open, the file stays open and the flags
 * have no effect.
 * Errors: DFLAT_WOULD_DEADLOCK in a handler or a callback; otherwise those of writing.
 * Blocks: until all is done. */
dflat_code dflat_workspace_shutdown(const dflat_workspace *workspace, uint32_t flags,
                                    dflat_error **error);

/* As dflat_workspace_shutdown, without waiting. The completion is called on a thread of its own,
 * unless this function returns an error.
 * Blocks: no. */
dflat_code dflat_workspace_shutdown_then(const dflat_workspace *workspace, uint32_t flags,
                                         dflat_completion completion, dflat_error **error);

/* Waits for the work queued so far: transactions, deliveries, building of indexes.
 * Errors: DFLAT_WOULD_DEADLOCK in a handler or a callback; DFLAT_SHUT_DOWN.
 * Blocks: until that is done. */
dflat_code dflat_workspace_settle(const dflat_workspace *workspace, dflat_error **error);

/* Looks for commits of other programs, and lets them be delivered. Does not wait for that.
 * Errors: DFLAT_SHUT_DOWN; those of reading.
 * Blocks: for the file. */
dflat_code dflat_workspace_refresh(const dflat_workspace *workspace, dflat_error **error);

/* Releases a workspace. If it was not shut down, this shuts it down.
 * Blocks: until the transactions queued so far are done, if it shuts the workspace down; not in a
 * handler or a callback. */
dflat_code dflat_workspace_release(dflat_workspace *workspace);

/* ---- Objects --------------------------------------------------------------------------------- */

/* An object: two words that hold a count of its memory. `chunk` is NULL for no object. The words
 * are compared, copied and passed to functions, and otherwise not used. */
typedef struct dflat_object {
    const void *chunk;
    uint64_t span;
} dflat_object;

/* An object with its payload, which is valid as long as the object is retained. No call is needed
 * to read a field. All members are 0 for no object. */
typedef struct dflat_view {
    const uint8_t *payload;
    size_t length;
    /* The number of its row; 0 if no engine has read it. */
    int64_t row_id;
    dflat_object object;
} dflat_view;

/* Makes an object of a payload, which is verified and copied. The caller releases its object.
 * Errors: DFLAT_INVALID_ARGUMENT if the payload is malformed.
 * Blocks: no. */
dflat_code dflat_object_new(const dflat_table *table, dflat_bytes payload, dflat_view *view,
                            dflat_error **error);

/* The view of an object, with a count that the caller releases.
 * Blocks: no. */
dflat_code dflat_object_view(dflat_object object, dflat_view *view, dflat_error **error);

/* Whether two objects of a table have the same values: 1 or 0. Floats are compared by their bits.
 * Errors: DFLAT_INVALID_ARGUMENT if one of them is an object of another table.
 * Blocks: no. */
dflat_code dflat_object_equal(const dflat_table *table, dflat_object one, dflat_object other,
                              int32_t *is_equal, dflat_error **error);

/* Adds a count to an object. Takes a few nanoseconds and no lock.
 * Blocks: no. */
dflat_code dflat_object_retain(dflat_object object);

/* Releases a count of an object. An object that is kept longer than its result keeps at most 64 KiB
 * of other objects in memory. A release without a count is not detected.
 * Blocks: no. */
dflat_code dflat_object_release(dflat_object object);

/* ---- Transactions ---------------------------------------------------------------------------- */

/* A transaction: lent to its handler, valid during the call of the handler and on its thread only.
 * Its use elsewhere fails with DFLAT_INVALID_ARGUMENT. */
typedef struct dflat_transaction dflat_transaction;

/* The function of dflat_handler. Returns DFLAT_OK to commit. Any other number undoes the changes;
 * it may give an error, which the library releases: `return dflat_transaction_submit(.., error);`.
 * Without an error, the outcome is DFLAT_USER with the returned number as its value. */
typedef int32_t (*dflat_handler_call)(void *context, dflat_transaction *transaction,
                                      dflat_error **error);

/* A callback that makes changes. */
typedef struct dflat_handler {
    void *context;
    dflat_handler_call call;
    void (*drop)(void *context);
} dflat_handler;

/* How a transaction is performed; to be joined by `|`. */
enum {
    /* Takes write access before the handler runs, so that no other process can commit meanwhile. */
    DFLAT_PERFORM_WRITE_FIRST = 1,
    /* Runs the handler again if another process has committed between its first read and its first
     * change. */
    DFLAT_PERFORM_RETRY = 2
};

/* Queues a transaction over tables, and returns at once. The handler runs on a thread of the
 * library; transactions that share a table run in the order of the calls. The completion is called
 * once: after the commit and its deliveries, on the thread that makes these, which is one of the
 * library, one that runs a job, or one that waits in dflat_perform_and_wait or for a shutdown; or
 * before this function returns if the transaction cannot be queued, because the workspace is shut
 * down or `tables` is empty. If this function returns an error, neither is called.
 * Errors: DFLAT_INVALID_ARGUMENT.
 * Blocks: no. */
dflat_code dflat_perform(const dflat_workspace *workspace, const dflat_table *const *tables,
                         size_t tables_count, uint32_t flags, dflat_handler handler,
                         dflat_completion completion, dflat_error **error);

/* Performs a transaction on this thread, and waits for its commit and deliveries.
 * Errors: that of the handler; DFLAT_WOULD_DEADLOCK in a handler or a callback; DFLAT_SHUT_DOWN;
 * those of the commit.
 * Blocks: until the transaction is committed and delivered. */
dflat_code dflat_perform_and_wait(const dflat_workspace *workspace,
                                  const dflat_table *const *tables, size_t tables_count,
                                  uint32_t flags, dflat_handler handler, dflat_error **error);

/* What is done with an object. */
enum {
    /* Inserts an object; a conflict if its key exists. */
    DFLAT_CREATE = 1,
    /* Replaces the values of `base`. */
    DFLAT_UPDATE = 2,
    /* Inserts an object, or replaces the values of the object with the same key. */
    DFLAT_UPSERT = 3,
    /* Deletes `base`. */
    DFLAT_DELETE = 4,
    /* As DFLAT_UPSERT with exactly these bytes: an update keeps what newer code has stored. */
    DFLAT_RESTORE = 5
};

/* The operation is refused with DFLAT_OUT_OF_DATE unless `base` is stored with its values. */
enum { DFLAT_SUBMIT_IF_UNCHANGED = 1 };

/* What an operation has done. */
enum {
    DFLAT_INSERTED = 1,
    DFLAT_UPDATED = 2,
    /* The object had these values already: nothing was written. */
    DFLAT_IDENTITY = 3,
    DFLAT_DELETED = 4
};

/* Carries out an operation. The payload is verified and copied; `base` is an object of this table,
 * read at any time. `result` and `view` may be NULL; the caller releases the object of `view`.
 * Errors: DFLAT_ALREADY_EXISTS, DFLAT_KEYS_EXHAUSTED, DFLAT_NOT_FOUND, DFLAT_OUT_OF_DATE,
 * DFLAT_NEWER_SCHEMA, DFLAT_UNDECLARED_TYPE and DFLAT_INVALID_ARGUMENT, such as for a `base` of
 * another table: nothing is changed, and the transaction goes on. Any other error loses the
 * transaction.
 * Blocks: for the file. Thread: that of the handler. */
dflat_code dflat_transaction_submit(dflat_transaction *transaction, const dflat_table *table,
                                    int32_t operation, uint32_t flags, dflat_object base,
                                    dflat_bytes payload, int32_t *result, dflat_view *view,
                                    dflat_error **error);

/* The latest state of an object; no object if it was deleted. The caller releases it.
 * Blocks: for the file. Thread: that of the handler. */
dflat_code dflat_transaction_latest(dflat_transaction *transaction, const dflat_table *table,
                                    dflat_object object, dflat_view *view, dflat_error **error);

/* Undoes all changes of the transaction, which ends with DFLAT_ABORTED. The handler goes on.
 * Blocks: for the file. Thread: that of the handler. */
dflat_code dflat_transaction_abort(dflat_transaction *transaction, dflat_error **error);

/* Sets the durability of this commit: 1 for a loss of power, 0 for the end of the process.
 * Blocks: no. Thread: that of the handler. */
dflat_code dflat_transaction_set_durability(dflat_transaction *transaction, int32_t full,
                                            dflat_error **error);

/* Calls `changes` behind a savepoint, before this function returns: if it returns another number
 * than DFLAT_OK, its changes are undone, this function returns its error, and the transaction goes
 * on.
 * Blocks: for the call and for the file. Thread: that of the handler. */
dflat_code dflat_transaction_nested(dflat_transaction *transaction, dflat_handler changes,
                                    dflat_error **error);

/* A query on a table, decoded once. */
typedef struct dflat_query dflat_query;

/* Deletes all objects of a query. `count`, their number, may be NULL. If there is an error, no
 * object is deleted.
 * Blocks: for the file. Thread: that of the handler. */
dflat_code dflat_transaction_delete_where(dflat_transaction *transaction, const dflat_query *query,
                                          uint64_t *count, dflat_error **error);

/* The function of dflat_object_handler. The object of `view` belongs to the library and ends with
 * the call, unless it is retained. */
typedef int32_t (*dflat_object_handler_call)(void *context, dflat_view view, dflat_error **error);

/* A callback that changes an object. */
typedef struct dflat_object_handler {
    void *context;
    dflat_object_handler_call call;
    void (*drop)(void *context);
} dflat_object_handler;

/* Calls `write` with each object that the query has now, in its order, before this function
 * returns. `write` changes objects by dflat_transaction_submit. If it returns another number than
 * DFLAT_OK, all changes made by its calls are undone. An object that an earlier call has deleted is
 * left out. `count` is the number of objects that the query has at the beginning; it may be NULL.
 * Blocks: for the calls and for the file. Thread: that of the handler. */
dflat_code dflat_transaction_write_each(dflat_transaction *transaction, const dflat_query *query,
                                        dflat_object_handler write, uint64_t *count,
                                        dflat_error **error);

/* ---- Reading --------------------------------------------------------------------------------- */

/* Makes a query of the bytes of a query, which docs/query-format.md describes, of any number; no
 * bytes: all objects in the order of insertion. The query may be used by any thread,
 * any number of times.
 * The caller releases it.
 * Errors: DFLAT_INVALID_ARGUMENT if the bytes are malformed.
 * Blocks: no. */
dflat_code dflat_query_new(const dflat_table *table, dflat_bytes encoded, dflat_query **query,
                           dflat_error **error);

/* The kinds of a value. */
enum {
    DFLAT_NULL = 0,
    /* `integer`: a number, a boolean (0 or 1) or the value of an enum. */
    DFLAT_INTEGER = 1,
    /* `integer` with the bits of a `uint64_t`. */
    DFLAT_UNSIGNED = 2,
    /* `number`. */
    DFLAT_FLOAT = 3,
    /* `text`. */
    DFLAT_TEXT = 4
};

/* A value of a key or a parameter. The member that `kind` names counts. A NaN counts as NULL. */
typedef struct dflat_value {
    int32_t kind;
    int64_t integer;
    double number;
    dflat_text text;
} dflat_value;

/* Makes a query of a condition and an order as text, in the language of docs/condition-language.md;
 * each may be empty. `parameters` are the values of the placeholders `?1`, `?2` and so on.
 * The caller releases it.
 * Errors: DFLAT_INVALID_ARGUMENT; the message has the column and the nearest name.
 * Blocks: no. */
dflat_code dflat_query_parse(const dflat_table *table, dflat_text condition, dflat_text order,
                             const dflat_value *parameters, size_t parameters_count,
                             dflat_query **query, dflat_error **error);

/* The value of a placeholder, or the values of a list. */
typedef struct dflat_parameter {
    /* The name of a placeholder `:name`, without the colon. If it is empty, the parameter belongs to
     * the placeholder with the number of its position in the list, from 1. */
    dflat_text name;
    const dflat_value *values;
    /* The number of values: 1, unless they are a list. */
    size_t count;
    /* 1: a list, for `in` and the like. 0: one value. */
    int32_t is_list;
} dflat_parameter;

/* As dflat_query_parse, with names and lists: `id in :ids`. The values are not limited in number,
 * while a text is limited in length.
 * The caller releases it.
 * Blocks: no. */
dflat_code dflat_query_parse_with(const dflat_table *table, dflat_text condition, dflat_text order,
                                  const dflat_parameter *parameters, size_t parameters_count,
                                  dflat_query **query, dflat_error **error);

/* A copy of a query with another window: objects to skip, and the most objects to have;
 * UINT64_MAX for no limit.
 * The caller releases it.
 * Blocks: no. */
dflat_code dflat_query_window(const dflat_query *query, uint64_t offset, uint64_t objects_max,
                              dflat_query **windowed, dflat_error **error);

/* A copy of a query whose result begins after an object of it, also if that was deleted since: for
 * results that are larger than memory, read window by window. With a snapshot as source, all
 * windows are of one state.
 * The caller releases it.
 * Errors: DFLAT_INVALID_ARGUMENT if the object is one of another table.
 * Blocks: no. */
dflat_code dflat_query_after(const dflat_query *query, dflat_object object, dflat_query **next,
                             dflat_error **error);

/* Ends reads on other threads. */
typedef struct dflat_cancellation dflat_cancellation;

/* Makes a cancellation.
 * The caller releases it.
 * Blocks: no. */
dflat_code dflat_cancellation_new(dflat_cancellation **cancellation, dflat_error **error);

/* Lets reads with this cancellation fail with DFLAT_CANCELLED, those that run and later ones.
 * Blocks: no. */
dflat_code dflat_cancellation_cancel(const dflat_cancellation *cancellation, dflat_error **error);

/* Releases a cancellation.
 * Blocks: no. */
dflat_code dflat_cancellation_release(dflat_cancellation *cancellation);

/* A copy of a query whose reads fail with DFLAT_DEADLINE_EXCEEDED after so many milliseconds, or
 * when they are cancelled. UINT64_MAX is no limit, and `cancellation` may be NULL. A limit and a
 * cancellation that the query had before no longer count. Subscriptions,
 * dflat_transaction_delete_where and dflat_transaction_write_each ignore both.
 * The caller releases it.
 * Blocks: no. */
dflat_code dflat_query_bounded(const dflat_query *query, uint64_t milliseconds_max,
                               const dflat_cancellation *cancellation, dflat_query **bounded,
                               dflat_error **error);

/* Releases a query.
 * Blocks: no. */
dflat_code dflat_query_release(dflat_query *query);

/* A state of a workspace that does not change. */
typedef struct dflat_snapshot dflat_snapshot;

/* Takes a snapshot of the latest commit. While it is held, the write-ahead log cannot be cut.
 * The caller releases it.
 * Blocks: for the file. */
dflat_code dflat_snapshot_new(const dflat_workspace *workspace, dflat_snapshot **snapshot,
                              dflat_error **error);

/* Releases a snapshot.
 * Blocks: no. */
dflat_code dflat_snapshot_release(dflat_snapshot *snapshot);

/* The state to read. Exactly one member is not NULL: the latest commit of a workspace, a snapshot,
 * or what a transaction sees. A workspace that is read in a handler gives what the transaction
 * sees. */
typedef struct dflat_source {
    const dflat_workspace *workspace;
    const dflat_snapshot *snapshot;
    dflat_transaction *transaction;
} dflat_source;

/* The objects of a query as of one commit. */
typedef struct dflat_result dflat_result;

/* Fetches the objects of a query.
 * The caller releases it.
 * Errors: DFLAT_CORRUPT if a row is damaged; DFLAT_SHUT_DOWN; DFLAT_UNDECLARED_TYPE in a
 * transaction; those of reading.
 * Blocks: for the file. */
dflat_code dflat_fetch(dflat_source source, const dflat_query *query, dflat_result **result,
                       dflat_error **error);

/* The objects of a result, in order. The views and their objects belong to the result; retain an
 * object to keep it longer. The views are made by the first call, in one allocation.
 * Blocks: no. */
dflat_code dflat_result_views(const dflat_result *result, const dflat_view **views, size_t *count,
                              dflat_error **error);

/* The number of objects of a result.
 * Blocks: no. */
dflat_code dflat_result_count(const dflat_result *result, size_t *count, dflat_error **error);

/* The object of a result at a position, counted from 0: cheaper than the views of all objects if
 * few of them are needed. The caller releases the object.
 * Errors: DFLAT_INVALID_ARGUMENT if the result has no such position.
 * Blocks: no. */
dflat_code dflat_result_view(const dflat_result *result, size_t position, dflat_view *view,
                             dflat_error **error);

/* Another handle on the same objects, for another owner.
 * The caller releases it.
 * Blocks: no. */
dflat_code dflat_result_retain(const dflat_result *result, dflat_result **retained,
                               dflat_error **error);

/* Releases a result and its views.
 * Blocks: no. */
dflat_code dflat_result_release(dflat_result *result);

/* The number of objects of a query, without reading their payloads where an index suffices.
 * Blocks: for the file. */
dflat_code dflat_count(dflat_source source, const dflat_query *query, uint64_t *count,
                       dflat_error **error);

/* What is computed of the values of a field. */
enum {
    /* NULL if no object has a value. The sum is exact, and rounded once if it is of floats. */
    DFLAT_SUM = 1,
    /* The mean, a float; NULL if no object has a value. */
    DFLAT_MEAN = 2,
    DFLAT_SMALLEST = 3,
    DFLAT_LARGEST = 4
};

/* Computes one value of the objects of a query. `field` is a field or an expression as text. The
 * content of a text is in `text`, which the caller releases; it is NULL for other values.
 * Errors: DFLAT_INVALID_ARGUMENT if the sum does not fit, or the field has no numbers; otherwise as
 * dflat_fetch.
 * Blocks: for the file. */
dflat_code dflat_aggregate(dflat_source source, const dflat_query *query, int32_t aggregate,
                           dflat_text field, dflat_value *value, dflat_buffer **text,
                           dflat_error **error);

/* How a query would be run now, as a line of text. The caller releases the buffer.
 * Blocks: for the file. */
dflat_code dflat_explain(dflat_source source, const dflat_query *query, dflat_buffer **text,
                         dflat_error **error);

/* The object with a primary key, given by its values in the order of the schema; no object if there
 * is none, such as for a text where the schema has a number. The caller releases it.
 * Errors: DFLAT_INVALID_ARGUMENT for another number of values; otherwise as dflat_fetch.
 * Blocks: for the file. */
dflat_code dflat_get(dflat_source source, const dflat_table *table, const dflat_value *key,
                     size_t key_count, dflat_view *view, dflat_error **error);

/* The object in a row, as dflat_get; the caller releases it. Row ids have a meaning within one file
 * only.
 * Blocks: for the file. */
dflat_code dflat_find(dflat_source source, const dflat_table *table, int64_t row_id,
                      dflat_view *view, dflat_error **error);

/* ---- Live queries ---------------------------------------------------------------------------- */

/* A subscription. Its callback is called by one thread at a time, and in the order of commits: on
 * threads of the library, unless an executor runs transactions on threads of the program, or a
 * thread of the program waits for a transaction or a shutdown and delivers meanwhile. That of a
 * subscription to the dictionary is called as dflat_dictionary_subscribe says. */
typedef struct dflat_subscription dflat_subscription;

/* The function of dflat_object_callback. `event` is DFLAT_UPDATED with the new values, or
 * DFLAT_DELETED without an object, after which no call follows. The object belongs to the library
 * and ends with the call, unless it is retained. */
typedef void (*dflat_object_callback_call)(void *context, int32_t event, dflat_view view);

/* A callback for the changes of an object. */
typedef struct dflat_object_callback {
    void *context;
    dflat_object_callback_call call;
    void (*drop)(void *context);
} dflat_object_callback;

/* Subscribes to an object, as it was read at any time: if it has changed since, the callback is
 * called soon.
 * The caller releases it.
 * Errors: DFLAT_INVALID_ARGUMENT if the object is one of another table.
 * Blocks: no. */
dflat_code dflat_subscribe_object(const dflat_workspace *workspace, const dflat_table *table,
                                  dflat_object object, dflat_object_callback callback,
                                  dflat_subscription **subscription, dflat_error **error);

/* A new result of a query and its difference from the one before. It is lent to a callback and ends
 * with the call. */
typedef struct dflat_delivery dflat_delivery;

/* The function of dflat_result_callback. On success, `failure` is NULL; else `delivery` is NULL, and
 * the subscription goes on. Both belong to the library. */
typedef void (*dflat_result_callback_call)(void *context, dflat_code code,
                                           const dflat_error *failure,
                                           const dflat_delivery *delivery);

/* A callback for the results of a query. */
typedef struct dflat_result_callback {
    void *context;
    dflat_result_callback_call call;
    void (*drop)(void *context);
} dflat_result_callback;

/* The callback gets changes only, and not the state at the beginning. */
enum { DFLAT_SUBSCRIBE_WITHOUT_INITIAL = 1 };

/* Subscribes to the result of a query. `known` is a result of this query that the caller has, or
 * NULL: the first delivery has the difference from it, and there is none if it is current.
 * The caller releases it.
 * Errors: DFLAT_INVALID_ARGUMENT if `known` is a result of another query; DFLAT_SHUT_DOWN.
 * Blocks: no. */
dflat_code dflat_subscribe_query(const dflat_workspace *workspace, const dflat_query *query,
                                 const dflat_result *known, uint32_t flags,
                                 dflat_result_callback callback,
                                 dflat_subscription **subscription, dflat_error **error);

/* The function of dflat_count_callback; as that of dflat_result_callback, with a number. */
typedef void (*dflat_count_callback_call)(void *context, dflat_code code,
                                          const dflat_error *failure, uint64_t count);

/* A callback for the number of a query's objects. */
typedef struct dflat_count_callback {
    void *context;
    dflat_count_callback_call call;
    void (*drop)(void *context);
} dflat_count_callback;

/* Subscribes to the number of a query's objects.
 * The caller releases it.
 * Blocks: no. */
dflat_code dflat_subscribe_count(const dflat_workspace *workspace, const dflat_query *query,
                                 uint32_t flags, dflat_count_callback callback,
                                 dflat_subscription **subscription, dflat_error **error);

/* Ends a subscription. When this returns, no call of its callback runs and none follows,
 * unless it is called in a handler or a callback.
 * Blocks: for a call of the callback that runs; not in a handler or a callback. */
dflat_code dflat_subscription_cancel(const dflat_subscription *subscription, dflat_error **error);

/* Returns the error that ended the subscription, or DFLAT_OK.
 * Blocks: no. */
dflat_code dflat_subscription_outcome(const dflat_subscription *subscription, dflat_error **error);

/* Releases a subscription, and ends it without waiting for a call that runs.
 * Blocks: no. */
dflat_code dflat_subscription_release(dflat_subscription *subscription);

/* The result of a delivery, which the caller releases.
 * Blocks: no. */
dflat_code dflat_delivery_result(const dflat_delivery *delivery, dflat_result **result,
                                 dflat_error **error);

/* Ascending positions in a list. */
typedef struct dflat_positions {
    const uint64_t *first;
    size_t count;
} dflat_positions;

/* The move of an object, from a position in the old list to one in the new list. */
typedef struct dflat_move {
    uint64_t from;
    uint64_t to;
} dflat_move;

/* Moves, by ascending new positions. */
typedef struct dflat_moves {
    const dflat_move *first;
    size_t count;
} dflat_moves;

/* The positions by which a new list differs from an old one. To change a list in place, remove the
 * deleted and moved objects from the back to the front, insert the inserted and moved ones from the
 * front to the back, and replace the updated ones. */
typedef struct dflat_difference {
    /* Positions in the old list of objects that the new list lacks. */
    dflat_positions deleted;
    /* Positions in the new list of objects that the old list lacks. */
    dflat_positions inserted;
    dflat_moves moved;
    /* Positions in the new list of objects with new values; moved objects may be among them. */
    dflat_positions updated;
} dflat_difference;

/* The difference from the result delivered before. For the first delivery, it is the difference from
 * the known result that the subscription was given, or from an empty one. If the subscription has
 * no known result and DFLAT_SUBSCRIBE_WITHOUT_INITIAL, it is the difference from the result at the
 * time of the subscription, which was not delivered: take the whole result from the first delivery.
 * The positions belong to the delivery.
 * Blocks: no. */
dflat_code dflat_delivery_difference(const dflat_delivery *delivery, dflat_difference *difference,
                                     dflat_error **error);

/* The number of the commit whose state the result shows, and how many commits have changed the
 * result since the delivery before. Each place may be NULL.
 * Blocks: no. */
dflat_code dflat_delivery_commit(const dflat_delivery *delivery, uint64_t *commit,
                                 uint64_t *commits, dflat_error **error);

/* ---- Dictionary ------------------------------------------------------------------------------ */

/* The kinds of the dictionary's values. */
enum {
    DFLAT_ENTRY_BOOL = 1,
    DFLAT_ENTRY_INT64 = 2,
    /* `integer` with the bits of a `uint64_t`. */
    DFLAT_ENTRY_UINT64 = 3,
    DFLAT_ENTRY_FLOAT = 4,
    DFLAT_ENTRY_DOUBLE = 5,
    DFLAT_ENTRY_TEXT = 6,
    /* `bytes` in an encoding that programs agree on. */
    DFLAT_ENTRY_CODABLE = 7,
    /* `bytes` of a FlatBuffers payload; `text` is the version of its schema. */
    DFLAT_ENTRY_FLATBUFFERS = 8
};

/* A value of the dictionary. The kind says which member holds the value: `integer` for
 * DFLAT_ENTRY_BOOL (not 0 is true), DFLAT_ENTRY_INT64 and DFLAT_ENTRY_UINT64; `number` for
 * DFLAT_ENTRY_DOUBLE and DFLAT_ENTRY_FLOAT, which is rounded to 32 bits; `text` for DFLAT_ENTRY_TEXT;
 * `bytes` for the others. */
typedef struct dflat_entry_value {
    int32_t kind;
    int64_t integer;
    double number;
    dflat_text text;
    dflat_bytes bytes;
} dflat_entry_value;

/* A value that was read. */
typedef struct dflat_entry dflat_entry;

/* The function of dflat_entry_callback. `value` is NULL for a key without a value. `is_initial` is 1
 * for a value at the beginning, and 0 for a change. All belong to the library and end with the
 * call. */
typedef void (*dflat_entry_callback_call)(void *context, dflat_text key,
                                          const dflat_entry_value *value, int32_t is_initial);

/* A callback for keys and values. */
typedef struct dflat_entry_callback {
    void *context;
    dflat_entry_callback_call call;
    void (*drop)(void *context);
} dflat_entry_callback;

/* The table that a transaction must name to use the dictionary. The caller releases it.
 * Blocks: no. */
dflat_code dflat_dictionary_table(dflat_table **table, dflat_error **error);

/* The value of a key in a namespace, which may be empty; NULL if it has none. With a transaction,
 * the value that it sees. If `transaction` is NULL, the value outside of all transactions, also in a
 * handler. The caller releases the entry.
 * Errors: DFLAT_INVALID_ARGUMENT if the transaction is one of another file.
 * Blocks: for the file. */
dflat_code dflat_dictionary_get(const dflat_workspace *workspace, dflat_transaction *transaction,
                                dflat_text space, dflat_text key, dflat_entry **entry,
                                dflat_error **error);

/* Sets the value of a key; NULL removes it. Without a transaction, the value is set in memory at
 * once and written soon, and the call waits for a transaction that uses the key.
 * Errors: DFLAT_WOULD_DEADLOCK in a handler or a callback if a transaction uses the key;
 * DFLAT_SHUT_DOWN; DFLAT_UNDECLARED_TYPE; DFLAT_INVALID_ARGUMENT if the transaction is one of
 * another file.
 * Blocks: without a transaction, for a transaction that uses the key; for the file. */
dflat_code dflat_dictionary_set(const dflat_workspace *workspace, dflat_transaction *transaction,
                                dflat_text space, dflat_text key, const dflat_entry_value *value,
                                dflat_error **error);

/* Calls `callback` with each key that begins with a text and its value, before this function
 * returns.
 * Blocks: for the calls and for the file. */
dflat_code dflat_dictionary_each(const dflat_workspace *workspace, dflat_text space,
                                 dflat_text prefix, dflat_entry_callback callback,
                                 dflat_error **error);

/* The subscription is one to all keys that begin with the text, and not to one key. */
enum { DFLAT_DICTIONARY_PREFIX = 1 };

/* Subscribes to a key. The calls with the present values are made before this function returns, on
 * its thread. Later ones are made on the thread that sets a value, for a value set in a transaction
 * on the thread that completes it, and for one of another process on a thread of the library. If
 * two threads change values at once, one of them makes the calls for both.
 * The caller releases it.
 * Blocks: for the first calls and for the file. */
dflat_code dflat_dictionary_subscribe(const dflat_workspace *workspace, dflat_text space,
                                      dflat_text key, uint32_t flags,
                                      dflat_entry_callback callback,
                                      dflat_subscription **subscription, dflat_error **error);

/* Removes all values of a namespace. Each subscription to a single key of the namespace is called,
 * also if its key had no value before.
 * Blocks: for transactions that use a key; for the file. */
dflat_code dflat_dictionary_remove_all(const dflat_workspace *workspace, dflat_text space,
                                       dflat_error **error);

/* Makes all values set before as durable as a commit.
 * Errors: DFLAT_WOULD_DEADLOCK in a handler or a callback; that of a write that failed.
 * Blocks: until the values are written. */
dflat_code dflat_dictionary_synchronize(const dflat_workspace *workspace, dflat_error **error);

/* The value of an entry. Its text and bytes belong to the entry.
 * Blocks: no. */
dflat_code dflat_entry_read(const dflat_entry *entry, dflat_entry_value *value);

/* Releases an entry.
 * Blocks: no. */
dflat_code dflat_entry_release(dflat_entry *entry);

/* ---- JSON ------------------------------------------------------------------------------------ */

/* The JSON of a payload, in the form of `flatc --json`. The caller releases the buffer.
 * Errors: DFLAT_INVALID_ARGUMENT if the payload is malformed.
 * Blocks: no. */
dflat_code dflat_json_write(const dflat_table *table, dflat_bytes payload, dflat_buffer **json,
                            dflat_error **error);

/* The payload of an object in JSON. The caller releases the buffer.
 * Errors: DFLAT_INVALID_ARGUMENT if the text is no JSON of this type; the message has the place.
 * Blocks: no. */
dflat_code dflat_json_read(const dflat_table *table, dflat_text json, dflat_buffer **payload,
                           dflat_error **error);

/* ---- Upkeep ---------------------------------------------------------------------------------- */

/* If the workspace is in memory, dflat_workspace_backup is refused; the functions that check,
 * repair, reclaim, purge, compact, suspend and resume succeed and do nothing. */

/* Starts to build the indexes of tables that are not ready, and returns at once.
 * Blocks: no. */
dflat_code dflat_indexes_build(const dflat_workspace *workspace, const dflat_table *const *tables,
                               size_t tables_count, dflat_error **error);

/* Calls the completion once when no index is being built: before this function returns, or on the
 * thread that builds indexes. The outcome is the error of an index that could not be built, if any.
 * Blocks: no, but for the completion if it is called at once. */
dflat_code dflat_indexes_then(const dflat_workspace *workspace, dflat_completion completion,
                              dflat_error **error);

/* The function of dflat_progress_callback: what is done, and all there is to do, as far as it is
 * known. Another result than 0 ends the work with DFLAT_CANCELLED. */
typedef int32_t (*dflat_progress_callback_call)(void *context, uint64_t done, uint64_t total);

/* A callback for the progress of work. It is called on the thread of the caller; `call` may be
 * NULL. */
typedef struct dflat_progress_callback {
    void *context;
    dflat_progress_callback_call call;
    void (*drop)(void *context);
} dflat_progress_callback;

/* Copies the current state into a new file.
 * Errors: DFLAT_INVALID_ARGUMENT if the path exists or the workspace is in memory; DFLAT_CANCELLED;
 * DFLAT_WOULD_DEADLOCK; those of reading and writing.
 * Blocks: until the copy is complete. */
dflat_code dflat_workspace_backup(const dflat_workspace *workspace, dflat_text path,
                                  dflat_progress_callback progress, dflat_error **error);

/* Checks the file for damage: its pages, the rows and indexes of these tables, and the dictionary.
 * `problems` is their number. `text` has the problems, one a line, and of each kind at most 10,000 in
 * a table; it may be NULL.
 * The caller releases `text`.
 * Errors: DFLAT_CANCELLED.
 * Blocks: until the check is complete. */
dflat_code dflat_workspace_check(const dflat_workspace *workspace,
                                 const dflat_table *const *tables, size_t tables_count,
                                 dflat_progress_callback progress, uint64_t *problems,
                                 dflat_buffer **text, dflat_error **error);

/* Repairs the file as far as possible. `problems` is the number of problems that are left, and
 * `text` has those before the repair; it may be NULL.
 * The caller releases `text`.
 * Errors: DFLAT_CORRUPT if the file cannot be repaired in place; DFLAT_CANCELLED.
 * Blocks: until the repair is complete. */
dflat_code dflat_workspace_repair(const dflat_workspace *workspace,
                                  const dflat_table *const *tables, size_t tables_count,
                                  dflat_progress_callback progress, uint64_t *problems,
                                  dflat_buffer **text, dflat_error **error);

/* What a salvage has done: the objects in the new file, the rows that are kept as bytes because they
 * do not decode, and the estimated number of rows that could not be read. */
typedef struct dflat_salvaged {
    uint64_t saved;
    uint64_t unreadable;
    uint64_t lost;
} dflat_salvaged;

/* Saves the readable rows of these tables, and of the dictionary, from a damaged file into a new
 * one. No workspace may be open on the damaged file, which is not changed, unless a rollback journal
 * is beside it.
 * If there is an error, the new file is deleted.
 * Errors: DFLAT_INVALID_ARGUMENT if there is a file at `to`; DFLAT_NOT_A_DATABASE and DFLAT_CORRUPT
 * if the list of the tables cannot be read; DFLAT_CANCELLED; DFLAT_WOULD_DEADLOCK in a handler or a
 * callback; those of reading and writing.
 * Blocks: until the new file is complete. */
dflat_code dflat_salvage(dflat_text from, dflat_text to, const dflat_table *const *tables,
                         size_t tables_count, dflat_progress_callback progress,
                         dflat_salvaged *salvaged, dflat_error **error);

/* Gives up to so many unused pages of the file back to the file system.
 * Errors: DFLAT_INVALID_ARGUMENT if the file has no incremental vacuum, which
 * dflat_workspace_compact changes.
 * Blocks: for transactions and for the file. */
dflat_code dflat_workspace_reclaim(const dflat_workspace *workspace, uint32_t pages,
                                   dflat_error **error);

/* Removes the bytes of deleted objects from the file and its log. A table with a history keeps those
 * that its history has.
 * Errors: DFLAT_BUSY if a snapshot reads an older state; DFLAT_INVALID_ARGUMENT as
 * dflat_workspace_reclaim.
 * Blocks: for transactions and for the file. */
dflat_code dflat_workspace_purge(const dflat_workspace *workspace, dflat_error **error);

/* Writes the whole file anew, without unused space.
 * Errors: DFLAT_BUSY if a snapshot reads an older state.
 * Blocks: for transactions and for the file. */
dflat_code dflat_workspace_compact(const dflat_workspace *workspace, dflat_error **error);

/* Closes the file until dflat_workspace_resume: no lock on it is held, and transactions and reads
 * wait.
 * Errors: DFLAT_BUSY if a snapshot or a transaction does not end in time.
 * Blocks: until the transactions and reads that run have ended. */
dflat_code dflat_workspace_suspend(const dflat_workspace *workspace, dflat_error **error);

/* Ends a suspension, if there is one.
 * Blocks: for the file. */
dflat_code dflat_workspace_resume(const dflat_workspace *workspace, dflat_error **error);

/* Counts since the file was opened in this process. */
enum {
    /* Transactions that were committed, and those that failed. */
    DFLAT_STATISTIC_TRANSACTIONS = 1,
    DFLAT_STATISTIC_FAILED_TRANSACTIONS = 2,
    /* Repeated runs of transactions with DFLAT_PERFORM_RETRY. */
    DFLAT_STATISTIC_RETRIES = 3,
    /* Operations refused with DFLAT_ALREADY_EXISTS or DFLAT_OUT_OF_DATE. */
    DFLAT_STATISTIC_CONFLICTS = 4,
    /* Commits, each of one group of transactions, and the transactions in the groups. */
    DFLAT_STATISTIC_GROUPS = 5,
    DFLAT_STATISTIC_GROUPED_TRANSACTIONS = 6,
    /* Calls of subscribers' callbacks. */
    DFLAT_STATISTIC_DELIVERIES = 7,
    /* Objects that ended transactions looked up before a change, and such objects that were known
     * without a read. */
    DFLAT_STATISTIC_LOOK_UPS = 8,
    DFLAT_STATISTIC_LOOK_UPS_SAVED = 9,
    /* Commits of other processes that were delivered from their change records. */
    DFLAT_STATISTIC_FOLLOWED_COMMITS = 10,
    /* Commits of other programs after which everything that is subscribed to was read again. */
    DFLAT_STATISTIC_RENEWALS = 11,
    /* The bytes of the write-ahead log now. */
    DFLAT_STATISTIC_LOG_BYTES = 12,
    /* 1 if a reader keeps the log longer than its limit. */
    DFLAT_STATISTIC_LOG_IS_PINNED = 13,
    /* Groups of transactions that waited because the log grew faster than it could be cut. */
    DFLAT_STATISTIC_LOG_WAITS = 14,
    /* 1 if commits of other processes are delivered without a call of this process. */
    DFLAT_STATISTIC_FOLLOWS_PROCESSES = 15,
    /* The transactions in the largest commit group. */
    DFLAT_STATISTIC_LARGEST_GROUP = 16,
    /* 1 if commits of other processes are looked for at intervals, because these do not notify this
     * one. */
    DFLAT_STATISTIC_LOOKS_AT_INTERVALS = 17,
    /* The milliseconds for which the oldest snapshot has been held; 0 if there is none. */
    DFLAT_STATISTIC_OLDEST_SNAPSHOT = 18,
    /* Commits of other programs after which only the rows that they wrote were read again. */
    DFLAT_STATISTIC_REREADS = 19,
    /* The change records that commits of this process wrote, and their bytes. */
    DFLAT_STATISTIC_CHANGE_RECORDS = 20,
    DFLAT_STATISTIC_CHANGE_RECORD_BYTES = 21
};

/* One of these counts.
 * Errors: DFLAT_INVALID_ARGUMENT for another number.
 * Blocks: for the file. */
dflat_code dflat_workspace_statistic(const dflat_workspace *workspace, int32_t statistic,
                                     uint64_t *value, dflat_error **error);

#ifdef __cplusplus
}
#endif

#endif
