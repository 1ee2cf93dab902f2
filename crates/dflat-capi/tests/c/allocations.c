/* The views of a result are made in one allocation, however many they are. This program replaces
 * the functions of the C library that allocate, so it runs under no checker of memory. */
#define _GNU_SOURCE
#include "support.h"

#if defined(__GLIBC__)
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

/* The allocations of this thread, on which the library allocates for its caller. */
static __thread uint64_t allocations;

void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    allocations++;
    return __libc_realloc(memory, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    allocations++;
    *memory = __libc_memalign(alignment, size);
    return *memory == NULL;
}

static int32_t fill(void *context, dflat_transaction *transaction, dflat_error **error) {
    counted *own = context;
    int *bounds = own->more;
    for (int i = bounds[0]; i < bounds[1]; i++) {
        char title[32];
        snprintf(title, sizeof title, "post %d", i);
        dflat_code code = create(transaction, own->table, title, i, error);
        if (code != DFLAT_OK) {
            return code;
        }
    }
    return DFLAT_OK;
}

/* What each step of a read allocates. */
typedef struct counts {
    uint64_t fetch, views, read, release;
} counts;

static counts read_all(const dflat_workspace *workspace, const dflat_query *query, size_t objects) {
    counts made;
    dflat_result *result;
    const dflat_view *views;
    size_t count;
    int64_t sum = 0, expected = (int64_t)objects * ((int64_t)objects - 1) / 2;
    uint64_t before = allocations;
    OK(dflat_fetch(in_workspace(workspace), query, &result, &error));
    made.fetch = allocations - before;
    before = allocations;
    OK(dflat_result_views(result, &views, &count, &error));
    CHECK(count == objects);
    made.views = allocations - before;
    before = allocations;
    for (size_t i = 0; i < count; i++) {
        sum += priority_of(views[i]);
        OK(dflat_object_retain(views[i].object));
        OK(dflat_object_release(views[i].object));
    }
    CHECK(sum == expected);
    made.read = allocations - before;
    before = allocations;
    dflat_result_release(result);
    made.release = allocations - before;
    return made;
}

int main(int argc, char **argv) {
    dflat_table *table = post_table();
    dflat_workspace *workspace;
    dflat_query *query;
    int few[2] = {0, 1000}, more[2] = {1000, 10000};
    CHECK(argc == 2);
    OK(dflat_workspace_open(text(argv[1]), NULL, &workspace, &error));
    OK(dflat_query_new(table, NO_BYTES, &query, &error));
    perform(workspace, table, fill, few, DFLAT_OK);
    counts of_few = read_all(workspace, query, 1000);
    perform(workspace, table, fill, more, DFLAT_OK);
    counts of_many = read_all(workspace, query, 10000);
    printf("1,000 objects: %d allocations to fetch; 10,000 objects: %d\n", (int)of_few.fetch,
           (int)of_many.fetch);
    CHECK(of_few.views == 1 && of_many.views == 1);
    CHECK(of_few.read == 0 && of_many.read == 0);
    CHECK(of_few.release == of_many.release);
    /* The objects of a batch share chunks of memory. */
    CHECK(of_many.fetch < 1000);
    dflat_query_release(query);
    dflat_workspace_release(workspace);
    dflat_table_release(table);
    return 0;
}
#else
int main(void) {
    printf("skipped: the C library has no other names for its allocations\n");
    return 0;
}
#endif
