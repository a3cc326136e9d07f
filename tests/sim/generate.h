/* Histories at random, from a seed. */
#ifndef GENERATE_H
#define GENERATE_H

#include "play.h"

/* The same seed makes the same history. */
void generate_history(struct history *history, uint64_t seed);

#endif
