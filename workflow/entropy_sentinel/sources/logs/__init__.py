"""Read logs of a deployed model, in the formats of servers, clients and proxies."""
