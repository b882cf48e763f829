#ifndef CVERSION_H
#define CVERSION_H

/// The commit that the binary was built from, after `roost-commit:`, or dots until scripts/version.sh records it.
const char *roost_commit(void);

#endif
