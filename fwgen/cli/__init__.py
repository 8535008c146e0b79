"""The `fwgen` command: one small file a verb, each a thin shell over the library."""
