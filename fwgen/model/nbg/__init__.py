"""Network binary graphs: compiled models for VeriSilicon VIP NPUs."""
