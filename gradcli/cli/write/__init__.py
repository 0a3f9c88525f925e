"""Writers of results: records and reports, to terminals, pipes and files."""
