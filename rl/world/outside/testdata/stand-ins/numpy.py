# Stands in for numpy in TestBridges, whose stand-in of gymnasium has no arrays.
class ndarray: pass
class generic: pass
