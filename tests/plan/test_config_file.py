"""node.toml and scripts: what is written reads back the same, and mistakes are named."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.config import (
    ACTIONS,
    Action,
    InterfaceConfig,
    LimitConfig,
    LinkKey,
    Neighbours,
    NodeConfig,
    RecordSigning,
    SecurityConfig,
    TimerConfig,
)
from nodes.config_file import (
    ConfigError,
    dump_config,
    dump_keys,
    dump_script,
    dump_signers,
    load_config,
    load_keys,
    load_script,
    write_keys,
)
from nodes.wire.packets import Role
from nodes.wire.signature import Signer

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SMALL = st.integers(1, 2**16 - 1)
INTERFACES = st.builds(
    InterfaceConfig,
    index=st.just(0),
    name=TEXT,
    address=st.ip_addresses(v=4).map(str),
    peer_address=st.ip_addresses().map(str),
    peer_name=TEXT,
    peer_id=SMALL,
    peer_role=st.sampled_from(Role),
    cost=SMALL,
    mtu=SMALL,
    port=SMALL,
    peer_port=SMALL,
)
CONFIGS = st.builds(
    NodeConfig,
    name=TEXT,
    node_id=SMALL,
    role=st.sampled_from(Role),
    run_id=TEXT,
    seed=st.integers(0, 2**63 - 1),
    interfaces=st.lists(INTERFACES, max_size=1).map(tuple),
    scheme_options=st.dictionaries(
        TEXT, st.one_of(TEXT, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
    ),
    timers=st.builds(TimerConfig, hello_ms=SMALL),
    limits=st.builds(LimitConfig, window_packets=SMALL),
    log_path=TEXT,
)


@given(CONFIGS)
def test_a_configuration_reads_back_as_it_was_written(tmp_path_factory, config):
    path = tmp_path_factory.mktemp("toml") / "node.toml"
    path.write_text(dump_config(config), encoding="utf-8", newline="")
    assert load_config(path) == config


@given(
    st.lists(
        st.builds(
            Action,
            at_ns=st.integers(),
            do=st.sampled_from(ACTIONS),
            text=TEXT,
        )
    )
)
def test_a_script_reads_back_as_it_was_written(tmp_path_factory, actions):
    path = tmp_path_factory.mktemp("script") / "script.jsonl"
    path.write_text(dump_script(actions), encoding="utf-8", newline="")
    assert load_script(path) == tuple(actions)


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "file"
        path.write_text(text, encoding="utf-8")
        return path

    return write


GOOD = dump_config(
    NodeConfig(
        "r1", 1, Role.ROUTER, "run", 1,
        (InterfaceConfig(0, "r1-eth0", "10.0.0.1", "10.0.0.2", "alice", 2, Role.CLIENT),),
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("node_id = 1", "nodeid = 1", "nodeid: unknown key"),
        ("node_id = 1\n", "", "node_id: missing"),
        ("node_id = 1", "node_id = true", "node_id: expected int, found True"),
        ("node_id = 1", "node_id = 0", "node_id: expected 1 to"),
        ('role = "router"', 'role = "king"', "role: expected router or client, found 'king'"),
        ("mtu = 1500", "mtu = 1500.0", "interfaces[0].mtu: expected int"),
        ("index = 0", "index = 1", "interfaces: indexes count from 0"),
        ('"10.0.0.1"', '"10.0.0.256"', "interfaces[0].address: "),
        ("\nport = 61803", "\nport = 0", "interfaces[0].port: expected 1 to 65535"),
        ("hello_ms = 250", "hello_ms = 0", "timers.hello_ms: expected a positive number"),
        ("[timers]", "[timer]", "timer: unknown key"),
        ("[limits]", "[[limits]]", "limits: expected a table of keys"),
        ("seed = 1", "seed = ", "not TOML"),
    ],
)
def test_a_mistake_in_a_configuration_is_named_by_file_and_key(written, old, new, says):
    assert old in GOOD
    path = written(GOOD.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not an action"),
        ("[]", "expected a table of keys"),
        ('{"at_ns": 1}', "do: missing"),
        ('{"at_ns": 1, "do": "sleep"}', "expected one of subscribe, subscribe_pattern, "),
        ('{"at_ns": 1.5, "do": "publish"}', "at_ns: expected int"),
    ],
)
def test_a_mistake_in_a_script_is_named_by_line(written, line, says):
    path = written('{"at_ns": -1, "do": "publish"}\n\n' + line)
    with pytest.raises(ConfigError) as caught:
        load_script(path)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert says in str(caught.value)


def test_files_that_are_missing_or_no_text_are_named(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        load_config(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 0"):
        load_script(tmp_path / "bytes")


KEYS = st.lists(
    st.builds(LinkKey, key_id=st.integers(0, 2**16 - 1), secret=st.binary(min_size=32, max_size=32)),
    max_size=3,
)


def with_keys(keys, name="r1-eth0"):
    interface = InterfaceConfig(0, name, "10.0.0.1", "10.0.0.2", "r2", 2, Role.ROUTER, keys=tuple(keys))
    security = SecurityConfig(Neighbours.REQUIRED)
    return NodeConfig("r1", 1, Role.ROUTER, "run", 1, (interface,), security=security)


@given(KEYS, TEXT)
def test_keys_read_back_as_they_were_written(tmp_path_factory, keys, name):
    path = tmp_path_factory.mktemp("keys") / "keys.toml"
    write_keys(with_keys(keys, name), path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_keys(path) == ({name: tuple(keys)}, b"")


def test_keys_are_in_no_other_file_and_in_no_message():
    config = with_keys([LinkKey(1, b"\x5e" * 32)])
    assert "5e5e" in dump_keys(config)
    assert "5e5e" not in dump_config(config)
    assert "^^" not in repr(config)


def test_a_node_takes_its_keys_from_the_file_that_its_configuration_names(tmp_path):
    keys, path = tmp_path / "keys.toml", tmp_path / "node.toml"
    config = replace(with_keys([LinkKey(1, b"k" * 32)]), keys_path=str(keys))
    write_keys(config, keys)
    path.write_text(dump_config(config), encoding="utf-8")
    assert load_config(path) == config


@pytest.mark.parametrize(
    ("text", "mode", "complaint"),
    [
        ("[keys]\nr1-eth0 = []\n", 0o600, "no key for r1-eth0"),
        ("[keys]\n", 0o600, "no key for r1-eth0"),
        ('[keys]\nr1-eth0 = ["1:00"]\n', 0o600, "a number below 65536 and 32 bytes"),
        ('[keys]\nr1-eth0 = ["one:00"]\n', 0o600, "NUMBER:HEXADECIMAL DIGITS"),
        ('[keys]\nr1-eth0 = ["1:zz"]\n', 0o600, "NUMBER:HEXADECIMAL DIGITS"),
        (f'[keys]\nr1-eth0 = ["65536:{"0" * 64}"]\n', 0o600, "a number below 65536 and 32 bytes"),
        ("[keys]\n", 0o640, "others may read the keys: its mode is 0640, not 0600"),
        ("keys", 0o600, "not TOML"),
        (None, 0o600, "No such file"),
    ],
)
def test_keys_that_cannot_be_used_are_refused(tmp_path, text, mode, complaint):
    keys, path = tmp_path / "keys.toml", tmp_path / "node.toml"
    if text is not None:
        keys.write_text(text, encoding="utf-8")
        keys.chmod(mode)
    path.write_text(dump_config(replace(with_keys([]), keys_path=str(keys))), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert complaint in str(caught.value)
    assert "keys.toml" in str(caught.value)


def test_keys_have_to_be_somewhere(tmp_path):
    path = tmp_path / "node.toml"
    path.write_text(dump_config(with_keys([])), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"keys_path: missing, as security\.neighbours is required"):
        load_config(path)


def with_signer(node=1, seed=b"s" * 32, neighbours=Neighbours.OFF):
    signers = {1: Signer(b"s" * 32).public, 2: Signer(b"t" * 32).public}
    security = SecurityConfig(neighbours, RecordSigning.SIGNED)
    config = replace(with_keys([LinkKey(1, b"k" * 32)]), node_id=node, security=security)
    return replace(config, signing_seed=seed, signers=signers)


def in_files(config, folder):
    """The same, whose keys are in files, and the path of its configuration."""
    keys, signers, path = (folder / name for name in ("keys.toml", "signers.toml", "node.toml"))
    write_keys(config, keys)
    signers.write_text(dump_signers(config), encoding="utf-8")
    config = replace(config, keys_path=str(keys), signers_path=str(signers))
    path.write_text(dump_config(config), encoding="utf-8")
    return config, path


@pytest.mark.parametrize("neighbours", [Neighbours.OFF, Neighbours.REQUIRED], ids=str)
def test_a_router_takes_what_it_signs_with_and_the_keys_of_others_from_their_files(tmp_path, neighbours):
    config, path = in_files(with_signer(neighbours=neighbours), tmp_path)
    found = load_config(path)
    assert (found.signing_seed, found.signers) == (config.signing_seed, config.signers)
    assert len(found.interfaces[0].keys) == (neighbours is Neighbours.REQUIRED)
    assert b"s" * 32 not in path.read_bytes() + (tmp_path / "signers.toml").read_bytes()
    assert (b"s" * 32).hex() not in path.read_text() + (tmp_path / "signers.toml").read_text()
    assert "ssss" not in repr(config)


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("keys", "", "signing_seed: missing, as security.records is signed"),
        ("keys", 'signing_seed = "00"\n', "signing_seed: expected 64 hexadecimal digits"),
        ("keys", 'signing_seed = "zz"\n', "signing_seed: expected 64 hexadecimal digits"),
        ("signers", "[signers]\n", "the key of router 1 is not the one in"),
        ("signers", f'[signers]\n1 = "{"0" * 64}"\n', "the key of router 1 is not the one in"),
        ("signers", f'[signers]\nr1 = "{"0" * 64}"\n', "signers.r1: expected the id of a router"),
        ("signers", '[signers]\n1 = "00"\n', "signers.1: expected 64 hexadecimal digits"),
        ("signers", "signers", "not TOML"),
    ],
)
def test_keys_of_routers_that_cannot_be_used_are_refused(tmp_path, file, text, complaint):
    _, path = in_files(with_signer(), tmp_path)
    (tmp_path / f"{file}.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert complaint in str(caught.value)
    assert f"{file}.toml" in str(caught.value)


@pytest.mark.parametrize("missing", ["keys_path", "signers_path"])
def test_keys_of_routers_have_to_be_somewhere(tmp_path, missing):
    config, path = in_files(with_signer(), tmp_path)
    path.write_text(dump_config(replace(config, **{missing: ""})), encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"{missing}: missing, as security\.records is signed"):
        load_config(path)


def test_clients_sign_nothing_and_need_no_keys_for_it(tmp_path):
    config = replace(with_signer(), role=Role.CLIENT, signing_seed=b"", signers={})
    path = tmp_path / "node.toml"
    path.write_text(dump_config(replace(config, keys_path="")), encoding="utf-8")
    assert load_config(path).security.signs
