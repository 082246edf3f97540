"""Logs of a model in use, in the formats that servers, clients and proxies write them."""
