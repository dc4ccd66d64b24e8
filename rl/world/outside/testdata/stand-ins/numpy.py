# Stands in for numpy in TestBridges: lists of numbers, which astype makes whole ones.
class dtype:
    kind = "i"


class generic: pass


class ndarray:
    ndim = 1

    def __init__(self, values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def reshape(self, shape):
        return self

    def astype(self, dtype):
        return ndarray([int(value) for value in self.values])


array = ndarray


def array_equal(a, b):
    return a.values == b.values
