"""How a function is called: what libraries call it, its parameters, and what a call's arguments
become.
"""
