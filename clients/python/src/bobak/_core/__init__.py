"""Everything that the sync and the async API share, without I/O.

link        the state of one connection: requests and responses as bytes
calls       operations as steps, which run over a connection
batch       many rows in one transaction, sent in parts
types       conversion of values to their stored forms, and back
record      dataclasses as tables
query       conditions, orders, expressions: plain values
table       the operations on one table
url         URLs and their settings
blob        values of bytes in parts
plans       plans of queries, and advice about indexes
broken      errors of broken connections
error_tail  the standard error of child processes
"""
