"""What became of the messages of a run: columns of rows, in parts that are judged each by itself."""
