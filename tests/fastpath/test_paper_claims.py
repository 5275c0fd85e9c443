"""What FWD says of its own algorithm, under its own workload (F7, F9)."""

from statistics import mean

from fastpath.fib import ForwardingTable
from fastpath.workload import FilterList, Generator, MessageList, Recipe

MESSAGES = 500


def loaded(folder, recipe, rounds):
    """A committed `selective` table of the workload, and messages."""
    generator = Generator(recipe)
    (folder / "filters").write_bytes(b"".join(generator.filters()))
    (folder / "messages").write_bytes(b"".join(generator.messages(MESSAGES)))
    filters, messages = FilterList(folder / "filters"), MessageList(folder / "messages")
    table = ForwardingTable(algorithm="selective", rounds=rounds)
    for at in range(len(filters)):
        table.add(*filters[at])
    table.commit()
    return table, messages


def test_F9_ten_rounds_eliminate_120_to_128_thousand_of_200_thousand_predicates_of_one_filter(tmp_path):
    """FWD 1 says 131,000 for its set of names and messages."""
    recipe = Recipe(seed=1, filters=200_000, interfaces=200_000)
    table, messages = loaded(tmp_path, recipe, rounds=10)
    sizes = [len(interfaces) for _, interfaces in table.determinants()]
    assert len(sizes) == 10
    assert sizes == sorted(sizes, reverse=True)
    assert 120_000 < mean(table.eliminated(messages[at]) for at in range(MESSAGES)) < 128_000


def test_F9_at_twenty_interfaces_a_message_goes_to_18_or_19_and_no_round_eliminates_any(tmp_path):
    """FWD 1: "the message went to 18 of the 20 neighbors", here with 250,000 filters (E2)."""
    table, messages = loaded(tmp_path, Recipe(seed=1, filters=250_000, interfaces=20), rounds=10)
    assert table.determinants() == []
    assert 18 < mean(len(table.match(messages[at])) for at in range(MESSAGES)) < 19.2
