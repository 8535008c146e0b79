"""NVIDIA Deep Learning Accelerator: configurations, registers, rules and lowering."""
