"""The accelerator-independent program: commands, buffers, tensors, encoding."""
