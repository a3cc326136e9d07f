#include "replica.h"

#include "node.h"

static void on_link(void *who, void *what);

static void
plan_link(struct node *replica)
{
	if (replica->is_linking)
		return;
	replica->is_linking = true;
	world_at(world.now + die_between(&replica->die, 50, 1500), on_link,
	    replica, NULL);
}

/* After each command: what it has written is on its way. */
void
replica_plan_links(struct node *primary)
{
	for (int i = 0; i < node_count(); i++) {
		struct node *replica = node_number(i);
		if (replica->primary == primary && !replica->is_linking &&
		    node_relate("lag", primary, replica) > 0)
			plan_link(replica);
	}
}

static void
on_ack(void *who, void *what)
{
	struct node *replica = who;

	if (replica->primary != what || replica->primary->is_frozen ||
	    replica->primary->is_down)
		return;
	node_relate("ack", replica->primary, replica);
	node_drain(replica->primary);
}

static void
on_link(void *who, void *what)
{
	struct node *replica = who, *primary = replica->primary;

	(void)what;
	replica->is_linking = false;
	if (primary == NULL || primary->is_down)
		return;
	if (world.now < replica->link_cut_until || replica->is_frozen ||
	    primary->is_frozen) {
		plan_link(replica);
		return;
	}
	node_relate("deliver", primary, replica);
	node_drain(replica);
	world_at(world.now + die_between(&replica->die, 50, 900), on_ack,
	    replica, primary);
}

void
replica_follow(struct node *node, struct node *primary)
{
	network_cut((struct network_choice){.node = node});
	node->primary = primary;
	node_relate("follow", node, primary);
	node_drain(node);
	world_at(world.now + die_between(&node->die, 50, 900), on_ack, node,
	    primary);
}

bool
replica_promote(struct node *node)
{
	struct node *former = node->primary;
	bool loses;

	if (former == NULL)
		return false;
	loses = node_relate("lag", former, node) > 0;
	node->primary = NULL;
	node_relate("promote", node, former);
	node_drain(node);
	return loses;
}

void
replica_name_primary(struct node *primary)
{
	for (int i = 0; i < node_count(); i++)
		if (node_number(i)->is_sentinel)
			node_relate("watch", node_number(i), primary);
}
