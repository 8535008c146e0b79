"""Static memory planning: lifetimes to addresses."""
