"""Topic settings about the storage of records, as clients see them."""
