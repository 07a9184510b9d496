"""Everything that the two faces share, without I/O.

link      one connection as bytes: requests go out, answers come in
calls     operations, as steps that a face runs over its connection
batch     many rows as one, in parts
types     values as Python knows them, and as they are stored
record    dataclasses as tables
query     conditions, orders, expressions: plain values
table     one table: which requests its operations are
url       where the server is
broken    what is lost with a connection
"""
