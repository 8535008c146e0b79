"""Model packages: what `fwgen pack` writes and a slot of a device holds (docs/update.md)."""
