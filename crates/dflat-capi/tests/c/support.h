/* What the test programs share: checks, and payloads of the type Post of `post.h`, which the test
 * writes beside the programs. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <dflat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "post.h"

/* Ends the program unless a condition holds. */
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);       \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

/* Calls a function with `&error`, and ends the program unless it returns this code. */
#define EXPECT(expected, call)                                                            \
    do {                                                                                  \
        dflat_error *error = NULL;                                                        \
        dflat_code returned_ = (call);                                                    \
        check_code(__FILE__, __LINE__, #call, (expected), returned_, error);              \
        dflat_error_release(error);                                                       \
    } while (0)

#define OK(call) EXPECT(DFLAT_OK, call)

static inline void check_code(const char *file, int line, const char *call, dflat_code expected,
                              dflat_code returned, const dflat_error *error) {
    dflat_text message = {(const uint8_t *)"", 0};
    if (error != NULL) {
        dflat_error_message(error, &message);
    }
    if (expected != returned || dflat_error_code(error) != returned ||
        (returned != DFLAT_OK && message.length == 0)) {
        fprintf(stderr, "%s:%d: %s: %d and not %d: %.*s\n", file, line, call, (int)returned,
                (int)expected, (int)message.length, (const char *)message.data);
        abort();
    }
}

static inline dflat_text text(const char *text) {
    dflat_text made;
    made.data = (const uint8_t *)text;
    made.length = strlen(text);
    return made;
}

static const dflat_bytes NO_BYTES = {NULL, 0};
static const dflat_object NO_OBJECT = {NULL, 0};

/* ---- Payloads -------------------------------------------------------------------------------- */

static inline uint32_t load(const uint8_t *at, size_t bytes) {
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value |= (uint32_t)at[i] << (8 * i);
    }
    return value;
}

static inline void store(uint8_t *at, uint32_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

typedef struct payload {
    uint8_t data[256];
    size_t length;
} payload;

/* The payload of a post. */
static inline payload post(const char *title, int32_t priority) {
    payload made;
    size_t length = strlen(title);
    memset(&made, 0, sizeof made);
    CHECK(length < 200);
    store(made.data, 16, 4);
    store(made.data + 4, 12, 2);  /* the size of the vtable */
    store(made.data + 6, 12, 2);  /* that of the table */
    store(made.data + 8, 4, 2);   /* title */
    store(made.data + 14, 8, 2);  /* priority */
    store(made.data + 16, 12, 4); /* from the table to its vtable */
    store(made.data + 20, 8, 4);  /* from the field to the title */
    store(made.data + 24, (uint32_t)priority, 4);
    store(made.data + 28, (uint32_t)length, 4);
    memcpy(made.data + 32, title, length);
    made.length = (32 + length + 1 + 3) / 4 * 4;
    return made;
}

static inline dflat_bytes bytes_of(const payload *made) {
    dflat_bytes bytes;
    bytes.data = made->data;
    bytes.length = made->length;
    return bytes;
}

static inline const uint8_t *field(dflat_view view, uint32_t slot) {
    const uint8_t *table = view.payload + load(view.payload, 4);
    const uint8_t *vtable = table - (int32_t)load(table, 4);
    uint32_t offset = slot < load(vtable, 2) ? load(vtable + slot, 2) : 0;
    return offset == 0 ? NULL : table + offset;
}

static inline int32_t priority_of(dflat_view view) {
    const uint8_t *at = field(view, 10);
    return at == NULL ? 0 : (int32_t)load(at, 4);
}

static inline int has_title(dflat_view view, const char *title) {
    const uint8_t *at = field(view, 4);
    CHECK(at != NULL);
    at += load(at, 4);
    return load(at, 4) == strlen(title) && memcmp(at + 4, title, strlen(title)) == 0;
}

/* ---- Handles --------------------------------------------------------------------------------- */

static inline dflat_table *post_table(void) {
    dflat_table *table = NULL;
    dflat_bytes bytes = {POST_DESCRIPTOR, sizeof POST_DESCRIPTOR};
    OK(dflat_table_new(bytes, DFLAT_AUTO_KEY_NONE, &table, &error));
    return table;
}

static inline dflat_source in_workspace(const dflat_workspace *workspace) {
    dflat_source source = {NULL, NULL, NULL};
    source.workspace = workspace;
    return source;
}

static inline dflat_source in_transaction(dflat_transaction *transaction) {
    dflat_source source = {NULL, NULL, NULL};
    source.transaction = transaction;
    return source;
}

/* The post with a title; the caller releases its object. */
static inline dflat_view get(dflat_source source, const dflat_table *table, const char *title) {
    dflat_value key;
    dflat_view view;
    memset(&key, 0, sizeof key);
    key.kind = DFLAT_TEXT;
    key.text = text(title);
    OK(dflat_get(source, table, &key, 1, &view, &error));
    return view;
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* The context of a callback that counts its calls and its releases. */
typedef struct counted {
    dflat_handler_call handler;
    const dflat_table *table;
    void *more;
    int calls;
    int drops;
    dflat_code code;
} counted;

static inline void count_drop(void *context) {
    ((counted *)context)->drops++;
}

static inline int32_t count_call(void *context, dflat_transaction *transaction,
                                 dflat_error **error) {
    counted *own = context;
    own->calls++;
    return own->handler(context, transaction, error);
}

static inline dflat_handler handler_of(counted *own) {
    dflat_handler handler;
    handler.context = own;
    handler.call = count_call;
    handler.drop = count_drop;
    return handler;
}

static inline counted counting(dflat_handler_call handler, const dflat_table *table, void *more) {
    counted own;
    memset(&own, 0, sizeof own);
    own.handler = handler;
    own.table = table;
    own.more = more;
    return own;
}

/* Performs a handler on this thread, and ends the program unless it has this outcome. */
static inline void perform(const dflat_workspace *workspace, const dflat_table *table,
                           dflat_handler_call handler, void *more, dflat_code expected) {
    counted own = counting(handler, table, more);
    EXPECT(expected, dflat_perform_and_wait(workspace, &table, 1, 0, handler_of(&own), &error));
    CHECK(own.drops == 1);
}

/* Creates a post. */
static inline dflat_code create(dflat_transaction *transaction, const dflat_table *table,
                                const char *title, int32_t priority, dflat_error **error) {
    payload made = post(title, priority);
    return dflat_transaction_submit(transaction, table, DFLAT_CREATE, 0, NO_OBJECT,
                                    bytes_of(&made), NULL, NULL, error);
}

#endif
