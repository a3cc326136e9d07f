/* What servers remember of skips and pauses, as --history shows it: each skip
 * leaves its note, and no note says what has not happened. */
#ifndef REMEMBERED_H
#define REMEMBERED_H

struct actor;

/* For a `--history --json` of that lock that has succeeded. */
void remembered_check(const struct actor *actor, const char *key);

#endif
