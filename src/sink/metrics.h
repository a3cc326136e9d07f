/* The sink for Prometheus: a text file for each lock in the folder of
 * --metrics, which node_exporter's textfile collector reads. Short runs write
 * once, when they have ended; longer ones also when they have waited or held
 * the lock for a moment, when it is lost, and every half a minute. */
#ifndef METRICS_H
#define METRICS_H

#include "run/events.h"

extern const struct event_sink metrics;

#endif
