"""placeholder"""
def can_compile(program): return False
