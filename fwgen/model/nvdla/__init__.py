"""The NVDLA loadable: FlatBuffer file, descriptors, validation, and a builder of our own."""
