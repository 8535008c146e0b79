"""VeriSilicon VIP: neural (NN) and tensor (TP) engines that run network binary graphs."""
