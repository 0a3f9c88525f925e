"""What operations are on whole arrays in long double, told anew for the judge of large ones: their values, and how cotangents go back.

These formulas share no code with forward passes and rules: they are witnesses, as the room of references is.
"""
