/* Queries with named placeholders and lists, long queries, and look-ups in a transaction. */
#include "support.h"

static dflat_workspace *workspace;
static dflat_table *table;

static int32_t fill(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    dflat_view found, none;
    for (int i = 0; i < 10; i++) {
        char title[32];
        snprintf(title, sizeof title, "post %d", i);
        dflat_code code = create(transaction, own->table, title, i, error);
        if (code != DFLAT_OK) {
            return code;
        }
    }
    /* A look-up by row id sees the changes of the transaction. */
    OK(dflat_find(in_transaction(transaction), own->table, 3, &found, &error));
    CHECK(has_title(found, "post 2") && found.row_id == 3);
    OK(dflat_transaction_submit(transaction, own->table, DFLAT_DELETE, 0, found.object, NO_BYTES,
                                NULL, NULL, &error));
    dflat_object_release(found.object);
    OK(dflat_find(in_transaction(transaction), own->table, 3, &none, &error));
    CHECK(none.object.chunk == NULL);
    return DFLAT_OK;
}

/* The number of objects of a query, which is released. */
static uint64_t count_of(dflat_query *query) {
    uint64_t count = 0;
    OK(dflat_count(in_workspace(workspace), query, &count, &error));
    dflat_query_release(query);
    return count;
}

static dflat_value integer(int64_t value) {
    dflat_value made = {DFLAT_INTEGER, 0, 0, {NULL, 0}};
    made.integer = value;
    return made;
}

static void with_names_and_lists(void) {
    dflat_query *query;
    dflat_value bound = integer(2), listed[3];
    dflat_parameter parameters[2] = {{{NULL, 0}, NULL, 1, 0}, {{NULL, 0}, NULL, 3, 1}};
    for (int i = 0; i < 3; i++) {
        listed[i] = integer(2 * i);
    }
    parameters[0].values = &bound;
    parameters[1].values = listed;
    /* By numbers: the first parameter is ?1. */
    OK(dflat_query_parse_with(table, text("priority >= ?1 && priority in ?2"), text("title"),
                              parameters, 2, &query, &error));
    CHECK(count_of(query) == 1);
    parameters[0].name = text("least");
    parameters[1].name = text("priorities");
    OK(dflat_query_parse_with(table, text("priority < :least || priority in :priorities"),
                              text(""), parameters, 2, &query, &error));
    CHECK(count_of(query) == 3);
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_query_parse_with(table, text("priority == :most"), text(""), parameters, 2,
                                  &query, &error));
    CHECK(query == NULL);
    parameters[1].is_list = 0;
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_query_parse_with(table, text("priority == :least"), text(""), parameters, 2,
                                  &query, &error));
    parameters[1].is_list = 7;
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_query_parse_with(table, text("priority == :least"), text(""), parameters, 2,
                                  &query, &error));
    parameters[1].values = NULL;
    EXPECT(DFLAT_INVALID_ARGUMENT,
           dflat_query_parse_with(table, text("priority == :least"), text(""), parameters, 2,
                                  &query, &error));
}

/* A list that takes more than a megabyte. */
static void with_long_lists(const char *path) {
    enum { MANY = 300000 };
    dflat_query *query;
    dflat_value *many = malloc(MANY * sizeof *many);
    dflat_parameter parameter = {{NULL, 0}, NULL, MANY, 1};
    CHECK(many != NULL);
    for (int i = 0; i < MANY; i++) {
        many[i] = integer(5 + i);
    }
    parameter.values = many;
    OK(dflat_query_parse_with(table, text("priority in ?1"), text(""), &parameter, 1, &query,
                              &error));
    free(many);
    CHECK(count_of(query) == 5);
    uint8_t *bytes = malloc(1 << 23);
    FILE *file = fopen(path, "rb");
    CHECK(bytes != NULL && file != NULL);
    dflat_bytes encoded = {bytes, fread(bytes, 1, 1 << 23, file)};
    CHECK(fclose(file) == 0 && encoded.length > 1 << 20);
    OK(dflat_query_new(table, encoded, &query, &error));
    free(bytes);
    CHECK(count_of(query) == 5);
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    table = post_table();
    OK(dflat_workspace_open(text(argv[1]), NULL, &workspace, &error));
    perform(workspace, table, fill, NULL, DFLAT_OK);
    with_names_and_lists();
    with_long_lists(argv[2]);
    dflat_workspace_release(workspace);
    dflat_table_release(table);
    return 0;
}
