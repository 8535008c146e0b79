"""Projects: an application with its models, its board and its options (fwgen.toml)."""
