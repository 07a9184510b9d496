"""The wire protocol as bytes, without sockets: docs/wire.md says what each byte means.

code      integers, texts and options, read and written
frame     heads, and frames out of a stream of bytes
row       the row codec
schema    descriptions of tables
condition conditions and assignments over numbered columns
request   what a client sends
answer    what it gets
"""
