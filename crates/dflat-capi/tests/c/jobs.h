/* An executor: jobs in a line, and threads of the program that run them. */
#ifndef JOBS_H
#define JOBS_H

#include <pthread.h>

#include "support.h"

/* Jobs that wait for a thread of the program, and what has happened. */
typedef struct line {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    dflat_job *jobs[64];
    int waiting, given, handled, completed, drops, is_closed;
    pthread_t handler_thread;
} line;

static inline void begin_line(line *own) {
    memset(own, 0, sizeof *own);
    pthread_mutex_init(&own->lock, NULL);
    pthread_cond_init(&own->changed, NULL);
}

static inline void lock(line *own) { pthread_mutex_lock(&own->lock); }

static inline void unlock(line *own) {
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->lock);
}

/* Waits until a count has reached a number. */
static inline void wait_for(line *own, const int *count, int number) {
    lock(own);
    while (*count < number) {
        pthread_cond_wait(&own->changed, &own->lock);
    }
    unlock(own);
}

static inline void drop_line(void *context) {
    line *own = context;
    lock(own);
    own->drops++;
    unlock(own);
}

/* Runs jobs until the line is closed. */
static inline void *run_jobs(void *context) {
    line *own = context;
    lock(own);
    for (;;) {
        if (own->waiting > 0) {
            dflat_job *job = own->jobs[--own->waiting];
            unlock(own);
            CHECK(dflat_job_run(job) == DFLAT_OK);
            lock(own);
        } else if (own->is_closed) {
            break;
        } else {
            pthread_cond_wait(&own->changed, &own->lock);
        }
    }
    unlock(own);
    return NULL;
}

static inline void put(void *context, dflat_job *job) {
    line *own = context;
    lock(own);
    CHECK(own->waiting < 64);
    own->jobs[own->waiting++] = job;
    own->given++;
    unlock(own);
}

/* Runs the job too early. */
static inline void run_at_once(void *context, dflat_job *job) {
    line *own = context;
    CHECK(dflat_job_run(job) == DFLAT_OK);
    CHECK(dflat_job_run(job) == DFLAT_INVALID_ARGUMENT);
    lock(own);
    own->given++;
    unlock(own);
}

static inline void release_it(void *context, dflat_job *job) {
    line *own = context;
    CHECK(dflat_job_release(job) == DFLAT_OK);
    CHECK(dflat_job_release(job) == DFLAT_INVALID_ARGUMENT);
    lock(own);
    own->given++;
    unlock(own);
}

#endif
