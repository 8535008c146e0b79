"""Board profiles: what a board is made of, read from boards/*.toml."""
