"""Cases that the trainers compared with make: one module for each file of the golden set."""
