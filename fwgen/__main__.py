"""`python -m fwgen` is the `fwgen` command."""

from fwgen.cli.main import main

main()
