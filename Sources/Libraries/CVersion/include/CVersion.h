#ifndef CVERSION_H
#define CVERSION_H

/// Returns `roost-commit:` and the commit that the binary was built from, or dots if scripts/version.sh hasn't recorded it.
const char *roost_commit(void);

#endif
