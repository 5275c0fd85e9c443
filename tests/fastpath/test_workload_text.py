"""Reading workloads: what is well written becomes what the model says; what is not is told by line."""

import pytest

from fastpath.workload import FilterList, Generator, MessageList, Recipe, WorkloadError
from nodes.model import Filter
from nodes.wire.codec import decode, decode_filter, encode_filter
from tests.benchmarks.reference_answers import read_filter, read_message

EVERYTHING = Recipe(
    seed=5,
    filters=300,
    names=12,
    words=12,
    piece=2,
    attributes=(0, 12),
    constraints=(0, 12),
    integers=(-(2**63), 2**63 - 1),
    string_operators=dict.fromkeys(["=", "^", "$", "*", "<", ">", "!="], 1),
    integer_operators=dict.fromkeys(["=", "<", ">", "!=", "<=", ">="], 1),
)


@pytest.fixture
def read(tmp_path):
    """`read(FilterList, text)`: what is read from a file with that text, a str or bytes."""

    def reader(kind, text):
        path = tmp_path / "workload.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return kind(path)

    return reader


def test_E5_filters_read_are_those_of_the_model_in_canonical_form(read):
    lines = b"".join(Generator(EVERYTHING).filters())
    found = read(FilterList, lines)
    expected = [read_filter(line) for line in lines.decode().splitlines()]
    assert [(i, decode_filter(data)) for i, data in found] == expected
    assert [data for _, data in found] == [encode_filter(filter_) for _, filter_ in expected]
    assert found.constraints == sum(int(line.split()[2]) for line in lines.splitlines())


def test_messages_read_are_those_of_the_model_as_valid_packets(read):
    lines = b"".join(Generator(EVERYTHING).messages(300))
    found = [decode(packet) for packet in read(MessageList, lines)]
    assert [dict(m.attributes) for m in found] == [read_message(line) for line in lines.decode().splitlines()]
    assert [m.sequence for m in found] == list(range(1, 301))


def test_E5_a_constraint_written_twice_counts_as_read_and_is_kept_once(read):
    found = read(FilterList, "f 0 3 a i= 1 a i= 1 a i= 2\n")
    assert found.constraints == 3
    assert len(decode_filter(found[0][1]).constraints) == 2


def test_spaces_may_be_several_and_the_last_line_may_lack_its_end(read):
    found = read(FilterList, " f  7 1  a   s=  ü \nf 8 0")
    assert [interface for interface, _ in found] == [7, 8]
    assert decode_filter(found[0][1]) == read_filter("f 7 1 a s= ü")[1]
    assert decode_filter(found[1][1]) == Filter()


def test_an_empty_file_holds_nothing(read):
    assert len(read(FilterList, "")) == 0
    assert len(read(MessageList, "")) == 0


def test_the_longest_names_strings_and_filters_are_read(read):
    name, text = "n" * 255, "s" * 65_535
    found = read(FilterList, f"f 16777215 1 {name} s* {text}\n" + "f 0 65535" + " a i= 1" * 65_535)
    assert found[0][0] == 16_777_215
    assert decode_filter(found[0][1]) == read_filter(f"f 0 1 {name} s* {text}")[1]
    assert len(decode_filter(found[1][1]).constraints) == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("m 0\n", "1: found 'm'; expected f, as in: f <interface>"),
        ("f 0 0\n\nf 0 0\n", "2: the line ends; expected f"),
        ("f\n", "1: the line ends; expected an interface"),
        ("f x 0\n", "1: found 'x'; expected an interface, 0 to 16777215"),
        ("f 16777216 0\n", "1: found '16777216'; expected an interface"),
        ("f -1 0\n", "1: found '-1'; expected an interface"),
        ("f 1.5 0\n", "1: found '1.5'; expected an interface"),
        ("f 0\n", "1: the line ends; expected a number of constraints"),
        ("f 0 65536\n", "1: found '65536'; expected a number of constraints, 0 to 65535"),
        ("f 0 99999999999999999999999\n", "expected a number of constraints"),
        ("f 0 2 a i= 1\n", "1: the line ends; expected a constraint's name"),
        ("f 0 1 a\n", "1: the line ends; expected an operator"),
        ("f 0 1 a i=\n", "1: the line ends; expected an integer"),
        ("f 0 1 a s=\n", "1: the line ends; expected a string"),
        ("f 0 1 a i~ 1\n", "1: found 'i~'; expected an operator: i= i< i>"),
        ("f 0 1 a s<= x\n", "1: found 's<='; expected an operator"),
        ("f 0 1 a i= 9223372036854775808\n", "expected an integer, -9223372036854775808 to"),
        ("f 0 1 a i= +1\n", "1: found '+1'; expected an integer"),
        ("f 0 1 a i= 1 b\n", "1: found 'b' after the last field"),
        ("f 0 0\r\n", "1: found '0\\x0d'; expected a number"),
        ("f 0 1 a s= b\r\n", "1: a string 'b\\x0d' holds a control character"),
        ("f 0 1 a\0b s= c\n", "1: a constraint's name 'a\\x00b' holds a control character"),
        (b"f 0 1 a s= \xff\n", "1: a string '\\xff' is not valid UTF-8"),
        (f"f 0 1 {'n' * 256} i= 1\n", "1: a constraint's name has 256 bytes; expected at most 255"),
        (f"f 0 1 a s= {'s' * 65_536}\n", "1: a string has 65536 bytes; expected at most 65535"),
        ("f " + "9" * 100 + " 0\n", "1: found '" + "9" * 40 + "...'; expected an interface"),
        (b"\0" * 1000, "1: found '\\x00"),
        (b" " * (2**25 + 1), "1: the line has more than 32 MiB"),
    ],
)
def test_a_file_that_is_not_of_filters_is_refused_with_its_line(text, complaint, read, tmp_path):
    with pytest.raises(WorkloadError) as refused:
        read(FilterList, text)
    assert str(refused.value).startswith(f"{tmp_path / 'workload.txt'}:")
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("f 0 0\n", "1: found 'f'; expected m, as in: m <k>"),
        ("m 0\nm 1 a\n", "2: the line ends; expected a type: i or s"),
        ("m 1 a f 1.5\n", "1: found 'f'; expected a type: i or s"),
        ("m 2 a i 1 a s x\n", "1: the name 'a' occurs twice; expected each once in a message"),
        (
            f"m 2 a s {'x' * 40_000} b s {'x' * 40_000}\n",
            "1: the message takes more than a packet's 65,535 bytes",
        ),
        ("m 65535 a i 1\n", "1: the line ends; expected an attribute's name"),
        ("m 1 a i 1 2\n", "1: found '2' after the last field"),
    ],
)
def test_a_file_that_is_not_of_messages_is_refused_with_its_line(text, complaint, read):
    with pytest.raises(WorkloadError) as refused:
        read(MessageList, text)
    assert complaint in str(refused.value)


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        FilterList(tmp_path / "missing")


def test_progress_is_told_the_bytes_read(read, tmp_path):
    path = tmp_path / "many.txt"
    path.write_bytes(b"f 0 1 name i= 12345\n" * 400_000)
    told = []
    assert len(FilterList(path, told.append)) == 400_000
    assert told == sorted(told)
    assert told[-1] == path.stat().st_size
    assert len(told) > 1
