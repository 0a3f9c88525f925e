"""Files that are whole or not there: the user's, and what is kept in a cache between runs."""
