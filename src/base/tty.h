/* What a terminal can do. Which process has it is a question of job control:
 * see job/terminal. */
#ifndef TTY_H
#define TTY_H

/* Whether fd, stdout or stderr, is a terminal that obeys control sequences
 * (moves its cursor, erases, shows colours): NULL, or why not. */
const char *tty_find_obstacle(int fd);

#endif
