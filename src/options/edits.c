#include "options/edits.h"

bool
edits_suffice(const char *one, const char *other, int edits)
{
	while (*one != '\0' && *one == *other) {
		one++;
		other++;
	}
	if (*one == *other)
		return true;
	if (edits-- == 0)
		return false;
	if ((*one != '\0' && edits_suffice(one + 1, other, edits)) ||
	    (*other != '\0' && edits_suffice(one, other + 1, edits)))
		return true;
	if (*one == '\0' || *other == '\0')
		return false;
	return edits_suffice(one + 1, other + 1, edits) ||
	       (one[0] == other[1] && one[1] == other[0] &&
		   edits_suffice(one + 2, other + 2, edits));
}
