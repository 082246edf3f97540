"""Write logs for a service without any: the replies that a client or a proxy receives, while it runs.

1. `requests`  requests with log-probabilities added
2. `openai`    the transport of an OpenAI client (`es.capture`); `litellm`, LiteLLM's callback
3. `records`   a reply as a record of a log: no secrets, no bytes of tokens
4. `writer`    a thread that appends records to a file a day

May be imported by: `monitor` and every room above, except `study`.
"""

import sys

from entropy_sentinel import Room

sys.modules[__name__].__class__ = Room
