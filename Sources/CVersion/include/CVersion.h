#ifndef CVERSION_H
#define CVERSION_H

/// The commit that the binary was built from, behind `roost-commit:`. Dots where scripts/version.sh has not recorded it.
const char *roost_commit(void);

#endif
