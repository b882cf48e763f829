#ifndef CLIBPQ_SHIM_H
#define CLIBPQ_SHIM_H

#include <libpq-fe.h>

#ifndef LIBPQ_HAS_PIPELINING
/* libpq 13 has no pipeline mode. These let the driver compile; connecting then fails with an error that says so. */
static const ExecStatusType PGRES_PIPELINE_SYNC = (ExecStatusType)10;
static const ExecStatusType PGRES_PIPELINE_ABORTED = (ExecStatusType)11;
static inline int PQenterPipelineMode(PGconn *connection) { (void)connection; return 0; }
static inline int PQexitPipelineMode(PGconn *connection) { (void)connection; return 0; }
static inline int PQpipelineSync(PGconn *connection) { (void)connection; return 0; }
#endif

/* Ends a request of a pipeline. libpq 17 and later don't send it immediately, so that many requests are sent with one
   system call. */
static inline int CLibpqPipelineSync(PGconn *connection) {
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
    return PQsendPipelineSync(connection);
#else
    return PQpipelineSync(connection);
#endif
}

#endif
