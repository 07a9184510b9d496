"""Writes the files of the tests with pyarrow, a program that Bobak did not write: python make_files.py"""

from datetime import date, datetime, time, timezone
from decimal import Decimal

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

UTC = timezone.utc
columns = {
    "number": pa.array([1, 2, 3], pa.uint16()),
    "name": pa.array(["Zürich", None, "007"], pa.large_string()),
    "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
    "yes": pa.array([True, False, None]),
    "share": pa.array([0.1, None, -1e300], pa.float64()),
    "single": pa.array([0.1, 2.5, None], pa.float32()),
    "price": pa.array([Decimal("19.99"), Decimal("-0.01"), None], pa.decimal128(10, 2)),
    "exact": pa.array([Decimal("0.1234567890"), None, Decimal("123456789012345678.0000000001")], pa.decimal128(38, 10)),
    "day": pa.array([date(2024, 2, 29), None, date(1850, 1, 1)], pa.date32()),
    "at": pa.array([datetime(2024, 2, 29, 12, 0, 0, 1), None, datetime(1969, 12, 31, 23, 59, 59)], pa.timestamp("us")),
    "seen": pa.array([datetime(2024, 2, 29, 12, tzinfo=UTC), None, datetime(1969, 12, 31, tzinfo=UTC)], pa.timestamp("ns", "Europe/Zurich")),
    "clock": pa.array([time(23, 59, 59), time(0), None], pa.time32("ms")),
    "raw": pa.array([b"\x00\xff", b"", None], pa.binary()),
    "place": pa.array([[1.0, 2.0], None, [3.0, -4.5]], pa.list_(pa.float32(), 2)),
    "nothing": pa.nulls(3),
}
table = pa.table(columns)
for compression in ["snappy", "zstd", "gzip", "lz4"]:
    pa.parquet.write_table(table, f"{compression}.parquet", compression=compression)
pa.feather.write_feather(table, "plain.arrow", compression="uncompressed")
pa.feather.write_feather(table, "lz4.feather")
pa.feather.write_feather(table, "zstd.feather", compression="zstd")
pa.parquet.write_table(pa.table({"id": [1]}), "brotli.parquet", compression="brotli")
with pa.ipc.new_stream("plain.arrows", table.schema) as stream:
    stream.write_table(table)
nested = pa.table({"id": [1], "point": pa.array([{"x": 1}])})
pa.parquet.write_table(nested, "nested.parquet")
pa.parquet.write_table(pa.table({"at": pa.array([1], pa.timestamp("ns"))}), "nanoseconds.parquet")
