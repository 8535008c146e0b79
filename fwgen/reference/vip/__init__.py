"""Reference of the VeriSilicon VIP: its job engines in plain NumPy."""
