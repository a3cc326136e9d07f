/* Calls of single scripts, with what they answer and what they change. */
#ifndef CALLS_H
#define CALLS_H

/* A word with times and tokens written out. */
char *call_expand(const char *word);
/* script NAME [KEY... :] ARGUMENT... */
void call_script(char *line);

#endif
