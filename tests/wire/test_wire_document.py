"""docs/wire-format.md is held to the codec where it shows bytes."""

import re
from pathlib import Path

from nodes.model import parse_predicate
from nodes.wire import codec
from nodes.wire.packets import Kind, Message, PacketType

PAGE = (Path(__file__).parents[2] / "docs" / "wire-format.md").read_text(encoding="utf-8")


def examples() -> list[bytes]:
    """The blocks of the page: on each line hex, two spaces, and what it says."""
    blocks = re.findall(r"```\n(.*?)```", PAGE, re.DOTALL)
    return [bytes.fromhex("".join(line.strip().split("  ")[0] for line in b.splitlines())) for b in blocks]


def table_after(heading: str) -> dict[int, str]:
    """number -> name of the first table under a heading."""
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return {
        int(number): name for number, name in re.findall(r"^\| (\d+) \| ([A-Z_]+) \|", section, re.MULTILINE)
    }


def test_the_message_on_the_page_is_what_it_says():
    message = Message(7, 41, 1_700_000_000_000_000_000, {"dest": "ORD", "price": 395}, 3, 62, 2)
    assert codec.decode(examples()[0]) == message


def test_the_payload_on_the_page_is_what_it_says():
    assert codec.decode(examples()[1]) == Message(1, 0, 0, {}, payload=b"hello")


def test_the_predicate_on_the_page_is_what_it_says():
    predicate = parse_predicate('airline >* "U" or dest = "ORD" and price < 400')
    assert codec.decode_predicate(examples()[2]) == predicate


def test_T5_the_destinations_on_the_page_are_what_it_says():
    assert codec.decode_destinations(examples()[3]) == (4, 8, 300)


def test_the_page_lists_the_packet_types_and_the_kinds():
    assert table_after("A datagram is a sequence of packets") == {t.value: t.name for t in PacketType}
    assert table_after("Control payloads") == {k.value: k.name for k in Kind}
