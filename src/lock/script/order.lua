-- The order to stop that the head of the queue gives, while it is alive.
--
-- KEYS: :i.
-- The holder that is to stop, until when the order is valid (server's ms), the
-- waiter and its record, as one text; '' without one.
local order = redis.call('HMGET', KEYS[1], 'o')[1] or ''
local till = tonumber(string.match(order, '^%S+ (%d+) ') or 0)
return till > redis.call('TIME')[1] * 1000 and order or ''
