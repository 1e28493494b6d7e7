"""Reading topics, once or for ever."""
