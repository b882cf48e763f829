#include "CVersion.h"

// scripts/version.sh writes into the finished binary, so that a new commit compiles nothing again. 41 positions: the
// commit's 40 digits and a plus sign for local changes.
static const char stamp[] = "roost-commit:.........................................";

const char *roost_commit(void) {
    return stamp;
}
