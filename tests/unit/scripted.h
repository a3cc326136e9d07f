#include <ctype.h>
#include <stdlib.h>
#include <sys/random.h>

