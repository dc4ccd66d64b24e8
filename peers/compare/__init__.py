"""What looks for differences, and what says how they are reported."""
