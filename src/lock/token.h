/* What proves that a lock is ours: a fresh version 4 UUID of RFC 9562. */
#ifndef TOKEN_H
#define TOKEN_H

#define TOKEN_SIZE 37

/* 0, or -1 with errno: the kernel has no randomness yet. */
int token_make(char token[TOKEN_SIZE]);

#endif
