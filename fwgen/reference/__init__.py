"""Independent references: slow, plain NumPy models that the product is compared with.

Nothing outside the checks and tests imports this package, and no arithmetic is
shared with the code it judges.
"""
