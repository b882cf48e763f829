#include "CVersion.h"

// scripts/version.sh patches the finished binary, so that a new commit doesn't cause recompilation. The 41 dots make room
// for the commit's 40 digits and a plus sign for local changes.
static const char stamp[] = "roost-commit:.........................................";

const char *roost_commit(void) {
    return stamp;
}
