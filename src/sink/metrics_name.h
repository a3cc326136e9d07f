/* A lock's key as a part of a file name, and as a label of a metric. Different
 * keys have different ones. */
#ifndef METRICS_NAME_H
#define METRICS_NAME_H

/* With the endings of metrics_file.c at most 255 bytes. */
enum { METRICS_NAME_SIZE = 240 };

/* "rlockrun-" and the key: bytes other than letters, digits and "._:-" become
 * %XX. Of a longer key there is the beginning, then ~ and a digest. Neither is
 * a name in the plain form, nor does it begin with a dot or have a slash. */
void metrics_name_file(const char *key, char name[METRICS_NAME_SIZE]);

/* The text between the quotes of a label of Prometheus' text format, to be
 * freed: \n, \" and \\ are escaped. Bytes that are not UTF-8 and what
 * escape_next finds unsafe become U+FFFD, each followed by two hexadecimal
 * digits; so does U+FFFD itself. Dies when memory is out. */
char *metrics_name_label(const char *key);

#endif
