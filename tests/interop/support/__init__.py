"""The frame of the matrix: which clients there are, how they are driven, what came of it."""
