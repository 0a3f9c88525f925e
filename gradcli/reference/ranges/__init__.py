"""Ranges: what values and derivatives may be over a box, enclosed by intervals whose ends are
rounded outwards.
"""
