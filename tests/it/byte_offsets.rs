//! Topics whose offsets count bytes, as clients see them.
