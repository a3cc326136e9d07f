/* Makes a history that fails smaller: without lines that it fails without. */
#ifndef SHRINK_H
#define SHRINK_H

#include "play.h"

/* It still breaks the same promise. */
void shrink(struct history *history, const struct outcome *outcome);

#endif
