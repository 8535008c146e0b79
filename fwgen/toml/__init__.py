"""TOML files that people write: read with positions, decoded strictly."""
