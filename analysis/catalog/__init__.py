"""Every table that an analysis writes: its columns, with type, unit and one sentence each."""
