/* Errors name the operation, the object and the cause. */
#include "support.h"

static dflat_workspace *workspace;
static dflat_table *table, *undeclared;

/* Makes a call that fails, and checks that the message of its error has a part. */
#define SAYS(part, call)                                                                  \
    do {                                                                                  \
        dflat_error *error = NULL;                                                        \
        CHECK((call) != DFLAT_OK && error != NULL);                                       \
        has_part(__FILE__, __LINE__, error, part);                                        \
        dflat_error_release(error);                                                       \
    } while (0)

static void has_part(const char *file, int line, const dflat_error *error, const char *part) {
    dflat_text message;
    size_t length = strlen(part);
    dflat_error_message(error, &message);
    for (size_t at = 0; at + length <= message.length; at++) {
        if (memcmp(message.data + at, part, length) == 0) {
            return;
        }
    }
    fprintf(stderr, "%s:%d: \"%s\" is missing in: %.*s\n", file, line, part, (int)message.length,
            (const char *)message.data);
    abort();
}

static int32_t deleted(void *context, dflat_transaction *transaction, dflat_error **error) {
    payload made = post("gone", 1);
    dflat_bytes bytes = bytes_of(&made);
    dflat_view view;
    dflat_code code = create(transaction, table, "gone", 1, error);
    (void)context;
    if (code != DFLAT_OK) {
        return code;
    }
    view = get(in_transaction(transaction), table, "gone");
    OK(dflat_transaction_submit(transaction, table, DFLAT_DELETE, 0, view.object, NO_BYTES, NULL,
                                NULL, &error));
    SAYS("cannot update Post: the object with the primary key title = \"gone\" was deleted",
         dflat_transaction_submit(transaction, table, DFLAT_UPDATE, 0, view.object, bytes, NULL,
                                  NULL, &error));
    SAYS("cannot delete Post: the object with the primary key title = \"gone\" was deleted",
         dflat_transaction_submit(transaction, table, DFLAT_DELETE, 0, view.object, NO_BYTES, NULL,
                                  NULL, &error));
    dflat_object_release(view.object);
    SAYS("the transaction does not declare this type; add its table (Number::TABLE in Rust)",
         dflat_transaction_submit(transaction, undeclared, DFLAT_CREATE, 0, NO_OBJECT, bytes, NULL,
                                  NULL, &error));
    return DFLAT_OK;
}

int main(int argc, char **argv) {
    dflat_bytes numbers = {NUMBER_DESCRIPTOR, sizeof NUMBER_DESCRIPTOR};
    payload broken = post("b", 2);
    dflat_query *all;
    dflat_buffer *mean;
    dflat_value value;
    dflat_view view;
    CHECK(argc == 2);
    table = post_table();
    OK(dflat_table_new(numbers, DFLAT_AUTO_KEY_NONE, &undeclared, &error));
    OK(dflat_workspace_open(text(argv[1]), NULL, &workspace, &error));
    OK(dflat_query_new(table, NO_BYTES, &all, &error));
    perform(workspace, table, deleted, NULL, DFLAT_OK);
    broken.data[0] = 255;
    SAYS("cannot make an object of Post: the payload is malformed, or lacks a required value",
         dflat_object_new(table, bytes_of(&broken), &view, &error));
    SAYS("cannot average title of Post",
         dflat_aggregate(in_workspace(workspace), all, DFLAT_MEAN, text("title"), &value, &mean,
                         &error));
    OK(dflat_workspace_shutdown(workspace, 0, &error));
    SAYS("cannot remove all values of the dictionary",
         dflat_dictionary_remove_all(workspace, text(""), &error));
    dflat_query_release(all);
    dflat_workspace_release(workspace);
    dflat_table_release(undeclared);
    dflat_table_release(table);
    return 0;
}
