"""Maps from texts, as if they were files."""

import pytest

from topologies.importers import Wishes, read_map


@pytest.fixture
def read(tmp_path):
    def read(name, text, **wishes):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_map(path, Wishes(**wishes))

    return read
