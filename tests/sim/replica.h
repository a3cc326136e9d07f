/* Replication: what a primary writes arrives at its replicas a moment later. */
#ifndef REPLICA_H
#define REPLICA_H

#include <stdbool.h>

struct node;

void replica_follow(struct node *node, struct node *primary);
/* It is a primary from here on. What has not arrived is lost: whether anything
 * is. */
bool replica_promote(struct node *node);
/* All sentinels name it. */
void replica_name_primary(struct node *primary);

/* For node.c, after each command: what it has written is on its way. */
void replica_plan_links(struct node *primary);

#endif
