"""The same work by rlzero and by others, in turns on one machine."""
