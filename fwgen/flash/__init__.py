"""Gets whole images onto boards: lines, transfer protocols, loaders (docs/flash.md)."""
