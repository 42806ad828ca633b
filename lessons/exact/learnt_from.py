"""The text that the small vocabulary is learnt from: ours, about what the course is about."""

TEXT = """\
You are the assistant of a shop. You answer customers about orders, returns, invoices and deliveries. Answer in the
language of the customer. Answer from the documents and say so when the documents do not have the answer. Do not guess.

Rule 1: when a customer asks about an order, ask for the order number before you answer. Rule 2: when a customer asks
about a return, read the table of returns and tell the last day. Rule 3: when a customer is angry, stay calm, say what
happened and what comes next. Rule 4: when a customer asks for a person, hand the conversation to the desk.

Today is Monday. The date of the request is 2026-11-30. The request has the id 4f81-77ac. Tools: search_orders,
read_document, open_ticket. A tool takes a name and arguments and returns text. Call a tool when the answer depends on
the state of an order; do not call a tool for a greeting.

A request waits in the queue until the engine has room for its prompt. The engine reads the prompt in steps and keeps
the keys and values of its tokens in blocks of memory. A block that another request has filled before can be used
again if everything up to the end of the block is the same. The first token comes when the whole prompt has been read;
after that every step gives one more token to every request that runs. When the memory is full, a request that runs
has to give its blocks back and to wait, and later its tokens are computed again.

The time to the first token grows with the queue and with the length of the prompt. The time between tokens grows with
the number of requests in the batch and with the length of their contexts. Measure both, and look at the slow ones: the
mean of many numbers hides the few that somebody is waiting for. Compare the same hours of different days, and change
one thing at a time. Write down what you expect before you look.

The server reports how many requests are running and how many are waiting, how much of the memory is in use, how many
tokens were found in the cache and how many were asked for. The driver reports whether any kernel was running on the
device, which does not say how much work it did. The log reports when the server started and with which options. The
client reports what the user saw. None of these reports is wrong, and no one of them is the whole story.
"""
