"""Maps from texts, as if they were files."""

import pytest

from topologies.importers import MapOptions, read_map


@pytest.fixture
def read(tmp_path):
    def read(name, text, **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_map(path, MapOptions(**options))

    return read
