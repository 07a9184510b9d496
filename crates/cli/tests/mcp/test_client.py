"""`bobak mcp` and `POST /mcp` with the client of the Model Context Protocol's own library for Python."""

import asyncio
import json
import os
import subprocess
from pathlib import Path

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

ROOT = Path(__file__).parents[4]
PROGRAM = os.environ.get("BOBAK_TEST_PROGRAM", str(ROOT / "target/debug/bobak"))
READ = ["list_tables", "describe_table", "query_rows", "aggregate_rows", "run_sql"]
WRITE = ["insert_rows", "update_rows", "delete_rows"]


@pytest.fixture
def shop(tmp_path):
    """A database with cities."""
    (tmp_path / "city.csv").write_text("id,name,people\n1,Bern,134000\n2,Basel,173000\n")
    bobak(tmp_path, "import", "shop.db", "city.csv", "--key", "id")
    return tmp_path


def bobak(folder, *words):
    return subprocess.run([PROGRAM, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def over_stdio(folder, *words):
    return stdio_client(StdioServerParameters(command=PROGRAM, args=["mcp", "shop.db", *words], cwd=folder))


async def call(client, tool, **arguments):
    """The result of a tool, and whether it is an error."""
    result = await client.call_tool(tool, arguments)
    return json.loads(result.content[0].text), bool(result.is_error)


async def names(client):
    return [tool.name for tool in (await client.list_tools()).tools]


async def reads(client):
    """What each client may do."""
    tables, _ = await call(client, "list_tables")
    assert [table["name"] for table in tables["tables"]] == ["city"]
    rows, _ = await call(client, "query_rows", table="city", filter="people > 150000")
    assert rows["rows"] == [{"id": 2, "name": "Basel", "people": 173000}]
    wrong, is_error = await call(client, "query_rows", table="city", filter="nosuch = 1")
    assert is_error and "nosuch" in wrong["detail"]
    result, _ = await call(client, "run_sql", sql="SELECT sum(people) AS people FROM city WHERE id < ?", parameters=[9])
    assert result["rows"] == [[307000]]
    denied, is_error = await call(client, "run_sql", sql="DELETE FROM city")
    assert is_error and denied["kind"] == "Denied"


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_a_client_reads_over_stdio(shop, mode, version):
    async def run():
        async with Client(over_stdio(shop), mode=mode) as client:
            assert client.protocol_version == version
            assert client.server_info.name == "bobak"
            assert await names(client) == READ
            await reads(client)
            with pytest.raises(MCPError):
                await client.call_tool("delete_rows", {"table": "city", "filter": "id = 1"})

    asyncio.run(run())


def test_a_client_writes_with_the_flag(shop):
    async def run():
        async with Client(over_stdio(shop, "--write")) as client:
            assert await names(client) == READ + WRITE
            _, is_error = await call(client, "insert_rows", table="city", rows=[{"id": 3, "name": "Chur", "people": 38000}])
            assert not is_error
            assert (await call(client, "update_rows", table="city", filter="id = 1", values={"people": 135000}))[0] == {"changed": 1}
            assert (await call(client, "delete_rows", table="city", filter="id = 2"))[0] == {"changed": 1}

    asyncio.run(run())
    rows = bobak(shop, "query", "shop.db", "SELECT id, people FROM city", "--format", "csv", "--quiet")
    assert rows.split() == ["id,people", "1,135000", "3,38000"]


def test_a_client_has_the_permissions_of_its_token_over_http(shop):
    made = subprocess.run([PROGRAM, "token", "model", "--role", "reader", "--quiet"], check=True, capture_output=True, text=True)
    token = made.stderr.split()[-1]
    (shop / "access").write_text(f"role reader\nread, sql on *\n{made.stdout}")
    words = [PROGRAM, "serve", "shop.db", "--http", "127.0.0.1:0", "--access-file", "access", "--http-sql", "read", "--http-mcp-write"]
    server = subprocess.Popen(words, cwd=shop, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = server.stdout.readline().strip().removeprefix("listening on ")

        async def run():
            async with httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}) as http:
                async with Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client:
                    await reads(client)
                    denied, is_error = await call(client, "delete_rows", table="city", filter="id = 1")
                    assert is_error and denied["kind"] == "Denied"

        asyncio.run(run())
    finally:
        server.kill()
        server.wait()
